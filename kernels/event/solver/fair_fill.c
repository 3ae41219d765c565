/* fair_fill.c -- progressive filling that starts from the last shares and visits the levels that change.
 *
 * Progressive filling (Bertsekas & Gallager 1992, 6.5) raises the levels of all flows together from zero. A flow's level is
 * fixed when the flow reaches its bound or one of its links is saturated; that link is its bottleneck. Two observations allow to
 * repair the last shares instead.
 *
 *   (1) Suppose that the bound and the other links of each flow of a link allow it a share r. Then the level of the link is the
 *       solution x of
 *           capacity = sum over its flows of the smaller of coefficient * r and x * coefficient / penalty.
 *       Whichever flows count as bottlenecked elsewhere, in `load`, and whichever as bottlenecked here, in `use`: the right side
 *       is at most load + x * use. So the saturation level (capacity - load) / use is never above x. It is x if no flow
 *       bottlenecked elsewhere has a level above it, and no flow bottlenecked here has r * penalty below it.
 *   (2) The level of a flow depends on lower levels only. So links are visited in the order of levels, as in Dijkstra's
 *       algorithm: the queue has each link that breaks an invariant of fair_internal.h, and its key is the lowest level at which
 *       the link can differ from before, min(old level, saturation level). All levels below the first key are final.
 *
 * The turn of a link (fill_link) repeats the first of these steps that applies, until another link comes first:
 *   - The level is below the saturation level: flows have left, or lost share, and the link is not saturated any more. It
 *     releases its flows of that level. A flow limited elsewhere at the same level becomes bottlenecked elsewhere; the level
 *     of any other rises, and its links are queued.
 *   - Flows are on the wrong list. Flows bottlenecked here but limited elsewhere below the saturation level become bottlenecked
 *     elsewhere; flows bottlenecked elsewhere at a level above it become bottlenecked here.
 *   - The link is saturated at that level: its flows' levels are fixed, and their other links count them as bottlenecked
 *     elsewhere. The turn ends.
 *
 * So a solve touches the flows whose share changes and the links on their routes, and searches the lists of those links alone
 * that have a turn.
 *
 * Rounding: a link whose shares add up to its capacity within FAIR_ROUNDING keeps its level, and a saturation level that cannot
 * be told from the highest level elsewhere becomes equal to it. Otherwise errors in the last bit would propagate through all
 * flows that are connected by links, and acknowledgements connect nearly all. Errors do not accumulate, because each level is
 * computed from compensated sums. */
#include "basics/dates.h"
#include "solver/fair_link.h"

static void queue_again(fair *f, fair_link *k, double key)
{
    k->key = key;
    if (!fair_queue_push(&f->queue, key, (int)(k - f->link)))
        f->is_out_of_memory = true;
}

static void queue(fair *f, fair_link *k, double key)
{
    if (key < k->key) {
        f->n_queued += k->key == INFINITY;
        queue_again(f, k, key);
    }
}

static void unqueue(fair *f, fair_link *k)
{
    f->n_queued -= k->key != INFINITY;
    k->key = INFINITY;
}

/* ---- flows ---- */

/* Fixes the level of a flow. All its links but `bottleneck`, where it is on the right list, count it as bottlenecked elsewhere. */
static void fix_level(fair *f, int flow, double level, double share, int bottleneck)
{
    fair_flow *g = &f->flow[flow];
    f->work += g->n;
    fair_note_change(f, flow);
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_element *at = &f->element[e];
        fair_link *k = &f->link[at->link];
        if (at->is_unconstrained || (int)at->link == bottleneck)
            continue;
        if (at->is_bottlenecked_here && !link_is_saturated_by(k, at->use, level)) {
            link_remove_bottlenecked_here(f, k, e);
            link_add_bottlenecked_elsewhere(f, k, e, level, share);
        } else if (at->is_bottlenecked_here) {
            link_note_level_here(k, level);
        } else if (k->policy == FAIR_SHARED) {
            fair_sum_add(&k->load, -(at->coefficient * g->share));
            fair_sum_add(&k->load, at->coefficient * share);
        }
        if (k->bottlenecked_here < 0)
            unqueue(f, k);
        else if (k->key == INFINITY && !link_is_saturated(f, k))
            queue(f, k, smaller(k->level, link_saturation_level(f, k)));
    }
    g->level = level;
    g->share = share;
    g->is_rising = false;
}

