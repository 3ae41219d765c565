/* network_flow.h -- the flow model: latency, then a max-min fair share of the links. Its parameters are a flow_model. */
#ifndef SMPY_NETWORK_FLOW_H
#define SMPY_NETWORK_FLOW_H
#include "network.h"

extern const network_kind network_flow;
#endif
