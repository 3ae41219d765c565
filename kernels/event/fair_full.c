/* fair_full.c -- weighted max-min fair shares by progressive filling from zero: the solve that fair_fill.c falls back to, and
 * must agree with.
 *
 * It fills as SimGrid does, with SimGrid's tolerances. A flow is fixed once its share is known.
 *   1. The saturation level of a link is what remains of its capacity, divided by the use (the sum of coefficient / penalty,
 *      FATPIPE: the largest) of its flows that are not fixed.
 *   2. The links of the lowest saturation level are saturated. Their flows that are not fixed are the candidates.
 *   3. If a candidate's bound level is below that level, the candidates of the lowest bound level get their bounds; otherwise all
 *      get level / penalty. These flows are fixed.
 *   4. The links of the fixed flows are charged. A link is left out when at most FAIR_PRECISION of its capacity remains, or its
 *      use is at most FAIR_PRECISION. Go on with 2.
 * A flow all of whose links were left out has the share 0. */
#include "fair_link.h"
#include <stdlib.h>

typedef struct {
    fair_sum spent, use;
    double level;            /* saturation level; INFINITY: has no flow to fix, or is left out */
    double rounding_error;   /* bound of the error of `spent`, in units of 2^-53 bytes/s */
    int n_unfixed;
    int first, end;          /* its elements in filling.element */
    bool is_queued;          /* with this level */
    bool is_left_out;        /* with flows that are not fixed */
} filling_link;

typedef struct {
    const fair *f;
    fair_answer *a;
    filling_link *link;
    int *element;            /* sorted by link */
    bool *is_fixed;          /* [flow] */
    int *next;               /* the candidates, then those of them that are fixed in this round */
    int *seen;               /* [flow]: last round in which it was a candidate */
    int *saturated;          /* links */
    fair_queue queue;
    bool is_complete;        /* false: the queue could not grow */
} filling;

bool fair_answer_new(fair_answer *a, int n_flows)
{
    const size_t n = (size_t)n_flows + 1;
    a->share = calloc(n, sizeof *a->share);
    a->level = calloc(n, sizeof *a->level);
    a->rounding_error = calloc(n, sizeof *a->rounding_error);
    a->bottleneck = malloc(n * sizeof *a->bottleneck);
    a->needs_full_solve = a->is_ambiguous = false;
    if (a->share && a->level && a->rounding_error && a->bottleneck)
        return true;
    fair_answer_free(a);
    return false;
}

void fair_answer_free(fair_answer *a)
{
    free(a->share);
    free(a->level);
    free(a->rounding_error);
    free(a->bottleneck);
}

static bool is_shared(const filling *s, int link)
{
    return s->f->link[link].policy == FAIR_SHARED;
}

static double left(const filling *s, int link)
{
    return fair_sum_left(s->f->link[link].capacity, &s->link[link].spent);
}

static void add_use(const filling *s, int link, double use)
{
    filling_link *k = &s->link[link];
    if (is_shared(s, link))
        fair_sum_add(&k->use, use);
    else
        k->use.hi = fmax(k->use.hi, use);
}

static void find_largest_use(const filling *s, int link)
{
    filling_link *k = &s->link[link];
    k->use.hi = 0;
    for (int i = k->first; i < k->end; i++)
        if (!s->is_fixed[s->f->element[s->element[i]].flow])
            k->use.hi = fmax(k->use.hi, s->f->element[s->element[i]].use);
}

static void queue_link(filling *s, int link)
{
    filling_link *k = &s->link[link];
    const double level = left(s, link) / (k->use.hi + k->use.lo);
    if (k->is_queued && k->level == level)
        return;
    k->level = level;
    k->is_queued = true;
    s->is_complete &= fair_queue_push(&s->queue, k->level, link);
}

/* Step 1; sorts the elements by link. */
static void open_filling(filling *s)
{
    const fair *f = s->f;
    int n = 0;
    for (int flow = 0; flow < f->n_flows; flow++)
        for (int i = 0; i < f->flow[flow].n; i++)
            s->link[f->element[f->flow[flow].first + i].link].n_unfixed++;
    for (int l = 0; l < f->n_links; l++) {
        s->link[l].first = s->link[l].end = n;
        n += s->link[l].n_unfixed;
        s->link[l].level = INFINITY;
    }
    for (int flow = 0; flow < f->n_flows; flow++)
        for (int e = f->flow[flow].first; e < f->flow[flow].first + f->flow[flow].n; e++) {
            const int link = (int)f->element[e].link;
            s->element[s->link[link].end++] = e;
            add_use(s, link, f->element[e].use);
        }
    for (int l = 0; l < f->n_links; l++)
        if (s->link[l].n_unfixed > 0)
            queue_link(s, l);
}

