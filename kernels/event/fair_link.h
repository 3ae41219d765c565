/* fair_link.h -- one link: its lists of held and passing flows with their sums, and the level they give it.
 *
 * Invariants: (1) load is the sum over the passing list, use that over the held list (FATPIPE: its largest, or more while
 *             is_use_stale);
 *             (2) an empty list has a sum of exactly 0, an empty held list the level INFINITY;
 *             (3) a link without flows is roomy, if it is SHARED, and its demand is exactly 0. */
#ifndef SMPY_FAIR_LINK_H
#define SMPY_FAIR_LINK_H
#include "fair_internal.h"

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

static inline void link_add_bottlenecked_here(fair *f, fair_link *k, int e)
{
    const double use = f->element[e].use;
    f->element[e].is_bottlenecked_here = 1;
    list_insert(f, &k->bottlenecked_here, e);
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
        k->level = INFINITY;
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

/* Flows come to want more than the link has: from now on it counts them. */
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

/* What a flow can make of a link at the most; a number larger than any capacity, but finite, when it has no bound. */
static inline double link_demand(const fair_flow *g, const fair_element *at)
{
    return g->bound > 0 ? at->coefficient * g->bound : 0x1p500;
}

/* A fresh flow's element arrives. */
static inline void link_arrive(fair *f, fair_link *k, int e)
{
    fair_sum_add(&k->demand, link_demand(&f->flow[f->element[e].flow], &f->element[e]));
    if (k->is_uncontended && k->demand.hi + k->demand.lo > k->capacity)
        link_become_contended(f, k);
    f->element[e].is_unconstrained = k->is_uncontended;
    if (k->is_uncontended)
        list_insert(f, &k->unconstrained, e);
    else
        k->n_fresh++;
}

/* An element, which is on none of the link's lists any more, leaves. */
static inline void link_leave(fair_link *k, double demand)
{
    fair_sum_add(&k->demand, -demand);
    if (k->bottlenecked_here >= 0 || k->bottlenecked_elsewhere >= 0 || k->unconstrained >= 0 || k->n_fresh > 0)
        return;
    k->demand = (fair_sum){0, 0};
    k->is_uncontended = k->policy == FAIR_SHARED;
}

/* The next solve has to look at it. */
static inline void link_mark_dirty(fair *f, fair_link *k)
{
    if (!k->is_dirty) {
        k->is_dirty = true;
        f->dirty[f->n_dirty++] = (int)(k - f->link);
    }
}

/* The level at which the link is full, if all held flows get there and the passing ones stay. */
static inline double link_saturation_level(fair *f, fair_link *k)
{
    if (k->policy == FAIR_SHARED) {
        const double left = fair_sum_left(k->capacity, &k->load);
        return left > 0 ? left / (k->use.hi + k->use.lo) : 0; /* rounding may leave a full link over its capacity */
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

/* Is the link full at its present level, with what it holds now? */
static inline bool link_is_saturated(fair *f, fair_link *k)
{
    if (k->level == INFINITY)
        return false;
    if (k->policy == FAIR_FATPIPE)
        return link_saturation_level(f, k) == k->level;
    const double left = fair_sum_left(k->capacity, &k->load) - k->level * (k->use.hi + k->use.lo);
    return fabs(left) <= FAIR_ROUNDING * k->capacity;
}

/* Does a flow at this level fill a FATPIPE link by itself? Then the link holds it, and all others there at the same level. */
static inline bool link_is_saturated_by(const fair_link *k, double use, double level)
{
    return k->policy == FAIR_FATPIPE && k->capacity / use <= level;
}

/* Would a full solve have left the link out, with the flows it holds? */
static inline bool link_is_left_out(const fair_link *k)
{
    if (k->bottlenecked_elsewhere < 0)
        return false;
    return k->use.hi <= FAIR_PRECISION
           || (k->policy == FAIR_SHARED && fair_sum_left(k->capacity, &k->load) <= FAIR_PRECISION * k->capacity);
}
#endif
