#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "world.h"

/* The loop: turns at one date, then the next date. */

const double SAME_DATE_S = 1e-9; /* sleeps, executions and latencies that end this close to an event end with it */

/* Transfers end together only when rounding alone keeps them apart. */
static double rounding_s(double now_s)
{
    return 1e-12 + 4e-16 * now_s;
}

/* ---- dates ---- */

static due due_of(const sim *s, const heap_item *it, int what)
{
    due d = {.what = what, .id = it->id, .is_network = what == DUE_LATENCY || what == DUE_TRANSFER, .order = it->order};
    if (d.is_network) return d;
    const timeline *t = what == DUE_TIMELINE ? &s->line[it->id] : NULL;
    const processor *h = &s->host[t ? t->host : it->id];
    int is_sleep = t && !t->is_computing;
    d.date_s = it->date_s;
    d.epoch = is_sleep ? t->began_at_date : h->touched;
    d.place = is_sleep ? -1 : h->mark;
    d.order = -it->order;
    return d;
}

/* Takes what ends before `limit_s` from a heap. */
static int add_due(sim *s, heap *from, double limit_s, int what)
{
    while (from->n && from->item[0].date_s < limit_s) {
        if (s->n_due == s->due_room) {
            int room = s->due_room ? 2 * s->due_room : 64;
            due *grown = realloc(s->due, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            s->due = grown;
            s->due_room = room;
        }
        s->due[s->n_due++] = due_of(s, &from->item[0], what);
        heap_pop(from);
    }
    return 0;
}

static int in_order(const void *a, const void *b)
{
    const due *x = a, *y = b;
    if (x->is_network != y->is_network) return x->is_network ? 1 : -1;
    if (x->date_s != y->date_s) return x->date_s < y->date_s ? -1 : 1;
    if (x->epoch != y->epoch) return x->epoch < y->epoch ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_due(sim *s)
{
    for (int i = 1; i < s->n_due; i++) {
        if (in_order(&s->due[i - 1], &s->due[i]) > 0) {
            qsort(s->due, (size_t)s->n_due, sizeof *s->due, in_order);
            return;
        }
    }
}

static void fire(sim *s, const due *d)
{
    int line;
    s->stats.events++;
    switch (d->what) {
    case DUE_TIMELINE: timeline_woken(s, d->id); break;
    case DUE_HOST:
        while ((line = cpu_ended(s, d->id)) >= 0) timeline_woken(s, line);
        break;
    case DUE_LATENCY: flow_latency_ended(s, d->id); break;
    case DUE_TRANSFER: flow_ended(s, d->id); break;
    }
}

static double first_date_s(const sim *s)
{
    const heap *all[] = {&s->sleeps, &s->cores, &s->latencies, &s->transfers};
    double date_s = INFINITY;
    for (int i = 0; i < 4; i++)
        if (all[i]->n && all[i]->item[0].date_s < date_s) date_s = all[i]->item[0].date_s;
    return date_s;
}

/* Goes to the next date and fires what is due: 1, 0 when nothing will ever happen, or an error. */
static int advance(sim *s)
{
    if (s->shares_are_old) {
        int error = flow_update(s);
        if (error < 0) return error;
    }
    if (s->n_live_flows == 0 && s->n_timed == s->n_probing && s->n_informed == s->n_probing) return 0;
    double date_s = first_date_s(s);
    if (isinf(date_s)) return 0;
    if (date_s > s->now_s) s->now_s = date_s;
    s->n_due = 0;
    s->date_order = s->order;
    double exact_s = nextafter(s->now_s + rounding_s(s->now_s), INFINITY);
    double same_s = fmax(s->now_s + SAME_DATE_S, nextafter(s->now_s, INFINITY)); /* after months a date is coarser than 1e-9 s */
    if (add_due(s, &s->sleeps, same_s, DUE_TIMELINE) < 0 || add_due(s, &s->cores, same_s, DUE_HOST) < 0 ||
        add_due(s, &s->latencies, same_s, DUE_LATENCY) < 0 || add_due(s, &s->transfers, exact_s, DUE_TRANSFER) < 0)
        return SIM_OUT_OF_MEMORY;
    sort_due(s);
    for (int i = 0; i < s->n_due; i++) fire(s, &s->due[i]);
    s->effort += (unsigned)s->n_due;
    return 1;
}

static int needs_air(sim *s)
{
    struct timespec t;
    if (s->is_interrupted) {
        s->is_interrupted = 0;
        return 1;
    }
    if (++s->effort < 256) return 0;
    s->effort = 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double date_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (date_s - s->aired_s < 0.05) return 0;
    s->aired_s = date_s;
    return 1;
}

static int broken(sim *s, int error)
{
    s->error = error;
    return SIM_BROKEN;
}

int sim_next(sim *s)
{
    s->running = -1;
    for (;;) {
        while (s->at_turn < s->n_turn) {
            if (s->is_stopped) return SIM_STOPPED;
            if (s->error) return SIM_BROKEN;
            if (needs_air(s)) return SIM_AIR;
            int line = s->turn[s->at_turn];
            timeline *t = &s->line[line];
            if (!t->n) {
                t->tail_s = s->now_s;
                return s->running = line;
            }
            int result = perform(s, line);
            if (result < 0) return broken(s, result);
            if (result == FREE_OF_CHARGE) continue;
            s->at_turn++;
            if (result == MADE_A_CALL) s->next_turn[s->n_next_turn++] = line;
        }
        if (s->is_stopped) return SIM_STOPPED;
        if (s->n_next_turn) {
            int *turn = s->turn;
            s->turn = s->next_turn;
            s->next_turn = turn;
            s->n_turn = s->n_next_turn;
            s->at_turn = s->n_next_turn = 0;
            continue;
        }
        s->at_turn = s->n_turn = 0;
        if (s->n_ended == s->n_ranks) return SIM_DONE;
        if (needs_air(s)) return SIM_AIR;
        int happened = advance(s);
        if (happened < 0) return broken(s, happened);
        if (!happened) return SIM_STUCK;
    }
}

void sim_interrupt(sim *s)
{
    s->is_interrupted = 1;
}
