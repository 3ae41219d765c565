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

enum { LOOK_AT_CLOCK = 256 }; /* after so much effort */

/* ---- dates ---- */

static due due_of(const sim *s, const heap_item *it, int is_host)
{
    const timeline *t = is_host ? NULL : &s->line[it->id];
    const processor *h = &s->host[t ? t->host : it->id];
    int is_sleep = t && !t->is_computing;
    return (due){.is_host = is_host, .id = it->id, .date_s = it->date_s, .epoch = is_sleep ? t->began_at_date : h->touched,
                 .place = is_sleep ? -1 : h->mark, .order = -it->order};
}

/* Takes what ends before `limit_s` from a heap. */
static int add_due(sim *s, heap *from, double limit_s, int is_host)
{
    while (from->n && from->item[0].date_s < limit_s) {
        if (s->n_due == s->due_room) {
            int room = s->due_room ? 2 * s->due_room : 64;
            due *grown = realloc(s->due, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            s->due = grown;
            s->due_room = room;
        }
        s->due[s->n_due++] = due_of(s, &from->item[0], is_host);
        heap_pop(from);
    }
    return 0;
}

static int add_flow_due(sim *s, const heap_item *it, int is_latency)
{
    if (s->n_flows_due == s->flows_due_room) {
        int room = s->flows_due_room ? 2 * s->flows_due_room : 64;
        flow_due *grown = realloc(s->flow_due, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->flow_due = grown;
        s->flows_due_room = room;
    }
    s->flow_due[s->n_flows_due++] = (flow_due){it->order, it->id, is_latency};
    return 0;
}

static int add_latencies_due(sim *s, double limit_s)
{
    const heap_item *it;
    while ((it = lanes_first(&s->latencies)) && it->date_s < limit_s) {
        if (add_flow_due(s, it, 1) < 0) return SIM_OUT_OF_MEMORY;
        lanes_pop(&s->latencies);
    }
    return 0;
}

static int add_transfers_due(sim *s, double limit_s)
{
    while (s->transfers.n && s->transfers.item[0].date_s < limit_s) {
        if (add_flow_due(s, &s->transfers.item[0], 0) < 0) return SIM_OUT_OF_MEMORY;
        heap_pop(&s->transfers);
    }
    return 0;
}

static int in_order(const void *a, const void *b)
{
    const due *x = a, *y = b;
    if (x->date_s != y->date_s) return x->date_s < y->date_s ? -1 : 1;
    if (x->epoch != y->epoch) return x->epoch < y->epoch ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int in_order_of_creation(const void *a, const void *b)
{
    const flow_due *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
    char *at = array;
    for (int i = 1; i < n; i++) {
        if (compare(at + (size_t)(i - 1) * size, at + (size_t)i * size) <= 0) continue;
        qsort(array, (size_t)n, size, compare);
        return;
    }
}

static void fire(sim *s)
{
    for (int i = 0; i < s->n_due; i++) {
        const due *d = &s->due[i];
        int line;
        if (!d->is_host) timeline_woken(s, d->id);
        while (d->is_host && (line = cpu_ended(s, d->id)) >= 0) timeline_woken(s, line);
    }
    for (int i = 0; i < s->n_flows_due; i++) {
        if (s->flow_due[i].is_latency)
            flow_latency_ended(s, s->flow_due[i].id);
        else
            flow_ended(s, s->flow_due[i].id);
    }
}

static double first_date_s(const sim *s)
{
    const heap *all[] = {&s->sleeps, &s->cores, &s->transfers};
    const heap_item *latency = lanes_first(&s->latencies);
    double date_s = latency ? latency->date_s : INFINITY;
    for (int i = 0; i < 3; i++)
        if (all[i]->n && all[i]->item[0].date_s < date_s) date_s = all[i]->item[0].date_s;
    return date_s;
}

/* Goes to the next date and fires what is due, or some way towards it: 1, 0 when nothing will ever happen, or an error. */
static int advance(sim *s)
{
    if (s->shares_are_old) {
        int error = flow_update(s);
        if (error > 0) s->effort += LOOK_AT_CLOCK;
        if (error) return error;
    }
    if (s->n_live_flows == 0 && s->n_timed == s->n_probing && s->n_probes_up_to_date == s->n_probing) return 0;
    double date_s = first_date_s(s);
    if (isinf(date_s)) return 0;
    if (date_s > s->now_s) s->now_s = date_s;
    s->n_due = s->n_flows_due = 0;
    s->date_order = s->order;
    double exact_s = nextafter(s->now_s + rounding_s(s->now_s), INFINITY);
    double same_s = fmax(s->now_s + SAME_DATE_S, nextafter(s->now_s, INFINITY)); /* after months a date is coarser than 1e-9 s */
    if (add_due(s, &s->sleeps, same_s, 0) < 0 || add_due(s, &s->cores, same_s, 1) < 0 ||
        add_latencies_due(s, same_s) < 0 || add_transfers_due(s, exact_s) < 0)
        return SIM_OUT_OF_MEMORY;
    sort(s->due, s->n_due, sizeof *s->due, in_order);
    sort(s->flow_due, s->n_flows_due, sizeof *s->flow_due, in_order_of_creation);
    s->stats.events += s->n_due + s->n_flows_due;
    s->effort += (unsigned)(s->n_due + s->n_flows_due);
    fire(s);
    return 1;
}

static int must_yield(sim *s)
{
    struct timespec t;
    if (s->is_interrupted) {
        s->is_interrupted = 0;
        return 1;
    }
    if (++s->effort < LOOK_AT_CLOCK) return 0;
    s->effort = 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double date_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (date_s - s->yielded_s < 0.05) return 0;
    s->yielded_s = date_s;
    return 1;
}

static int broken(sim *s, int error)
{
    keep_error(s, error);
    return SIM_BROKEN;
}

int sim_next(sim *s)
{
    s->running = -1;
    for (;;) {
        while (s->at_turn < s->n_turn) {
            if (s->error) return SIM_BROKEN;
            if (s->is_stopped) return SIM_STOPPED;
            if (must_yield(s)) return SIM_YIELD;
            int line = s->turn[s->at_turn];
            timeline *t = &s->line[line];
            if (!t->n) {
                t->tail_s = t->earliest_tail_s = s->now_s;
                return s->running = line;
            }
            int result = perform(s, line);
            if (result < 0) return broken(s, result);
            if (result == FREE_OF_CHARGE) continue;
            s->at_turn++;
            if (result == MADE_A_CALL) s->next_turn[s->n_next_turn++] = line;
        }
        if (s->error) return SIM_BROKEN;
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
        if (must_yield(s)) return SIM_YIELD;
        int happened = advance(s);
        if (happened < 0) return broken(s, happened);
        if (s->error) return SIM_BROKEN;
        if (!happened) return SIM_STUCK;
    }
}

void sim_interrupt(sim *s)
{
    s->is_interrupted = 1;
}
