/* network_flow.h -- the flow model: latency, then a max-min fair share of the links.
 *
 * Idealisations: without latency, links have none; without contention, each flow is as fast as if it were alone; without a limit
 * of bandwidth, a transfer takes its latency alone. */
#ifndef SMPY_NETWORK_FLOW_H
#define SMPY_NETWORK_FLOW_H
#include "networks/network.h"
#include "networks/network_model.h"

extern const network_kind network_flow;

enum { FLOW_FACTORS = 32 };
typedef struct {
    double n_factors;            /* piecewise constant in the size on the wire: value of the largest threshold < size */
    double factor_above_bytes[FLOW_FACTORS];
    double latency_factor[FLOW_FACTORS];
    double bandwidth_factor[FLOW_FACTORS];
    double weight_bytes;         /* S: penalty = latency + sum S / bandwidth */
    double tcp_gamma_bytes;      /* bound gamma / (2 latency); 0: none */
    double crosstraffic;         /* share of a flow that its acknowledgements load on the way back */
    double envelope_bytes;       /* added to each message on the wire */
    double factor_caps;          /* the bandwidth factor lowers a flow's bound; else it scales the rate of its share */
    double has_no_latency, has_no_contention, has_no_bandwidth_limit; /* idealisations: 1 or 0 */
} flow_parameters;

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
