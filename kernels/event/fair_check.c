/* fair_check.c -- under SMPY_CHECK, every solve walks the invariants of fair_internal.h and compares with a full solve.
 *
 * Each share must agree to 1e-12, or to what rounding leaves of it where that is more: when nearly all of a link is taken by
 * others, the error of what they leave grows by capacity / what they leave, link after link. */
#include "fair_internal.h"
#ifdef SMPY_CHECK
#include <stdio.h>
#include <stdlib.h>

#define SLACK (4 * FAIR_ROUNDING) /* levels are rounded, and shares */

static void require(bool is_true, const char *what, int number, double is, double should_be)
{
    if (is_true)
        return;
    fprintf(stderr, "fair_check: %s %d: %.17g, should be %.17g\n", what, number, is, should_be);
    abort();
}

static void check_link(const fair *f, int link)
{
    const fair_link *k = &f->link[link];
    const bool shared = k->policy == FAIR_SHARED;
    fair_sum load = {0, 0}, use = {0, 0}, demand = {0, 0};
    double highest = 0, largest = 0;
    int before = FAIR_NONE;
    for (int e = k->bottlenecked_elsewhere; e >= 0; before = e, e = f->element[e].next) {
        const fair_flow *g = &f->flow[f->element[e].flow];
        require(f->element[e].prev == before && !f->element[e].is_bottlenecked_here, "list of passing flows of link", link, e,
                before);
        fair_sum_add(&load, shared ? f->element[e].coefficient * g->share : 0);
        highest = fmax(highest, g->level);
    }
    before = FAIR_NONE;
    for (int e = k->bottlenecked_here; e >= 0; before = e, e = f->element[e].next) {
        const fair_flow *g = &f->flow[f->element[e].flow];
        require(f->element[e].prev == before && f->element[e].is_bottlenecked_here, "list of held flows of link", link, e, before);
        require(!g->is_rising, "no level for flow", f->element[e].flow, g->share, 0);
        fair_sum_add(&use, f->element[e].use);
        largest = fmax(largest, f->element[e].use);
        if (!f->needs_full_solve)
            require(fabs(g->level - k->level) * f->element[e].coefficient / g->penalty <= SLACK * k->capacity,
                    "level of a flow held by link", link, g->level, k->level);
    }
    before = FAIR_NONE;
    for (int e = k->unconstrained; e >= 0; before = e, e = f->element[e].next) {
        require(f->element[e].prev == before && f->element[e].is_unconstrained, "list of idle flows of link", link, e, before);
        fair_sum_add(&demand, f->element[e].coefficient * f->flow[f->element[e].flow].bound);
    }
    require(!k->is_uncontended || (shared && k->bottlenecked_here < 0 && k->bottlenecked_elsewhere < 0),
            "flows counted on roomy link", link, k->bottlenecked_here, FAIR_NONE);
    require(k->is_uncontended || k->unconstrained < 0, "idle flows on busy link", link, k->unconstrained, FAIR_NONE);
    require(!k->is_uncontended || demand.hi + demand.lo <= k->capacity * (1 + SLACK), "demand of roomy link", link, demand.hi,
            k->capacity);
    require(k->n_fresh == 0 && !k->is_dirty && k->key == INFINITY, "link still marked", link, k->n_fresh, 0);
    require(fabs(fair_sum_left(load.hi, &k->load) + load.lo) <= 1e-18 * k->capacity, "load of link", link, k->load.hi, load.hi);
    require(k->bottlenecked_here >= 0 || k->level == INFINITY, "level of unsaturated link", link, k->level, INFINITY);
    require(!shared || fabs(fair_sum_left(use.hi, &k->use) + use.lo) <= 1e-18 * use.hi, "use of link", link, k->use.hi, use.hi);
    require(shared || k->bottlenecked_here < 0 || k->is_use_stale || k->use.hi == largest, "use of link", link, k->use.hi, largest);
    require(k->highest_level_elsewhere >= highest, "highest passing level of link", link, k->highest_level_elsewhere, highest);
    if (f->needs_full_solve)
        return;
    if (!shared)
        require(highest <= k->level * (1 + SLACK), "passing level above link", link, highest, k->level);
    else if (k->bottlenecked_here < 0)
        require(load.hi + load.lo <= k->capacity * (1 + SLACK), "load of link", link, load.hi, k->capacity);
    else {
        const double all = load.hi + load.lo + k->level * (use.hi + use.lo);
        require(fabs(all - k->capacity) <= SLACK * k->capacity, "load of saturated link", link, all, k->capacity);
        require((highest - k->level) * use.hi <= SLACK * k->capacity, "passing level above link", link, highest,
                k->level);
    }
}

static void check_flow(const fair *f, int flow)
{
    const fair_flow *g = &f->flow[flow];
    bool is_decided = g->n <= 0 || g->bound_level <= g->level * (1 + 0x1p-50) || f->needs_full_solve;
    for (int e = g->first; e < g->first + g->n; e++)
        is_decided |= f->element[e].is_bottlenecked_here;
    require(is_decided, "neither bound nor saturated link for flow", flow, g->share, g->bound);
    require(g->n <= 0 || !g->is_in_changed, "mark left on flow", flow, g->share, g->share);
}

void fair_check(const fair *f)
{
    fair_answer a;
    for (int l = 0; l < f->n_links; l++)
        check_link(f, l);
    for (int flow = 0; flow < f->n_flows; flow++)
        if (f->flow[flow].n != FAIR_FREE)
            check_flow(f, flow);
    require(fair_answer_new(&a, f->n_flows) && fair_full(f, &a), "out of memory for flows", f->n_flows, 0, 0);
    for (int flow = 0; flow < f->n_flows && !a.is_ambiguous; flow++) {
        if (f->flow[flow].n == FAIR_FREE)
            continue;
        const double share = f->flow[flow].share, tolerance = fmax(1e-12, 64 * a.rounding_error[flow] * 0x1p-53);
        require(fabs(share - a.share[flow]) <= tolerance * a.share[flow], "share of flow", flow, share, a.share[flow]);
    }
    fair_answer_free(&a);
}
#endif
