/* fair_full.c -- the solve that fair_fill.c falls back to: fills from zero, then builds all lists and sums anew.
 *
 * It looks at a part of the network: the changed flows and links, and whatever flows over links connect to them; or at all of it,
 * when fair_fill has given up and its lists mean nothing any more. The other parts keep their shares, because nothing in them
 * has changed since they were filled themselves. */
#include "basics/sort.h"
#include "solver/fair_link.h"
#include <stdlib.h>

/* Adds a flow to the part, and its links. The links of the part are those marked dirty. */
static void gather_flow(fair *f, int flow, int *n)
{
    fair_flow *g = &f->flow[flow];
    if (g->place >= 0)
        return;
    g->place = *n;
    f->scratch[(*n)++] = flow;
    for (int e = g->first; e < g->first + g->n; e++)
        link_mark_dirty(f, &f->link[f->element[e].link]);
}

static void gather_list(fair *f, int head, int *n)
{
    for (int e = head; e >= 0; e = f->element[e].next)
        gather_flow(f, f->element[e].flow, n);
}

/* Returns the number of flows, which are in f->scratch. */
static int gather(fair *f, bool is_whole)
{
    int n = 0;
    for (int i = 0; is_whole && i < f->n_used; i++)
        link_mark_dirty(f, &f->link[f->used[i]]);
    for (int flow = 0; is_whole && flow < f->n_flows; flow++)
        if (f->flow[flow].n != FAIR_FREE)
            gather_flow(f, flow, &n);
    for (int i = 0; i < f->n_fresh; i++)
        gather_flow(f, f->fresh[i], &n);
    for (int i = 0; !is_whole && i < f->n_dirty; i++) { /* grows on the way */
        const fair_link *k = &f->link[f->dirty[i]];
        gather_list(f, k->bottlenecked_here, &n);
        gather_list(f, k->bottlenecked_elsewhere, &n);
        gather_list(f, k->unconstrained, &n);
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Sorted, so that the answer does not depend on the order of changes. */
static bool fill_in(fair *f, fair_filling *s, int n_flows)
{
    const size_t n = (size_t)n_flows + 1, n_links = (size_t)f->n_dirty + 1;
    size_t n_elements = 1;
    for (int i = 0; i < n_flows; i++)
        n_elements += (size_t)f->flow[f->scratch[i]].n;
    s->f = f;
    s->n_flows = n_flows;
    s->n_links = f->n_dirty;
    s->flow = calloc(n, sizeof *s->flow);
    s->link = calloc(n_links, sizeof *s->link);
    s->element = malloc(n_elements * sizeof *s->element);
    s->next = malloc(n * sizeof *s->next);
    s->saturated = malloc(n_links * sizeof *s->saturated);
    if (!s->flow || !s->link || !s->element || !s->next || !s->saturated)
        return false;
    sort_nearly(f->scratch, n_flows, sizeof *f->scratch, compare);
    sort_nearly(f->dirty, f->n_dirty, sizeof *f->dirty, compare);
    for (int i = 0; i < n_flows; i++) {
        f->flow[f->scratch[i]].place = i;
        s->flow[i] = (fair_filling_flow){.number = f->scratch[i], .bottleneck = FAIR_NONE};
    }
    for (int i = 0; i < f->n_dirty; i++) {
        f->link[f->dirty[i]].place = i;
        s->link[i].number = f->dirty[i];
    }
    fair_filling_open(s);
    return true;
}

bool fair_full_open(fair *f, bool is_whole)
{
    const int n_flows = gather(f, is_whole);
    f->filling = calloc(1, sizeof *f->filling);
    if (f->filling && fill_in(f, f->filling, n_flows))
        return true;
    for (int i = 0; i < n_flows; i++)
        f->flow[f->scratch[i]].place = FAIR_NONE;
    if (f->filling)
        f->filling->n_flows = 0;
    fair_full_close(f);
    return false;
}

void fair_full_close(fair *f)
{
    fair_filling *s = f->filling;
    if (!s)
        return;
    for (int i = 0; i < s->n_flows; i++)
        f->flow[s->flow[i].number].place = FAIR_NONE;
    free(s->flow);
    free(s->link);
    free(s->element);
    free(s->next);
    free(s->saturated);
    fair_queue_free(&s->queue);
    free(s);
    f->filling = NULL;
}

/* Puts a flow on the lists of its links. */
static void enter(fair *f, int flow, int bottleneck)
{
    const fair_flow *g = &f->flow[flow];
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        f->element[e].is_unconstrained = 0;
        if ((int)f->element[e].link == bottleneck || link_is_saturated_by(k, f->element[e].use, g->level)) {
            link_add_bottlenecked_here(f, k, e);
            k->level = g->level;
        } else
            link_add_bottlenecked_elsewhere(f, k, e, g->level, g->share);
    }
}

static void take_over(fair *f)
{
    const fair_filling *s = f->filling;
    for (int i = 0; i < s->n_links; i++) {
        fair_link *k = &f->link[s->link[i].number];
        f->n_beyond_repair -= k->is_beyond_repair;
        *k = (fair_link){.capacity = k->capacity, .policy = k->policy, .demand = k->demand, .level = INFINITY,
                         .lowest_level_here = INFINITY, .key = INFINITY, .bottlenecked_here = FAIR_NONE,
                         .bottlenecked_elsewhere = FAIR_NONE, .unconstrained = FAIR_NONE, .is_used = true,
                         .is_beyond_repair = fair_filling_is_beyond_repair(s, i)};
        f->n_beyond_repair += k->is_beyond_repair;
    }
    for (int i = 0; i < s->n_flows; i++) {
        const fair_filling_flow *answer = &s->flow[i];
        fair_flow *g = &f->flow[answer->number];
        fair_note_change(f, answer->number);
        g->fresh = FAIR_NONE;
        g->is_rising = false;
        g->share = answer->share;
        g->level = answer->level;
        enter(f, answer->number, answer->bottleneck);
    }
    for (int i = 0; i < s->n_links; i++) {
        fair_link *k = &f->link[s->link[i].number];
        k->is_uncontended = k->policy == FAIR_SHARED && k->bottlenecked_here < 0 && k->bottlenecked_elsewhere < 0;
    }
    f->needs_full_solve = f->n_beyond_repair > 0;
    f->n_fresh = f->n_dirty = f->n_queued = f->queue.n = 0;
    f->is_out_of_memory = false;
}

int fair_full(fair *f, bool is_whole)
{
    if (!f->filling && !fair_full_open(f, is_whole))
        return -1;
    if (!fair_filling_run(f->filling))
        return FAIR_NOT_YET;
    const bool is_out_of_memory = f->filling->is_out_of_memory;
    if (!is_out_of_memory)
        take_over(f);
    fair_full_close(f);
    return is_out_of_memory ? -1 : 0;
}
