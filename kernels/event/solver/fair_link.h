/* fair_link.h -- the lists and sums of one link, and the level at which it is saturated.
 *
 * Invariants: (1) `load` is the sum over the flows bottlenecked elsewhere, `use` that over those bottlenecked here (FATPIPE: the
 *                 largest, or more while is_use_stale);
 *             (2) the sum over an empty list is exactly 0; a link with no flow bottlenecked here has the level INFINITY;
 *             (3) `lowest_level_here` and `highest_level_elsewhere` enclose: a step that looks for a flow beyond them finds none;
 *             (4) a SHARED link without flows is uncontended, and its demand is exactly 0. */
#ifndef SMPY_FAIR_LINK_H
#define SMPY_FAIR_LINK_H
#include "solver/fair_internal.h"

static inline void list_insert(fair *f, int *head, int e)
{
    f->element[e].prev = FAIR_NONE;
    f->element[e].next = *head;
    if (*head >= 0)
        f->element[*head].prev = e;
    *head = e;
}

static inline void list_remove(fair *f, int *head, int e)
{
    const int next = f->element[e].next, prev = f->element[e].prev;
    if (next >= 0)
        f->element[next].prev = prev;
    if (prev >= 0)
        f->element[prev].next = next;
    else
        *head = next;
}

/* A flow bottlenecked here has this level, or if it rises this bound level. */
static inline void link_note_level_here(fair_link *k, double level)
{
    if (level < k->lowest_level_here)
        k->lowest_level_here = level;
}

static inline void link_add_bottlenecked_here(fair *f, fair_link *k, int e)
{
    const double use = f->element[e].use;
    const fair_flow *g = &f->flow[f->element[e].flow];
    f->element[e].is_bottlenecked_here = 1;
    list_insert(f, &k->bottlenecked_here, e);
    link_note_level_here(k, g->is_rising ? g->bound_level : g->level);
    if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->use, use);
    else if (use > k->use.hi) {
        k->use.hi = use;
        k->is_use_stale = false;
    }
}

static inline void link_remove_bottlenecked_here(fair *f, fair_link *k, int e)
{
    list_remove(f, &k->bottlenecked_here, e);
    if (k->bottlenecked_here < 0) {
        k->use = (fair_sum){0, 0};
        k->is_use_stale = false;
        k->level = k->lowest_level_here = INFINITY;
    } else if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->use, -f->element[e].use);
    else if (f->element[e].use >= k->use.hi)
        k->is_use_stale = true;
}

static inline void link_add_bottlenecked_elsewhere(fair *f, fair_link *k, int e, double level, double share)
{
    f->element[e].is_bottlenecked_here = 0;
    list_insert(f, &k->bottlenecked_elsewhere, e);
    if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->load, f->element[e].coefficient * share);
    if (level > k->highest_level_elsewhere)
        k->highest_level_elsewhere = level;
}

static inline void link_remove_bottlenecked_elsewhere(fair *f, fair_link *k, int e, double share)
{
    list_remove(f, &k->bottlenecked_elsewhere, e);
    if (k->bottlenecked_elsewhere < 0) {
        k->load = (fair_sum){0, 0};
        k->highest_level_elsewhere = 0;
    } else if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->load, -(f->element[e].coefficient * share));
}

/* The demand has come to exceed the capacity: the link becomes a possible bottleneck, and counts its flows. */
static inline void link_become_contended(fair *f, fair_link *k)
{
    k->is_uncontended = false;
    for (int e = k->unconstrained, next; e >= 0; e = next) {
        const fair_flow *g = &f->flow[f->element[e].flow];
        next = f->element[e].next;
        f->element[e].is_unconstrained = 0;
        if (g->fresh >= 0)
            k->n_fresh++;
        else
            link_add_bottlenecked_elsewhere(f, k, e, g->level, g->share);
    }
    k->unconstrained = FAIR_NONE;
}

/* The most that a flow can take of a link. */
static inline double link_demand(const fair_flow *g, const fair_element *at)
{
    return g->bound > 0 ? at->coefficient * g->bound : INFINITY;
}

/* Adds an element of a fresh flow. */
static inline void link_arrive(fair *f, fair_link *k, int e)
{
    fair_sum_add(&k->demand, link_demand(&f->flow[f->element[e].flow], &f->element[e]));
    if (k->is_uncontended && !(k->demand.hi + k->demand.lo <= k->capacity)) /* NaN: infinite */
        link_become_contended(f, k);
    f->element[e].is_unconstrained = k->is_uncontended;
    if (k->is_uncontended)
        list_insert(f, &k->unconstrained, e);
    else
        k->n_fresh++;
}