/* The flow's level is open: the flow is bottlenecked here on all its links, until one of them is saturated. */
static void let_rise(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    g->is_rising = true;
    f->work += g->n;
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_unconstrained)
            continue;
        if (!f->element[e].is_bottlenecked_here) {
            link_remove_bottlenecked_elsewhere(f, k, e, g->share);
            link_add_bottlenecked_here(f, k, e);
        } else
            link_note_level_here(k, g->bound_level);
        queue(f, k, smaller(k->level, link_saturation_level(f, k)));
    }
}

/* Does its bound limit the flow to its level? Not for certain if at its bound it comes close to saturating a FATPIPE link. */
static bool is_limited_by_bound(const fair *f, const fair_flow *g)
{
    if (g->bound_level > g->level * FAIR_SAME)
        return false;
    for (int e = g->first; e < g->first + g->n; e++)
        if (link_is_saturated_by(&f->link[f->element[e].link], f->element[e].use, g->bound_level + FAIR_PRECISION))
            return false;
    return true;
}

/* Do its bound or a link other than `link` limit the flow to its level? */
static bool is_limited_elsewhere(fair *f, const fair_flow *g, int link)
{
    if (is_limited_by_bound(f, g))
        return true;
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_bottlenecked_here && (int)f->element[e].link != link && g->level <= k->level * FAIR_SAME
            && k->level <= g->level * FAIR_SAME && link_is_saturated(f, k))
            return true;
    }
    return false;
}

/* ---- the turn of a link: the steps that the head of this file lists ---- */

/* The link is not saturated at its level any more. Flows at that level are bottlenecked elsewhere if they are limited there; the
 * others rise. */
static void release_flows(fair *f, int link)
{
    fair_link *k = &f->link[link];
    const double level = k->level;
    k->level = k->lowest_level_here = INFINITY;
    for (int e = k->bottlenecked_here, next; e >= 0; e = next) {
        const int flow = f->element[e].flow;
        const fair_flow *g = &f->flow[flow];
        next = f->element[e].next;
        f->work++;
        if (g->is_rising || link_level_is_above(k, g->level, level)) {
            link_note_level_here(k, g->is_rising ? g->bound_level : g->level);
            continue;
        }
        if (is_limited_elsewhere(f, g, link)) {
            link_remove_bottlenecked_here(f, k, e);
            link_add_bottlenecked_elsewhere(f, k, e, g->level, g->share);
        } else
            let_rise(f, flow);
    }
}

/* Flows bottlenecked here that their bound, or another link, limits to a lower level become bottlenecked elsewhere. Returns whether
 * there are any. */
static bool hand_over_lower_flows(fair *f, int link, double level)
{
    fair_link *k = &f->link[link];
    const bool is_shared = k->policy == FAIR_SHARED;
    const double use = k->use.hi, slack = is_shared ? FAIR_ROUNDING * k->capacity : 0;
    bool is_any = false;
    if (!(k->lowest_level_here < level))
        return false;
    k->lowest_level_here = INFINITY;
    for (int e = k->bottlenecked_here, next; e >= 0; e = next) {
        const int flow = f->element[e].flow;
        const fair_flow *g = &f->flow[flow];
        next = f->element[e].next;
        f->work++;
        if (g->is_rising && g->bound_level < level)
            fix_level(f, flow, g->bound_level, g->bound, FAIR_NONE);
        else if (!g->is_rising && (level - g->level) * use > slack) {
            link_remove_bottlenecked_here(f, k, e);
            link_add_bottlenecked_elsewhere(f, k, e, g->level, g->share);
        } else {
            link_note_level_here(k, g->is_rising ? g->bound_level : g->level);
            continue;
        }
        is_any = true;
    }
    return is_any;
}

