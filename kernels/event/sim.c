#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world.h"

/* The loop: turns at one date, then the next date. */

const double SAME_DATE_S = 1e-9; /* sleeps, executions and latencies that end this close to an event end with it */

/* Transfers end together only when rounding alone keeps them apart. */
static double rounding_s(double now_s)
{
    return 1e-12 + 4e-16 * now_s;
}

sim *sim_new(const platform *p, const model *m, int n_ranks, const int *host_of_rank)
{
    int n_hosts = platform_n_hosts(p);
    size_t n = (size_t)n_ranks;
    sim *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->machine = p;
    s->model = *m;
    s->n_ranks = n_ranks;
    s->running = -1;
    s->free_flow = -1;
    s->tests_in_a_row = s->test_anys_in_a_row = s->iprobes_in_a_row = 1;
    heap_init(&s->sleeps, 0);
    heap_init(&s->latencies, 0);
    heap_init(&s->cores, 1);
    heap_init(&s->transfers, 1);
    s->line = calloc(n, sizeof *s->line);
    s->turn = malloc(n * sizeof *s->turn);
    s->next_turn = malloc(n * sizeof *s->next_turn);
    s->finish_s = malloc(n * sizeof *s->finish_s);
    s->compute_s = calloc(n, sizeof *s->compute_s);
    s->host = calloc((size_t)n_hosts, sizeof *s->host);
    s->shares = fair_new(platform_n_links(p), platform_bandwidth_bytes_per_s(p), platform_policy(p));
    if (!s->cores.place || !s->transfers.place || !s->line || !s->turn || !s->next_turn || !s->finish_s || !s->compute_s || !s->host || !s->shares ||
        match_init(&s->match, n_ranks) < 0 || comm_tables_init(s) < 0) {
        sim_free(s);
        return NULL;
    }
    for (int h = 0; h < n_hosts; h++) {
        s->host[h].speed_flop_per_s = platform_speed_flop_per_s(p, h);
        s->host[h].cores = platform_cores(p, h);
        s->host[h].touched = -1;
    }
    for (int r = 0; r < n_ranks; r++) {
        s->line[r] = (timeline){.rank = r, .host = host_of_rank[r], .computing_since_s = NAN, .news = -1};
        s->host[host_of_rank[r]].n_ranks++;
        s->finish_s[r] = NAN;
        s->turn[r] = r;
    }
    s->n_turn = n_ranks;
    return s;
}

static void free_actions(timeline *t)
{
    for (int i = 0; i < t->n; i++) {
        action *a = &t->queue[(t->first + i) & (t->room - 1)];
        if (a->what == DO_WAIT_ALL || a->what == DO_WAIT_ANY || a->what == DO_TEST_ANY) free(a->with.list);
        if (a->what == DO_COLLECTIVE) free(a->with.show);
    }
    free(t->queue);
}

static void free_requests(slot_pool *pool)
{
    for (int id = pool->free; id; id = pool->at[id].next) pool->at[id].is.load.kind = PARCEL_NONE;
    for (int id = 1; id <= pool->n; id++)
        if (pool->at[id].is.load.kind == PARCEL_OWNED && !pool->at[id].is.is_done) free(pool->at[id].is.load.data);
    free(pool->at);
}

