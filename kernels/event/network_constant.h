/* network_constant.h -- every transfer takes the same time, whatever its size, its route and what else is under way. Its parameters
 * are a network_model. */
#ifndef SMPY_NETWORK_CONSTANT_H
#define SMPY_NETWORK_CONSTANT_H
#include "network.h"

extern const network_kind network_constant;
#endif