/* Takes off the demand of an element that has left the link's lists. */
static inline void link_leave(fair_link *k, double demand)
{
    fair_sum_add(&k->demand, -demand);
    if (k->bottlenecked_here >= 0 || k->bottlenecked_elsewhere >= 0 || k->unconstrained >= 0 || k->n_fresh > 0)
        return;
    k->demand = (fair_sum){0, 0};
    k->is_uncontended = k->policy == FAIR_SHARED;
}

/* The next solve checks whether the link is still saturated. */
static inline void link_mark_dirty(fair *f, fair_link *k)
{
    if (!k->is_dirty) {
        k->is_dirty = true;
        f->dirty[f->n_dirty++] = (int)(k - f->link);
    }
}

/* The level at which the link is saturated if the flows bottlenecked here reach it and those bottlenecked elsewhere keep their
 * shares: (capacity - load) / use. */
static inline double link_saturation_level(fair *f, fair_link *k)
{
    if (k->policy == FAIR_SHARED) {
        const double left = fair_sum_left(k->capacity, &k->load);
        return left > 0 ? left / (k->use.hi + k->use.lo) : 0; /* the load may exceed the capacity by rounding */
    }
    if (k->is_use_stale) {
        double largest = 0;
        for (int e = k->bottlenecked_here; e >= 0 && largest < k->use.hi; e = f->element[e].next)
            if (f->element[e].use > largest)
                largest = f->element[e].use;
        k->use.hi = largest;
        k->is_use_stale = false;
    }
    return k->capacity / k->use.hi;
}

/* Is the link saturated at its present level by the flows on its lists? */
static inline bool link_is_saturated(fair *f, fair_link *k)
{
    if (k->level == INFINITY)
        return false;
    if (k->policy == FAIR_FATPIPE)
        return link_saturation_level(f, k) == k->level;
    const double left = fair_sum_left(k->capacity, &k->load) - k->level * (k->use.hi + k->use.lo);
    return fabs(left) <= FAIR_ROUNDING * k->capacity;
}

/* Does a flow at this level saturate a FATPIPE link by itself? Then the link is a bottleneck of the flow, and of all its other
 * flows at that level. */
static inline bool link_is_saturated_by(const fair_link *k, double use, double level)
{
    return k->policy == FAIR_FATPIPE && k->capacity / use <= level;
}

/* Is the first of two levels of a link above the second? */
static inline bool link_level_is_above(const fair_link *k, double level, double other)
{
    return level > (k->policy == FAIR_SHARED ? other * FAIR_SAME : other);
}

/* A FATPIPE link saturated at this level: could filling from zero have taken a flow bottlenecked here together with one that has
 * its bound (step 3 of fair_filling.c)? */
static inline bool link_has_close_bounds(const fair *f, fair_link *k, double level)
{
    double highest = 0, highest_at_bound = -INFINITY, lowest_here = INFINITY;
    if (k->policy == FAIR_SHARED || k->highest_level_elsewhere <= level - FAIR_PRECISION)
        return false;
    for (int e = k->bottlenecked_elsewhere; e >= 0; e = f->element[e].next) {
        const fair_flow *g = &f->flow[f->element[e].flow];
        highest = fmax(highest, g->level);
        if (g->bound_level <= g->level * FAIR_SAME)
            highest_at_bound = fmax(highest_at_bound, g->bound_level);
    }
    k->highest_level_elsewhere = highest;
    if (highest_at_bound <= level - FAIR_PRECISION)
        return false;
    for (int e = k->bottlenecked_here; e >= 0; e = f->element[e].next)
        lowest_here = fmin(lowest_here, f->flow[f->element[e].flow].bound_level);
    return lowest_here - highest_at_bound < FAIR_PRECISION;
}

/* Would filling from zero have left out the link before it came to the flows bottlenecked here (see fair.c)? */
static inline bool link_is_left_out(const fair_link *k)
{
    if (k->bottlenecked_elsewhere < 0)
        return false;
    return k->use.hi <= FAIR_PRECISION
           || (k->policy == FAIR_SHARED && fair_sum_left(k->capacity, &k->load) <= FAIR_PRECISION * k->capacity);
}
#endif