/* Step 2: fills `next` and `saturated`. Returns the number of candidates. */
static int saturate(filling *s, double level, int round, int *n_saturated)
{
    int n = 0;
    *n_saturated = 0;
    while (s->queue.n && s->queue.entry[0].key == level) {
        const int link = s->queue.entry[0].link;
        filling_link *k = &s->link[link];
        fair_queue_pop(&s->queue);
        if (k->level != level || !k->is_queued)
            continue;
        k->is_queued = false;
        s->saturated[(*n_saturated)++] = link;
        for (int i = k->first; i < k->end; i++) {
            const int flow = s->f->element[s->element[i]].flow;
            if (s->is_fixed[flow] || s->seen[flow] == round)
                continue;
            s->seen[flow] = round;
            s->a->bottleneck[flow] = link;
            s->next[n++] = flow;
        }
    }
    return n;
}

/* Step 4 for one flow: charges its links. */
static void charge(filling *s, int flow)
{
    const fair *f = s->f;
    s->is_fixed[flow] = true;
    for (int e = f->flow[flow].first; e < f->flow[flow].first + f->flow[flow].n; e++) {
        const fair_element *at = &f->element[e];
        const int link = (int)at->link;
        filling_link *k = &s->link[link];
        k->n_unfixed--;
        if (is_shared(s, link)) {
            const double spent = at->coefficient * s->a->share[flow];
            fair_sum_add(&k->spent, spent);
            fair_sum_add(&k->use, -at->use);
            k->rounding_error += spent * (1 + s->a->rounding_error[flow]);
        } else if (at->use == k->use.hi && k->level < INFINITY) {
            s->a->is_ambiguous |= s->a->bottleneck[flow] != link && k->level - s->a->level[flow] <= 1e-9 * k->level;
            find_largest_use(s, link);
        }
    }
}

/* Step 4 for a link, after all flows of the round: is it left out, or what is its saturation level now? */
static void update_link(filling *s, int link)
{
    filling_link *k = &s->link[link];
    if (k->level == INFINITY)
        return;
    if (k->use.hi + k->use.lo <= FAIR_PRECISION || left(s, link) <= FAIR_PRECISION * s->f->link[link].capacity) {
        k->is_left_out = k->n_unfixed > 0;
        k->level = INFINITY;
    } else if (k->n_unfixed == 0)
        k->level = INFINITY;
    else
        queue_link(s, link);
}

static void fix(filling *s, int flow, double level, bool is_at_bound)
{
    const fair_flow *g = &s->f->flow[flow];
    const int link = s->a->bottleneck[flow];
    if (is_at_bound) {
        s->a->bottleneck[flow] = FAIR_NONE;
        s->a->share[flow] = g->bound;
        s->a->level[flow] = g->bound_level;
    } else {
        s->a->share[flow] = level / g->penalty;
        s->a->level[flow] = level;
        s->a->rounding_error[flow] = 2 + (s->f->link[link].capacity + s->link[link].rounding_error) / left(s, link);
    }
}

static void run(filling *s)
{
    const fair *f = s->f;
    for (int round = 1; s->queue.n && s->is_complete; round++) {
        const double level = s->queue.entry[0].key;
        const filling_link *k = &s->link[s->queue.entry[0].link];
        if (k->level != level || !k->is_queued) {
            fair_queue_pop(&s->queue);
            continue;
        }
        int n_saturated, n_fixed = 0;
        const int n = saturate(s, level, round, &n_saturated);
        double lowest = level;
        for (int i = 0; i < n; i++)
            lowest = fmin(lowest, f->flow[s->next[i]].bound_level);
        for (int i = 0; i < n; i++) {
            const int flow = s->next[i];
            const bool is_at_bound = lowest < level;
            if (is_at_bound && !(fabs(f->flow[flow].bound_level - lowest) < FAIR_PRECISION))
                continue;
            fix(s, flow, level, is_at_bound);
            s->next[n_fixed++] = flow;
        }
        for (int i = 0; i < n_fixed; i++)
            charge(s, s->next[i]);
        for (int i = 0; i < n_saturated; i++)
            update_link(s, s->saturated[i]);
        for (int i = 0; i < n_fixed; i++)
            for (int j = 0; j < f->flow[s->next[i]].n; j++)
                update_link(s, (int)f->element[f->flow[s->next[i]].first + j].link);
    }
}

