/* fair.c -- adding, changing and removing flows; solving for their shares.
 *
 * Links are an array. Flows, and their elements (one for each link of a flow), are pools; a flow's elements are one block, and
 * blocks are reused by size, so that nothing is allocated once the pools have grown. An added flow is fresh: it only counts in
 * its links' demand until the next solve, which thus sees together all flows that start at one date. A removal takes the
 * flow out of its links' sums at once and marks dirty the links that are other flows' bottleneck. A change of a flow, or of
 * the capacity of one of its links, takes it out in the same way and makes it fresh again.
 *
 * Departure from max-min fairness, because SimGrid does so: filling leaves out a link once at most 1e-5 of its capacity remains
 * (FAIR_PRECISION), and the flows that the link has not limited yet are limited by their other links alone. Which links are
 * left out depends on the order in which all levels were found, so a state with such flows (needs_full_solve) is not repaired
 * by fair_fill.c: until no link is left out, fair_full.c fills from zero what a change reaches. Filling from zero also gives
 * their bounds together to flows of one saturated link whose bound levels differ by less than FAIR_PRECISION. On a FATPIPE link
 * that is no narrower than a flow's bound, a last bit decides whether the flow gets its bound or stops all others at its level:
 * where it decides differently for two such flows, the state is not repaired either. */
#include "basics/cache_lines.h"
#include "solver/fair_link.h"
#include <stdlib.h>
#include <string.h>

fair *fair_new(int n_links, const double *capacity_bytes_per_s, const uint8_t *policy)
{
    const size_t n = (size_t)n_links + 1, line = _Alignof(fair_link);
    fair *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->n_links = n_links;
    f->free_flow = FAIR_NONE;
    f->capacity = malloc(n * sizeof *f->capacity);
    f->policy = malloc(n * sizeof *f->policy);
    f->link_memory = calloc(n + 1, sizeof *f->link);
    f->used = malloc(n * sizeof *f->used);
    f->dirty = malloc(n * sizeof *f->dirty);
    if (!f->capacity || !f->policy || !f->link_memory || !f->used || !f->dirty) {
        fair_free(f);
        return NULL;
    }
    memcpy(f->capacity, capacity_bytes_per_s, (size_t)n_links * sizeof *f->capacity);
    memcpy(f->policy, policy, (size_t)n_links * sizeof *f->policy);
    f->link = (fair_link *)(((uintptr_t)f->link_memory + line - 1) / line * line);
    return f;
}

void fair_free(fair *f)
{
    if (!f)
        return;
    free(f->capacity);
    free(f->policy);
    free(f->link_memory);
    free(f->used);
    free(f->flow_memory);
    free(f->element);
    free(f->free_block);
    free(f->fresh);
    free(f->dirty);
    free(f->changed);
    free(f->share_before);
    free(f->scratch);
    fair_queue_free(&f->queue);
    fair_full_close(f);
    free(f);
}

/* ---- adding and removing ---- */

enum { LINK_BITS = 0x3FFFFFFF };        /* bits of fair_element.link */
enum { ELEMENTS_MAX = (1 << 30) - 256 }; /* so many, doubled, are an int */

/* `array` is the address of a pointer of any object type, so the pointer is copied as bytes. */
static bool grow(void *array, size_t room, size_t size)
{
    void *old, *new;
    memcpy(&old, array, sizeof old);
    new = realloc(old, room * size);
    if (!new)
        return false;
    memcpy(array, &new, sizeof new);
    return true;
}

static int new_block(fair *f, int n)
{
    if (n < f->n_free_block && f->free_block[n] >= 0) {
        const int first = f->free_block[n];
        f->free_block[n] = f->element[first].next;
        return first;
    }
    if (n > ELEMENTS_MAX - f->n_elements)
        return FAIR_NONE;
    if (n >= f->n_free_block) {
        if (!grow(&f->free_block, (size_t)n + 16, sizeof *f->free_block))
            return FAIR_NONE;
        while (f->n_free_block < n + 16)
            f->free_block[f->n_free_block++] = FAIR_NONE;
    }
    if (f->n_elements + n > f->element_room) {
        const int room = 2 * (f->n_elements + n) + 256;
        if (!grow(&f->element, (size_t)room, sizeof *f->element))
            return FAIR_NONE;
        f->element_room = room;
    }
    f->n_elements += n;
    return f->n_elements - n;
}