/* Flows bottlenecked elsewhere whose level is above that of the link become bottlenecked here. Each that does raises the saturation
 * level: so all above `level` are tried, and those that are not above the saturation level of the trial are given up, until
 * that changes nothing. Returns whether there are any. */
static bool take_over_higher_flows(fair *f, fair_link *k, double level)
{
    if (!link_level_is_above(k, k->highest_level_elsewhere, level))
        return false;
    int n = 0;
    fair_sum load = k->load, use = k->use;
    double highest = 0;
    for (int e = k->bottlenecked_elsewhere; e >= 0; e = f->element[e].next) {
        const fair_flow *g = &f->flow[f->element[e].flow];
        f->work++;
        if (link_level_is_above(k, g->level, level)) {
            f->scratch[n++] = e;
            fair_sum_add(&load, -(f->element[e].coefficient * g->share));
            fair_sum_add(&use, f->element[e].use);
        } else
            highest = larger(highest, g->level);
    }
    for (bool is_stable = k->policy == FAIR_FATPIPE; !is_stable;) {
        const double trial = fair_sum_left(k->capacity, &load) / (use.hi + use.lo);
        int kept = 0;
        for (int i = 0; i < n; i++) {
            const int e = f->scratch[i];
            const fair_flow *g = &f->flow[f->element[e].flow];
            if (g->level > trial) {
                f->scratch[kept++] = e;
                continue;
            }
            fair_sum_add(&load, f->element[e].coefficient * g->share);
            fair_sum_add(&use, -f->element[e].use);
            highest = larger(highest, g->level);
        }
        is_stable = kept == n;
        n = kept;
    }
    k->highest_level_elsewhere = highest;
    for (int i = 0; i < n; i++) {
        link_remove_bottlenecked_elsewhere(f, k, f->scratch[i], f->flow[f->element[f->scratch[i]].flow].share);
        link_add_bottlenecked_here(f, k, f->scratch[i]);
    }
    return n > 0;
}

/* One turn, or its part up to the level at which another link comes first. */
static void fill_link(fair *f, int link)
{
    fair_link *k = &f->link[link];
    for (;;) {
        if (k->bottlenecked_here < 0) {
            unqueue(f, k);
            return;
        }
        double level = link_saturation_level(f, k);
        const double next = f->queue.n ? f->queue.entry[0].key : INFINITY;
        if (link_is_saturated(f, k))
            level = k->level;
        else if (k->policy == FAIR_SHARED
                 && fabs(level - k->highest_level_elsewhere) * k->use.hi <= FAIR_ROUNDING / 2 * k->capacity)
            level = k->highest_level_elsewhere; /* a tie */
        const double turn = smaller(level, k->level);
        if (link_level_is_above(k, turn, next)) {
            queue_again(f, k, turn);
            return;
        }
        if (k->level < level) {
            release_flows(f, link);
            continue;
        }
        if (hand_over_lower_flows(f, link, level) || take_over_higher_flows(f, k, level))
            continue;
        if (link_is_left_out(k) || link_has_close_bounds(f, k, level))
            f->needs_full_solve = true;
        for (int e = k->bottlenecked_here; e >= 0; e = f->element[e].next) {
            const int flow = f->element[e].flow;
            const fair_flow *g = &f->flow[flow];
            if (g->is_rising || link_level_is_above(k, g->level, level))
                fix_level(f, flow, level, level / g->penalty, link);
        }
        k->level = level;
        link_note_level_here(k, level);
        unqueue(f, k);
        return;
    }
}

/* ---- a solve ---- */

/* Starts a fresh flow whose contended links are not saturated and have no other fresh flow, if no other share changes by it.
 * False: the flow must take part in filling. */
