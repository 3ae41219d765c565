/* network_flow.h -- the flow model: latency, then a max-min fair share of the links. Its parameters are a network_model.
 *
 * Idealisations: without latency, links have none; without contention, each flow is as fast as if it were alone; without a limit
 * of bandwidth, a transfer takes its latency alone. */
#ifndef SMPY_NETWORK_FLOW_H
#define SMPY_NETWORK_FLOW_H
#include "network.h"

extern const network_kind network_flow;

/* For networks on top of it. */
typedef struct {
    void (*ended)(void *watcher, int transfer);     /* before its owner is told */
    void (*rebounded)(void *watcher, int transfer); /* a latency on its route changed: its bound is new, not slowed down */
    void *watcher;
} flow_watcher;

void flow_watch(void *state, const flow_watcher *watcher);
/* From now on the bound of a transfer under way is what its route gave it when it began, over `slowdown`: 0, or an error. */
int flow_slow_down(sim *s, void *state, int transfer, double slowdown);
#endif