static int new_flow(fair *f)
{
    if (f->free_flow >= 0) {
        const int flow = f->free_flow;
        f->free_flow = f->flow[flow].first;
        return flow;
    }
    if (f->n_flows == f->flow_room) {
        if (f->flow_room > INT32_MAX / 2)
            return FAIR_NONE;
        const int room = f->flow_room ? 2 * f->flow_room : 256;
        const size_t used = (size_t)f->n_flows * sizeof *f->flow, bytes = (size_t)room * sizeof *f->flow;
        fair_flow *lines = cache_lines_grow(&f->flow_memory, f->flow, used, bytes);
        if (!lines)
            return FAIR_NONE;
        f->flow = lines;
        if (!grow(&f->fresh, (size_t)room, sizeof *f->fresh) || !grow(&f->scratch, (size_t)room, sizeof *f->scratch)
            || !grow(&f->changed, (size_t)room, sizeof *f->changed)
            || !grow(&f->share_before, (size_t)room, sizeof *f->share_before))
            return FAIR_NONE;
        f->flow_room = room;
    }
    f->flow[f->n_flows].n = FAIR_FREE;
    return f->n_flows++;
}

static void free_flow(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    if (g->n > 0) {
        f->element[g->first].next = f->free_block[g->n];
        f->free_block[g->n] = g->first;
    }
    g->n = FAIR_FREE;
    g->first = f->free_flow;
    f->free_flow = flow;
}

static void make_fresh(fair *f, int flow)
{
    f->flow[flow].fresh = f->n_fresh;
    f->fresh[f->n_fresh++] = flow;
}

static void arrive(fair *f, int flow)
{
    const fair_flow *g = &f->flow[flow];
    for (int e = g->first; e < g->first + g->n; e++)
        link_arrive(f, &f->link[f->element[e].link], e);
}

/* Most links of a large machine are never used: they cost no memory until then. */
static void use_link(fair *f, int link)
{
    fair_link *k = &f->link[link];
    if (k->is_used)
        return;
    k->is_used = true;
    f->used[f->n_used++] = link;
    k->capacity = f->capacity[link];
    k->policy = f->policy[link];
    k->level = k->lowest_level_here = k->key = INFINITY;
    k->bottlenecked_here = k->bottlenecked_elsewhere = k->unconstrained = FAIR_NONE;
    k->is_uncontended = k->policy == FAIR_SHARED;
}

int fair_add(fair *f, double penalty, double bound_bytes_per_s, int n, const int *link, const double *coefficient, int owner)
{
    int used = 0;
    if (!(penalty > 0) || n < 0)
        return -2;
    for (int i = 0; i < n; i++) {
        if (link[i] < 0 || link[i] >= f->n_links || link[i] > LINK_BITS)
            return -2;
        use_link(f, link[i]);
        used += coefficient[i] > 0 && f->link[link[i]].capacity > 0;
    }
    const int flow = new_flow(f);
    if (flow < 0)
        return -1;
    fair_flow *g = &f->flow[flow];
    const int first = new_block(f, used);
    if (first < 0) {
        free_flow(f, flow);
        return -1;
    }
    *g = (fair_flow){.penalty = penalty, .bound = bound_bytes_per_s, .level = 0, .share = NAN, .first = first, .n = used,
                     .owner = owner, .place = FAIR_NONE, .fresh = FAIR_NONE};
    g->bound_level = bound_bytes_per_s > 0 ? bound_bytes_per_s * penalty : INFINITY;
    fair_element *at = &f->element[first];
    for (int i = 0; i < n; i++) {
        if (!(coefficient[i] > 0 && f->link[link[i]].capacity > 0))
            continue;
        at->coefficient = coefficient[i];
        at->use = coefficient[i] / penalty;
        at->flow = flow;
        at->link = (uint32_t)link[i] & LINK_BITS;
        at++;
    }
    make_fresh(f, flow);
    arrive(f, flow);
    return flow;
}

/* Takes a fresh flow from its links, and from the fresh ones. */
static void leave_fresh(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_unconstrained)
            list_remove(f, &k->unconstrained, e);
        else
            k->n_fresh--;
        link_leave(k, link_demand(g, &f->element[e]));
    }
    const int last = f->fresh[--f->n_fresh];
    f->fresh[g->fresh] = last;
    f->flow[last].fresh = g->fresh;
}

/* Takes a flow from its links, and from the fresh ones if it is one of them. */
static void leave(fair *f, int flow)
{
    const fair_flow *g = &f->flow[flow];
    if (g->fresh >= 0) {
        leave_fresh(f, flow);
        return;
    }
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_unconstrained)
            list_remove(f, &k->unconstrained, e);
        else if (f->element[e].is_bottlenecked_here)
            link_remove_bottlenecked_here(f, k, e);
        else
            link_remove_bottlenecked_elsewhere(f, k, e, g->share);
        if (k->bottlenecked_here >= 0 || f->needs_full_solve)
            link_mark_dirty(f, k);
        link_leave(k, link_demand(g, &f->element[e]));
    }
}