static bool start_without_filling(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    double level = g->bound_level;
    int bottleneck = FAIR_NONE;
    for (int e = g->first; e < g->first + g->n; e++) {
        const fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_unconstrained)
            continue;
        if (k->bottlenecked_here >= 0 || k->n_fresh > 1)
            return false;
        const double limit = fair_sum_left(k->capacity, &k->load) / f->element[e].use;
        if (limit < level || (limit == level && bottleneck < 0)) {
            level = limit;
            bottleneck = (int)f->element[e].link;
        }
    }
    for (int e = g->first; e < g->first + g->n; e++) {
        const fair_link *k = &f->link[f->element[e].link];
        const bool is_saturated = (int)f->element[e].link == bottleneck || link_is_saturated_by(k, f->element[e].use, level);
        const double margin = k->policy == FAIR_SHARED ? 0 : FAIR_PRECISION;
        if (!f->element[e].is_unconstrained && is_saturated && k->highest_level_elsewhere > level - margin)
            return false;
    }
    for (int e = g->first; e < g->first + g->n; e++)
        if (!f->element[e].is_unconstrained)
            f->link[f->element[e].link].n_fresh = 0;
    g->level = level;
    g->share = bottleneck >= 0 ? level / g->penalty : g->bound;
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_unconstrained)
            continue;
        if ((int)f->element[e].link != bottleneck && !link_is_saturated_by(k, f->element[e].use, level)) {
            link_add_bottlenecked_elsewhere(f, k, e, level, g->share);
            continue;
        }
        link_add_bottlenecked_here(f, k, e);
        k->level = level;
        if (link_is_left_out(k))
            f->needs_full_solve = true;
    }
    return true;
}

/* Adds fresh flows to the lists of their links, as rising flows unless they can start without filling; queues the links that
 * are not saturated any more, or have rising flows. */
static void start_fresh_flows(fair *f)
{
    for (int i = 0; i < f->n_fresh; i++) {
        fair_flow *g = &f->flow[f->fresh[i]];
        g->fresh = FAIR_NONE;
        fair_note_change(f, f->fresh[i]);
        if (g->n == 0) {
            g->share = 0;
            continue;
        }
        if (start_without_filling(f, f->fresh[i]))
            continue;
        g->is_rising = true;
        for (int e = g->first; e < g->first + g->n; e++) {
            fair_link *k = &f->link[f->element[e].link];
            if (f->element[e].is_unconstrained)
                continue;
            link_add_bottlenecked_here(f, k, e);
            link_mark_dirty(f, k);
        }
    }
    f->n_fresh = 0;
    for (int i = 0; i < f->n_dirty; i++) {
        fair_link *k = &f->link[f->dirty[i]];
        const bool has_rising = k->n_fresh > 0;
        k->is_dirty = false;
        k->n_fresh = 0;
        if (k->bottlenecked_here >= 0 && (has_rising || !link_is_saturated(f, k)))
            queue(f, k, smaller(k->level, link_saturation_level(f, k)));
    }
    f->n_dirty = 0;
}

void fair_fill_begin(fair *f)
{
    f->turns_left = 64 + 16 * (int64_t)f->n_elements;
    start_fresh_flows(f);
}

/* Does one piece of the work; false: there is more to do. Gives up, with `is_filled` false, when a full solve is needed, when the
 * queue cannot grow, or after too many turns (rounding might make two links queue each other for ever). */
bool fair_fill(fair *f)
{
    f->work = 0;
    while (f->n_queued > 0 && !f->needs_full_solve && !f->is_out_of_memory && f->turns_left-- > 0) {
        const fair_entry first = f->queue.entry[0];
        if (++f->work > FAIR_PIECE)
            return false;
        fair_queue_pop(&f->queue);
        if (first.key == f->link[first.link].key)
            fill_link(f, first.link);
    }
    f->is_filled = f->n_queued == 0 && !f->needs_full_solve && !f->is_out_of_memory;
    f->queue.n = 0;
    return true;
}