/* Has leaving out links changed the shares? If not, they are max-min fair. */
static bool needs_full_solve(const filling *s)
{
    for (int l = 0; l < s->f->n_links; l++)
        if (s->link[l].is_left_out
            && (s->link[l].n_unfixed > 0 || left(s, l) < -FAIR_ROUNDING * s->f->link[l].capacity || !is_shared(s, l)))
            return true;
    return false;
}

/* False: out of memory. */
bool fair_full(const fair *f, fair_answer *a)
{
    const size_t n_flows = (size_t)f->n_flows + 1, n_links = (size_t)f->n_links + 1;
    filling s = {.f = f, .a = a, .is_complete = true};
    s.link = calloc(n_links, sizeof *s.link);
    s.element = malloc(((size_t)f->n_elements + 1) * sizeof *s.element);
    s.is_fixed = calloc(n_flows, sizeof *s.is_fixed);
    s.next = malloc(n_flows * sizeof *s.next);
    s.seen = calloc(n_flows, sizeof *s.seen);
    s.saturated = malloc(n_links * sizeof *s.saturated);
    for (int flow = 0; flow < f->n_flows; flow++)
        a->bottleneck[flow] = FAIR_NONE;
    if (s.link && s.element && s.is_fixed && s.next && s.seen && s.saturated) {
        open_filling(&s);
        run(&s);
        a->needs_full_solve = needs_full_solve(&s);
    } else
        s.is_complete = false;
    free(s.link);
    free(s.element);
    free(s.is_fixed);
    free(s.next);
    free(s.seen);
    free(s.saturated);
    free(s.queue.entry);
    return s.is_complete;
}

/* Solves in full, and builds all lists and sums anew from the answer. False: out of memory; nothing has changed. */
bool fair_start_over(fair *f)
{
    fair_answer a;
    f->needs_full_solve = true;
    if (!fair_answer_new(&a, f->n_flows))
        return false;
    if (!fair_full(f, &a)) {
        fair_answer_free(&a);
        return false;
    }
    for (int l = 0; l < f->n_links; l++) {
        fair_link *k = &f->link[l];
        *k = (fair_link){.capacity = k->capacity, .policy = k->policy, .demand = k->demand, .level = INFINITY, .key = INFINITY,
                         .bottlenecked_here = FAIR_NONE, .bottlenecked_elsewhere = FAIR_NONE, .unconstrained = FAIR_NONE};
    }
    for (int flow = 0; flow < f->n_flows; flow++) {
        fair_flow *g = &f->flow[flow];
        if (g->n == FAIR_FREE)
            continue;
        fair_note_change(f, flow);
        g->fresh = FAIR_NONE;
        g->is_rising = false;
        g->share = a.share[flow];
        g->level = a.level[flow];
        for (int e = g->first; e < g->first + g->n; e++) {
            fair_link *k = &f->link[f->element[e].link];
            f->element[e].is_unconstrained = 0;
            if ((int)f->element[e].link == a.bottleneck[flow] || link_is_saturated_by(k, f->element[e].use, g->level)) {
                link_add_bottlenecked_here(f, k, e);
                k->level = g->level;
            } else
                link_add_bottlenecked_elsewhere(f, k, e, g->level, g->share);
        }
    }
    for (int l = 0; l < f->n_links; l++) {
        fair_link *k = &f->link[l];
        k->is_uncontended = k->policy == FAIR_SHARED && k->bottlenecked_here < 0 && k->bottlenecked_elsewhere < 0;
    }
    f->needs_full_solve = a.needs_full_solve;
    f->n_fresh = f->n_dirty = f->n_queued = f->queue.n = 0;
    f->is_out_of_memory = false;
    fair_answer_free(&a);
    return true;
}

