#include "networks/flow_planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void flow_planner_free(flow_planner *p)
{
    free(p->path.link);
    free(p->way_back.link);
    flow_links_free(&p->links);
    plan_cache_free(&p->plans);
}

int flow_planner_route(sim *s, flow_planner *p, int source_host, int target_host, int detour)
{
    p->path.detour = detour;
    const int error = network_route(s, source_host, target_host, &p->path);
    if (p->model.has_no_latency) p->path.latency_s = 0;
    return error;
}

/* Finds the routes there and back, and what the flow loads; its bound is the least bandwidth on the way there. */
static int compose_plan(sim *s, flow_planner *p, int source_host, int target_host, int detour)
{
    const double *bandwidth = network_bandwidth_bytes_per_s(s);
    const uint8_t *policy = platform_policy(network_platform(s));
    const flow_parameters *m = &p->model;
    platform_path *path = &p->path, *back = &p->way_back;
    flow_links *f = &p->links;
    back->n = 0;
    int error = flow_planner_route(s, p, source_host, target_host, detour);
    if (!error && m->crosstraffic > 0) error = network_route(s, target_host, source_host, back);
    if (error < 0) return error;
    if (flow_links_make_room(f, path->n + back->n) < 0) return SIM_OUT_OF_MEMORY;
    f->n = 0;
    double penalty = path->latency_s, least_bytes_per_s = path->n ? INFINITY : -1;
    for (int i = 0; i < path->n; i++) {
        int l = path->link[i];
        flow_links_load(f, l, 1.0, policy[l] == LINK_FATPIPE);
        if (m->weight_bytes > 0) penalty += m->weight_bytes / bandwidth[l];
        if (bandwidth[l] < least_bytes_per_s) least_bytes_per_s = bandwidth[l];
    }
    for (int i = 0; i < back->n; i++)
        flow_links_load(f, back->link[i], m->crosstraffic, policy[back->link[i]] == LINK_FATPIPE);
    p->planned = (flow_plan){path->latency_s, penalty, least_bytes_per_s, f->n, f->link, f->coefficient};
    return 0;
}

static void keep_plan(const flow_planner *p, int source_host, int target_host)
{
    const flow_plan *f = &p->planned;
    cached_plan *kept = plan_cache_slot(&p->plans, source_host, target_host);
    if (!kept || f->n > PLAN_CACHE_LINKS || !p->path.n) return;
    kept->source_host = source_host;
    kept->target_host = target_host;
    kept->n = f->n;
    kept->latency_s = f->latency_s;
    kept->penalty = f->penalty;
    kept->least_bandwidth_bytes_per_s = f->bound_bytes_per_s;
    memcpy(kept->link, f->link, (size_t)f->n * sizeof *f->link);
    memcpy(kept->coefficient, f->coefficient, (size_t)f->n * sizeof *f->coefficient);
}

#ifdef SMPY_CHECK
/* A kept plan is the one that would be composed. */
static int check_plan(sim *s, flow_planner *p, const cached_plan *kept)
{
    const int error = compose_plan(s, p, kept->source_host, kept->target_host, 0);
    if (error < 0) return error;
    const flow_plan *f = &p->planned;
    if (f->n != kept->n || f->latency_s != kept->latency_s || f->penalty != kept->penalty
        || f->bound_bytes_per_s != kept->least_bandwidth_bytes_per_s)
        abort();
    for (int i = 0; i < f->n; i++)
        if (f->link[i] != kept->link[i] || f->coefficient[i] != kept->coefficient[i]) abort();
    return 0;
}
#endif

int flow_planner_plan(sim *s, flow_planner *p, int source_host, int target_host, int detour, int row)
{
    const flow_parameters *m = &p->model;
    const cached_plan *kept = plan_cache_find(&p->plans, source_host, target_host);
    flow_plan *f = &p->planned;
    if (kept) {
#ifdef SMPY_CHECK
        const int error = check_plan(s, p, kept);
        if (error < 0) return error;
#endif
        *f = (flow_plan){kept->latency_s, kept->penalty, kept->least_bandwidth_bytes_per_s, kept->n, kept->link,
                         kept->coefficient};
    } else {
        const int error = compose_plan(s, p, source_host, target_host, detour);
        if (error < 0) return error;
        keep_plan(p, source_host, target_host);
    }
    if (f->bound_bytes_per_s < 0) return 0; /* no links on the way there */
    if (m->factor_caps) f->bound_bytes_per_s *= flow_bandwidth_factor(m, row);
    if (f->latency_s > 0 && m->tcp_gamma_bytes > 0)
        f->bound_bytes_per_s = fmin(f->bound_bytes_per_s, m->tcp_gamma_bytes / (2 * f->latency_s));
    return 0;
}

double flow_planner_share_alone_bytes_per_s(sim *s, const flow_planner *p)
{
    const double *bandwidth = network_bandwidth_bytes_per_s(s);
    const flow_plan *f = &p->planned;
    double share = f->bound_bytes_per_s > 0 ? f->bound_bytes_per_s : INFINITY;
    for (int i = 0; i < f->n; i++)
        if (f->coefficient[i] > 0 && bandwidth[f->link[i]] > 0) share = fmin(share, bandwidth[f->link[i]] / f->coefficient[i]);
    return share;
}
