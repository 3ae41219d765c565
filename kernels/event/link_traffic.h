/* link_traffic.h -- traffic of each link, and the time for which it was busy and saturated.
 *
 * A flow is on the links that it loads from the end of its latency phase on. A link is saturated while its flows take all of it.
 *
 * Invariants: (1) n_flows is the number of flows on a link;
 *             (2) a link is saturated only while it has flows;
 *             (3) a link that was saturated when a flow left it is in `doubtful` until the next solve, which looks once at each
 *                 of them, and of the links of flows whose shares have changed;
 *             (4) n_saturated counts the saturated links: while there are none, a solve reads the state of no link that has room
 *                 for all its flows. */
#ifndef SMPY_LINK_TRAFFIC_H
#define SMPY_LINK_TRAFFIC_H
#include "fair.h"
#include "sim.h"

typedef struct {
    _Alignas(64) int n_flows;    /* one cache line: a message changes those of all links on its way */
    int most_flows;
    int is_saturated, is_doubtful;
    double busy_since_s, saturated_since_s;
    double busy_s, saturated_s;
    double bytes;
} link_state;

typedef struct {
    link_state *at;              /* by link, in `memory`: a page takes none until a flow touches it */
    void *memory;
    int n_links, n_saturated;
    int *doubtful, n_doubtful, room;
} link_traffic;

int link_traffic_init(link_traffic *all, int n_links);   /* 0, or SIM_OUT_OF_MEMORY; then it can be freed */
void link_traffic_free(link_traffic *all);
/* A flow of so many bytes begins. Where its acknowledgements alone go, its coefficient is below 1: these are not counted. */
void link_traffic_begin(link_traffic *all, int n, const int *link, const double *coefficient, double bytes, double now_s);
void link_traffic_end(link_traffic *all, const fair *shares, int flow, double now_s); /* before it is removed from the shares */
void link_traffic_solved(link_traffic *all, const fair *shares, int n_changed, double now_s); /* the shares of so many flows */
/* Number of links used up to now. Their loads are written to `list`, unless it is NULL. */
int link_traffic_list(const link_traffic *all, double now_s, link_load *list);
#endif