void fair_remove(fair *f, int flow)
{
    leave(f, flow);
    free_flow(f, flow);
}

void fair_change(fair *f, int flow, double penalty, double bound_bytes_per_s)
{
    fair_flow *g = &f->flow[flow];
    leave(f, flow);
    g->penalty = penalty;
    g->bound = bound_bytes_per_s;
    g->bound_level = bound_bytes_per_s > 0 ? bound_bytes_per_s * penalty : INFINITY;
    for (int e = g->first; e < g->first + g->n; e++)
        f->element[e].use = f->element[e].coefficient / penalty;
    make_fresh(f, flow);
    arrive(f, flow);
}

/* Adds the flows of a list to the n in f->scratch. */
static int list_flows(fair *f, int head, int n)
{
    for (int e = head; e >= 0; e = f->element[e].next)
        if (f->flow[f->element[e].flow].fresh < 0)
            f->scratch[n++] = f->element[e].flow;
    return n;
}

void fair_set_capacity(fair *f, int link, double capacity_bytes_per_s)
{
    use_link(f, link);
    fair_link *k = &f->link[link];
    int n = list_flows(f, k->bottlenecked_here, 0);
    n = list_flows(f, k->bottlenecked_elsewhere, n);
    n = list_flows(f, k->unconstrained, n);
    for (int i = 0; i < n; i++)
        leave(f, f->scratch[i]);
    k->capacity = capacity_bytes_per_s;
    if (k->is_uncontended && !(k->demand.hi + k->demand.lo <= k->capacity)) /* demand of its fresh flows */
        link_become_contended(f, k);
    for (int i = 0; i < n; i++) {
        make_fresh(f, f->scratch[i]);
        arrive(f, f->scratch[i]);
    }
}

int fair_solve(fair *f)
{
    if (!f->is_solving) {
        f->is_solving = true;
        f->n_changed = 0;
        f->is_filled = false;
        f->is_whole = !f->needs_full_solve;
        if (!f->needs_full_solve)
            fair_fill_begin(f);
    }
    if (!f->needs_full_solve && !fair_fill(f))
        return FAIR_NOT_YET;
    if (!f->is_filled) {
        f->needs_full_solve = true;
        const int state = fair_full(f, f->is_whole);
        if (state < 0)
            return state;
    }
    f->is_solving = false;
    int n = 0;
    for (int i = 0; i < f->n_changed; i++) {
        fair_flow *g = &f->flow[f->changed[i]];
        g->is_in_changed = false;
        if (g->share != f->share_before[i]) /* NaN for a fresh flow, which differs from any share */
            f->changed[n++] = f->changed[i];
    }
    f->n_changed = n;
#ifdef SMPY_CHECK
    fair_check(f);
#endif
    return n;
}

const int *fair_changed(const fair *f)
{
    return f->changed;
}

double fair_share_bytes_per_s(const fair *f, int flow)
{
    return f->flow[flow].share;
}

int fair_owner(const fair *f, int flow)
{
    return f->flow[flow].owner;
}

int fair_n_links(const fair *f, int flow)
{
    return f->flow[flow].n;
}

int fair_link_at(const fair *f, int flow, int i)
{
    return (int)f->element[f->flow[flow].first + i].link;
}

double fair_coefficient_at(const fair *f, int flow, int i)
{
    return f->element[f->flow[flow].first + i].coefficient;
}

/* Load of a link with room for all its flows: the sum of their shares. */
static double load_of_unconstrained(const fair *f, const fair_link *k)
{
    double load = 0;
    for (int e = k->unconstrained; e >= 0; e = f->element[e].next)
        load += f->element[e].coefficient * f->flow[f->element[e].flow].share;
    return load;
}

static double full_load(const fair_link *k)
{
    return k->capacity * (1 - FAIR_PRECISION);
}

int fair_has_room(const fair *f, int link)
{
    const fair_link *k = &f->link[link];
    return k->is_uncontended && k->demand.hi < full_load(k);
}

int fair_is_saturated(const fair *f, int link)
{
    const fair_link *k = &f->link[link];
    const double full = full_load(k);
    if (k->bottlenecked_here >= 0) return 1;
    if (!k->is_uncontended) return k->load.hi >= full;
    return k->demand.hi >= full && load_of_unconstrained(f, k) >= full;
}
