/* network_flow.h -- the flow model: latency, then a max-min fair share of the links. Its parameters are a network_model.
 *
 * As if: without latency, routes are those of links that have none; without contention, each flow is as fast as if it were alone;
 * without a limit of bandwidth, a transfer is its latency. */
#ifndef SMPY_NETWORK_FLOW_H
#define SMPY_NETWORK_FLOW_H
#include "network.h"

extern const network_kind network_flow;

/* For networks on top of it: `ended` is told of each transfer before its owner is. */
void flow_watch(void *state, void (*ended)(void *watcher, int transfer), void *watcher);
/* From now on the bound of a transfer under way is what its route gives it, over `slowdown`: 0, or an error. */
int flow_slow_down(sim *s, void *state, int transfer, double slowdown);
#endif
