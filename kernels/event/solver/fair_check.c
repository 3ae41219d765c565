/* fair_check.c -- under SMPY_CHECK, each solve checks the invariants of fair_internal.h and compares its shares with a full solve.
 *
 * Shares must agree to 1e-12, or to the rounding error that the full solve estimates, if that is more: when flows bottlenecked
 * elsewhere take nearly all of a link, the relative error of what remains grows by capacity / remainder, link after link. Or they
 * must agree to what the sum of the shares on the bottleneck is known to: when two links have the same level but for rounding, a
 * flow of small share has either of the two levels. */
#include "solver/fair_internal.h"
#ifdef SMPY_CHECK
#include <stdio.h>
#include <stdlib.h>

#define SLACK (4 * FAIR_ROUNDING) /* levels are rounded, and so are shares */

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
        const fair_element *at = &f->element[e];
        const fair_flow *g = &f->flow[at->flow];
        require(at->prev == before && !at->is_bottlenecked_here, "list bottlenecked_elsewhere of link", link, e, before);
        fair_sum_add(&load, shared ? at->coefficient * g->share : 0);
        highest = fmax(highest, g->level);
    }
    before = FAIR_NONE;
    for (int e = k->bottlenecked_here; e >= 0; before = e, e = f->element[e].next) {
        const fair_element *at = &f->element[e];
        const fair_flow *g = &f->flow[at->flow];
        require(at->prev == before && at->is_bottlenecked_here, "list bottlenecked_here of link", link, e, before);
        require(!g->is_rising, "no level for flow", at->flow, g->share, 0);
        require(k->lowest_level_here <= g->level, "lowest level here of link", link, k->lowest_level_here, g->level);
        fair_sum_add(&use, at->use);
        largest = fmax(largest, at->use);
        if (!f->needs_full_solve)
            require(fabs(g->level - k->level) * at->coefficient / g->penalty <= SLACK * k->capacity,
                    "level of a flow bottlenecked on link", link, g->level, k->level);
    }
    before = FAIR_NONE;
    for (int e = k->unconstrained; e >= 0; before = e, e = f->element[e].next) {
        const fair_element *at = &f->element[e];
        require(at->prev == before && at->is_unconstrained, "list unconstrained of link", link, e, before);
        fair_sum_add(&demand, at->coefficient * f->flow[at->flow].bound);
    }
    require(!k->is_uncontended || (shared && k->bottlenecked_here < 0 && k->bottlenecked_elsewhere < 0),
            "flow counted on uncontended link", link, k->bottlenecked_here, FAIR_NONE);
    require(!k->is_uncontended || k->demand.hi + k->demand.lo <= k->capacity, "sum of demand of uncontended link", link,
            k->demand.hi, k->capacity);
    require(k->is_uncontended || k->unconstrained < 0, "unconstrained flow on contended link", link, k->unconstrained, FAIR_NONE);
    require(!k->is_uncontended || demand.hi + demand.lo <= k->capacity * (1 + SLACK), "demand of uncontended link", link, demand.hi,
            k->capacity);
    require(k->n_fresh == 0 && !k->is_dirty && k->key == INFINITY, "solve not ended on link", link, k->n_fresh, 0);
    require(fabs(fair_sum_left(load.hi, &k->load) + load.lo) <= 1e-18 * k->capacity, "load of link", link, k->load.hi, load.hi);
    require(k->bottlenecked_here >= 0 || k->level == INFINITY, "level of unsaturated link", link, k->level, INFINITY);
    require(!shared || fabs(fair_sum_left(use.hi, &k->use) + use.lo) <= 1e-18 * use.hi, "use of link", link, k->use.hi, use.hi);
    require(shared || k->bottlenecked_here < 0 || k->is_use_stale || k->use.hi == largest, "use of link", link, k->use.hi, largest);
    require(k->highest_level_elsewhere >= highest, "highest level elsewhere of link", link, k->highest_level_elsewhere, highest);
    if (f->needs_full_solve)
        return;
    if (!shared)
        require(highest <= k->level * (1 + SLACK), "level elsewhere above link", link, highest, k->level);
    else if (k->bottlenecked_here < 0)
        require(load.hi + load.lo <= k->capacity * (1 + SLACK), "load of link", link, load.hi, k->capacity);
    else {
        const double all = load.hi + load.lo + k->level * (use.hi + use.lo);
        require(fabs(all - k->capacity) <= SLACK * k->capacity, "load of saturated link", link, all, k->capacity);
        require((highest - k->level) * use.hi <= SLACK * k->capacity, "level elsewhere above link", link, highest, k->level);
    }
}

static void check_flow(const fair *f, int flow)
{
    const fair_flow *g = &f->flow[flow];
    bool is_decided = g->n <= 0 || g->bound_level <= g->level * (1 + 0x1p-50) || f->needs_full_solve;
    for (int e = g->first; e < g->first + g->n; e++)
        is_decided |= f->element[e].is_bottlenecked_here;
    require(is_decided, "neither bound nor bottleneck of flow", flow, g->share, g->bound);
    require(g->n <= 0 || !g->is_in_changed, "flow still in changed", flow, g->share, g->share);
}

void fair_check(fair *f)
{
    for (int i = 0; i < f->n_used; i++)
        check_link(f, f->used[i]);
    for (int flow = 0; flow < f->n_flows; flow++)
        if (f->flow[flow].n != FAIR_FREE)
            check_flow(f, flow);
    require(fair_full_open(f, true), "out of memory for flows", f->n_flows, 0, 0);
    const fair_filling *s = f->filling;
    while (!fair_filling_run(f->filling))
        ;
    require(!s->is_out_of_memory, "out of memory for flows", f->n_flows, 0, 0);
    for (int i = 0; i < s->n_flows && !s->is_ambiguous; i++) {
        const fair_filling_flow *answer = &s->flow[i];
        const double share = f->flow[answer->number].share, relative = fmax(1e-12, 64 * answer->rounding_error * 0x1p-53);
        const double absolute = answer->bottleneck >= 0 ? SLACK * f->link[answer->bottleneck].capacity : 0;
        require(fabs(share - answer->share) <= fmax(relative * answer->share, absolute), "share of flow", answer->number, share,
                answer->share);
    }
    int n_beyond_repair = 0;
    for (int i = 0; i < f->n_used; i++) {
        const int l = f->used[i];
        n_beyond_repair += f->link[l].is_beyond_repair;
        if (f->needs_full_solve && !s->is_ambiguous && fair_filling_is_beyond_repair(s, f->link[l].place))
            require(f->link[l].is_beyond_repair, "beyond repair: link", l, 0, 1);
    }
    require(f->n_beyond_repair == n_beyond_repair && f->needs_full_solve == (n_beyond_repair > 0), "links beyond repair",
            f->n_beyond_repair, n_beyond_repair, n_beyond_repair);
    fair_full_close(f);
    while (f->n_dirty > 0)
        f->link[f->dirty[--f->n_dirty]].is_dirty = false;
}
#endif