void sim_free(sim *s)
{
    if (!s) return;
    for (int r = 0; s->line && r < s->n_ranks; r++) free_actions(&s->line[r]);
    for (int h = 0; s->host && h < platform_n_hosts(s->machine); h++) heap_free(&s->host[h].running);
    for (int f = 0; f < s->flow_room; f++) {
        free(s->flow[f].link);
        free(s->flow[f].coefficient);
    }
    for (int i = 0; i < s->n_schedules; i++) schedule_free(s->schedule[i]);
    for (performance *p = s->free_show, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    sim_errands_done(s);
    free_requests(&s->requests);
    if (s->comm) comm_tables_free(s);
    match_free(&s->match);
    fair_free(s->shares);
    heap_free(&s->sleeps);
    heap_free(&s->cores);
    heap_free(&s->latencies);
    heap_free(&s->transfers);
    free(s->path.link);
    free(s->way_back.link);
    free(s->line);
    free(s->turn);
    free(s->next_turn);
    free(s->due);
    free(s->flow);
    free(s->host);
    free(s->schedule);
    free(s->errand);
    free(s->loose);
    free(s->note);
    free(s->finish_s);
    free(s->compute_s);
    free(s);
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

/* ---- asking ---- */

int sim_running(const sim *s)
{
    return s->running;
}

double sim_now_s(const sim *s)
{
    return s->now_s;
}

int64_t sim_answer(const sim *s, int rank)
{
    return s->line[rank].answer;
}

request *sim_request(sim *s, int id)
{
    return &s->requests.at[id].is;
}

void sim_release(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    if (x->is.is_done)
        slot_free(&s->requests, id);
    else
        x->is_released = 1;
}

const request *sim_probed(const sim *s, int rank)
{
    return &s->line[rank].probed;
}

int sim_notes(const sim *s, const int64_t **ids)
{
    *ids = s->note;
    return s->n_notes;
}

void sim_notes_done(sim *s)
{
    s->n_notes = 0;
}

int64_t sim_stop_id(const sim *s)
{
    return s->stop_id;
}

int sim_error(const sim *s)
{
    return s->error;
}

int sim_schedule_new(sim *s, int n_words, const int64_t *words)
{
    if (s->n_schedules == s->schedule_room) {
        int room = s->schedule_room ? 2 * s->schedule_room : 16;
        schedule **grown = realloc(s->schedule, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->schedule = grown;
        s->schedule_room = room;
    }
    schedule *made = schedule_new(n_words, words);
    if (!made) return SIM_BAD_SCHEDULE;
    s->schedule[s->n_schedules] = made;
    return s->n_schedules++;
}

void sim_statistics(const sim *s, statistics *out)
{
    *out = s->stats;
}

void sim_waiting(const sim *s, int rank, waiting *out)
{
    const timeline *t = &s->line[rank];
    *out = (waiting){0};
    if (t->state == ENDED) return;
    if (!t->n || t->state == ASLEEP || t->state == COMPUTING) {
        out->kind = WAIT_TIME;
        if (!t->n) return;
    }
    const action *a = &t->queue[t->first];
    const slot *x = a->what == DO_WAIT ? &s->requests.at[a->id] : NULL;
    for (int i = 0; !x && a->what == DO_WAIT_ALL && i < a->id; i++)
        if (a->with.list[i] > 0 && !s->requests.at[a->with.list[i]].is.is_done) x = &s->requests.at[a->with.list[i]];
    if (x) {
        *out = (waiting){x->is.is_send ? WAIT_SEND : WAIT_RECV, x->is.comm, x->is.peer, x->is.tag, x->is.bytes, t->n_pending};
    } else if (a->what == DO_WAIT_ANY) {
        *out = (waiting){.kind = WAIT_SEVERAL, .n_requests = t->n_pending};
    } else if (a->what == DO_PROBE) {
        *out = (waiting){WAIT_PROBE, t->probed.comm, t->probed.peer, t->probed.tag, 0, 0};
    } else if (a->what == DO_COLLECTIVE) {
        *out = (waiting){.kind = WAIT_COLLECTIVE, .comm = a->with.show->comm};
    }
}

const double *sim_finish_s(const sim *s)
{
    return s->finish_s;
}

const double *sim_compute_s(const sim *s)
{
    return s->compute_s;
}

const void *sim_kernel_calls(void)
{
    static const kernel_calls calls = {
        sim_append_send, sim_append_recv, sim_append_wait, sim_append_wait_all, sim_append_test, sim_append_compute,
        sim_append_collective,
        sim_is_far_ahead, sim_clock_s, sim_speed_flop_per_s, sim_next, sim_now_s, sim_answer, sim_request, sim_release, parcel_copy,
        sim_errands, sim_errands_done, sim_notes, sim_comm_size, sim_comm_rank,
    };
    return &calls;
}
