/* flow_planner.h -- plans of flows: the links that one loads, its latency, penalty and bound.
 *
 * Invariant: `planned` is the last plan that was made, and its links stay until the next one is. */
#ifndef SMPY_FLOW_PLANNER_H
#define SMPY_FLOW_PLANNER_H
#include "machine/plan_cache.h"
#include "networks/flow_links.h"
#include "networks/network_flow.h"

/* The flow that is handed to the solver; its links are among the kept plans, or in the planner's `links`. */
typedef struct {
    double latency_s, penalty, bound_bytes_per_s;
    int n;
    const int *link;
    const double *coefficient;
} flow_plan;

typedef struct {
    flow_parameters model;
    platform_path path, way_back; /* of the last plan that was composed */
    flow_links links;
    flow_plan planned;
    plan_cache plans;
} flow_planner;

void flow_planner_free(flow_planner *p);
/* Finds the route between two hosts (platform_path has `detour`), into `path`, as the model has it: 0, or an error. */
int flow_planner_route(sim *s, flow_planner *p, int source_host, int target_host, int detour);
/* Plans a flow whose size has the factors of `row` (-1: none): 0, or an error. */
int flow_planner_plan(sim *s, flow_planner *p, int source_host, int target_host, int detour, int row);
/* The share of the planned flow if there were no other. */
double flow_planner_share_alone_bytes_per_s(sim *s, const flow_planner *p);

static inline double flow_bandwidth_factor(const flow_parameters *m, int row)
{
    return row >= 0 ? m->bandwidth_factor[row] : 1.0;
}
#endif
