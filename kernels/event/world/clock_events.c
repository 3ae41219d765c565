#include "world/clock_events.h"

#include <math.h>
#include <stdlib.h>

#include "basics/dates.h"
#include "basics/sort.h"
#include "world/tell.h"

int clock_events_init(clock_events *e, int moves_ends)
{
    heap_init(&e->ends, moves_ends);
    heap_init(&e->hosts, 1);
    return (moves_ends && !e->ends.place) || !e->hosts.place ? SIM_OUT_OF_MEMORY : 0;
}

void clock_events_free(clock_events *e)
{
    heap_free(&e->ends);
    heap_free(&e->hosts);
    free(e->due);
}

/* ---- hosts ---- */

static host *host_of(sim *s, int timeline)
{
    return &s->hosts.at[s->timelines.at[timeline].host];
}

static void reschedule(sim *s, host *h)
{
    if (h->rescheduled_at == s->date_order) return;
    h->rescheduled_at = s->date_order;
    h->reschedule_order = s->order++;
}

void host_entered(sim *s, int id)
{
    host *h = &s->hosts.at[id];
    reschedule(s, h);
    h->n_under_way++;
}

void host_left(sim *s, int id, int is_execution)
{
    host *h = &s->hosts.at[id];
    if (--h->n_under_way == 0)
        h->rescheduled_at = -1;
    else if (is_execution)
        reschedule(s, h);
}

static int date_host(sim *s, int id)
{
    const resource *cores = &s->hosts.at[id].cores;
    heap_remove(&s->clock_events.hosts, id);
    if (!resource_n_users(cores)) return 0;
    return heap_push(&s->clock_events.hosts, resource_next_s(cores, s->clock.now_s), 0, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* ---- beginnings ---- */

static void begin(sim *s, int id, int n_threads, int n_parts)
{
    timeline *t = &s->timelines.at[id];
    host_entered(s, t->host);
    s->hosts.at[t->host].n_executing += n_threads;
    t->is_executing = n_threads > 0;
    t->n_threads = n_threads;
    t->n_parts = n_parts;
    t->began = s->order++;
    t->began_at_date = s->date_order;
    s->clock_events.n_under_way++;
    s->clock_events.n_probing += timeline_probes_on(t);
}

static int end_at(sim *s, int id, double date_s, int spends)
{
    timeline_enter(s, id, ASLEEP, spends);
    return heap_push(&s->clock_events.ends, date_s, s->timelines.at[id].began, id) < 0 ? SIM_OUT_OF_MEMORY : BLOCKED;
}

int clock_events_sleep_until(sim *s, int id, double date_s, int spends)
{
    begin(s, id, 0, 1);
    return end_at(s, id, date_s, spends);
}

static int join_cores(sim *s, int id, double flop, int is_limited, int64_t order)
{
    const timeline *t = &s->timelines.at[id];
    const int at = t->host, shared = shared_cores_of(s, t);
    if (shared) {
        resource *own = &s->shared_cores.at[shared].cores;
        const int full = resource_join(own, id, t->n_threads, flop, is_limited, order, s->clock.now_s);
        return full < 0 ? full : shared_cores_date(s, shared);
    }
    int error = resource_join(&s->hosts.at[at].cores, id, t->n_threads, flop, is_limited, order, s->clock.now_s);
    return error < 0 ? error : date_host(s, at);
}

static int execute(sim *s, int id, execution amount, int spends)
{
    const host *h = host_of(s, id);
    const int moves = h->memory && amount.bytes > 0, computes = !moves || amount.flop > 0;
    const int knows_end = computes && host_knows_ends(h) && !s->timelines.at[id].shares_cores;
    begin(s, id, amount.n_threads, amount.n_threads * moves + (knows_end ? 1 : amount.n_threads * computes));
    if (moves) {
        timeline_enter(s, id, EXECUTING, spends);
        int error = memory_join(s, id, amount.bytes);
        if (error < 0 || !computes) return error < 0 ? error : BLOCKED;
    }
    if (knows_end) return end_at(s, id, s->clock.now_s + amount.flop / host_speed_flop_per_s(h), spends);
    timeline_enter(s, id, EXECUTING, spends);
    int error = join_cores(s, id, amount.flop, amount.is_limited, s->order++);
    return error < 0 ? error : BLOCKED;
}

int clock_events_execute(sim *s, int id, execution amount, int spends)
{
    const int result = execute(s, id, amount, spends);
    tell_loaded(s, s->timelines.at[id].host);
    return result;
}

int clock_events_sleep_until_woken(sim *s, int id, double date_s, int spends)
{
    if (heap_keep_places(&s->clock_events.ends) < 0) return SIM_OUT_OF_MEMORY;
    return clock_events_sleep_until(s, id, date_s, spends);
}

void clock_events_end_by(sim *s, int id, double date_s)
{
    heap *ends = &s->clock_events.ends;
    if (heap_has(ends, id) && date_s < ends->item[ends->place[id]].date_s) heap_move(ends, id, date_s);
}

/* ---- a host that gets a timeline more ---- */

/* The executions in `ends` that are on a host: taken out, and given a part of the cores for what is left of them. */
static int share(sim *s, int host)
{
    heap *ends = &s->clock_events.ends;
    heap kept;
    heap_init(&kept, ends->place != NULL);
    int error = ends->place && !kept.place ? SIM_OUT_OF_MEMORY : 0;
    for (int i = 0; i < ends->n && !error; i++) {
        const heap_item it = ends->item[i];
        timeline *t = &s->timelines.at[it.id];
        if (t->host == host && t->is_executing) {
            const double left_s = it.date_s - s->clock.now_s;
            timeline_enter(s, it.id, EXECUTING, t->spends);
            t->n_parts += t->n_threads - 1;
            error = join_cores(s, it.id, left_s * host_speed_flop_per_s(&s->hosts.at[host]), 0, t->began);
        } else if (heap_push(&kept, it.date_s, it.order, it.id) < 0) {
            error = SIM_OUT_OF_MEMORY;
        }
    }
    heap_free(ends);
    *ends = kept;
    return error;
}

int clock_events_crowd(sim *s, int id)
{
    const host *h = &s->hosts.at[id];
    int n_executing = 0;
    if (host_has_cores_for_each(h) || (double)(h->n_ranks - 1) * h->cores_per_rank > h->cores.n_units) return 0;
    for (int at = h->first_timeline; at >= 0; at = s->timelines.at[at].next_of_host) {
        timeline *t = &s->timelines.at[at];
        const int is_executing = t->state == ASLEEP && t->is_executing;
        n_executing += is_executing;
        if (t->n || is_executing) t->tail_s = NAN;
    }
    const int error = n_executing ? share(s, id) : 0;
    if (n_executing) tell_loaded(s, id);
    return error;
}

/* ---- a host whose speed changes ---- */

/* Its cores have another speed: the ends of executions there are others now. */
static int take_speed(sim *s, int id)
{
    const host *h = &s->hosts.at[id];
    tell_loaded(s, id);
    if (!resource_n_users(&h->cores)) return 0;
    s->date_order = ++s->order; /* executions that began before at this date were scheduled earlier */
    reschedule(s, &s->hosts.at[id]);
    return date_host(s, id);
}

int clock_events_change_speed(sim *s, int id, double factor)
{
    host *h = &s->hosts.at[id];
    resource_set_speed(&h->cores, factor * host_speed_flop_per_s(h), s->clock.now_s);
    if (s->shared_cores.n && shared_cores_set_speed(s, id) < 0) return SIM_OUT_OF_MEMORY;
    return take_speed(s, id);
}

int clock_events_change_state(sim *s, int id, int state, double speed_flop_per_s)
{
    host *h = &s->hosts.at[id];
    h->state = state;
    resource_set_nominal_speed(&h->cores, speed_flop_per_s, s->clock.now_s);
    if (s->shared_cores.n && shared_cores_set_speed(s, id) < 0) return SIM_OUT_OF_MEMORY;
    return take_speed(s, id);
}

/* ---- ends ---- */

double clock_events_next_s(const sim *s)
{
    const clock_events *e = &s->clock_events;
    const double end_s = e->ends.n ? e->ends.item[0].date_s : INFINITY, host_s = e->hosts.n ? e->hosts.item[0].date_s : INFINITY;
    const heap *shared = &s->shared_cores.next;
    const double first_s = shared->n ? smaller(end_s, shared->item[0].date_s) : end_s;
    return smaller(first_s < host_s ? first_s : host_s, memory_next_s(&s->memories));
}

/* Sets the numbers that order an event among others of its date. */
static void set_order(sim *s, clock_event *due)
{
    const timeline *t = due->of == OF_TIMELINE ? &s->timelines.at[due->id] : NULL;
    const int rank = due->of == OF_SHARED_CORES ? s->shared_cores.at[due->id].rank : -1;
    const host *h = t ? host_of(s, due->id) : &s->hosts.at[rank < 0 ? due->id : s->timelines.rank[rank].host];
    const int is_sleep = t && !t->is_executing;
    due->epoch = is_sleep ? t->began_at_date : h->rescheduled_at;
    due->place = is_sleep ? -1 : h->reschedule_order;
}

static int add_due(clock_events *e, const heap_item *it, int of)
{
    if (e->n_due == e->due_room) {
        int room = e->due_room ? 2 * e->due_room : 64;
        clock_event *grown = realloc(e->due, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        e->due = grown;
        e->due_room = room;
    }
    e->due[e->n_due++] = (clock_event){.of = of, .id = it->id, .date_s = it->date_s, .order = -it->order};
    return 0;
}

/* Takes what ends before `limit_s` from a heap. */
static int take_due(clock_events *e, heap *from, double limit_s, int of)
{
    if (!from->n) return 0;
    if (heap_all_before(from, limit_s)) {
        for (int i = 0; i < from->n; i++)
            if (add_due(e, &from->item[i], of) < 0) return SIM_OUT_OF_MEMORY;
        heap_clear(from);
    }
    while (from->n && from->item[0].date_s < limit_s) {
        if (add_due(e, &from->item[0], of) < 0) return SIM_OUT_OF_MEMORY;
        heap_pop(from);
    }
    return 0;
}

static int in_order(const void *a, const void *b)
{
    const clock_event *x = a, *y = b;
    if (x->date_s != y->date_s) return x->date_s < y->date_s ? -1 : 1;
    if (x->epoch != y->epoch) return x->epoch < y->epoch ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->of - y->of;
}

/* A part of what a timeline does is over: with the last one it wakes. */
static void end_part(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    t->n_parts--;
    if (t->is_executing) {
        s->hosts.at[t->host].n_executing -= t->n_parts ? 0 : t->n_threads;
        tell_loaded(s, t->host);
    }
    if (t->n_parts) return;
    host_left(s, t->host, t->is_executing);
    s->clock_events.n_under_way--;
    if (s->clock_events.n_probing) s->clock_events.n_probing -= timeline_probes_on(t);
    timeline_runs_next(s, id);
}

static int wake_served(sim *s, int id)
{
    resource *cores = &s->hosts.at[id].cores;
    int served, error = 0;
    while (error == 0 && (served = resource_take_served(cores, s->clock.now_s, CLOCK_SAME_DATE_S)) >= 0) {
        error = date_host(s, id);
        end_part(s, served);
    }
    return error < 0 ? error : date_host(s, id);
}

static int wake_sharing(sim *s, int number)
{
    resource *cores = &s->shared_cores.at[number].cores;
    int served, error = 0;
    while (error == 0 && (served = resource_take_served(cores, s->clock.now_s, CLOCK_SAME_DATE_S)) >= 0) {
        error = shared_cores_date(s, number);
        end_part(s, served);
    }
    return error < 0 ? error : shared_cores_date(s, number);
}

static int wake_moved(sim *s, int id)
{
    int moved;
    while ((moved = memory_take_served(s, id)) >= 0) end_part(s, moved);
    return moved < -1 ? moved : 0;
}

void clock_events_wake(sim *s, int id)
{
    heap_remove(&s->clock_events.ends, id);
    end_part(s, id);
}

int clock_events_fire(sim *s)
{
    clock_events *e = &s->clock_events;
    const double limit_s = clock_same_date_s(&s->clock);
    e->n_due = 0;
    if (take_due(e, &e->ends, limit_s, OF_TIMELINE) < 0 || take_due(e, &e->hosts, limit_s, OF_CORES) < 0 ||
        take_due(e, &s->shared_cores.next, limit_s, OF_SHARED_CORES) < 0 ||
        take_due(e, &s->memories.hosts, limit_s, OF_MEMORY) < 0)
        return SIM_OUT_OF_MEMORY;
    for (int i = 0; e->n_due > 1 && i < e->n_due; i++) set_order(s, &e->due[i]);
    sort_nearly(e->due, e->n_due, sizeof *e->due, in_order);
    for (int i = 0; i < e->n_due; i++) {
        const clock_event *due = &e->due[i];
        int error = 0;
        switch (due->of) {
        case OF_TIMELINE: end_part(s, due->id); break;
        case OF_CORES: error = wake_served(s, due->id); break;
        case OF_SHARED_CORES: error = wake_sharing(s, due->id); break;
        default: error = wake_moved(s, due->id);
        }
        if (error < 0) return error;
    }
    return e->n_due;
}

#ifdef SMPY_CHECK
#include <assert.h>

void clock_events_check(const sim *s)
{
    const clock_events *e = &s->clock_events;
    assert(heap_check(&e->ends) && heap_check(&e->hosts));
    int n = 0, n_parts = 0, n_users = 0;
    for (int id = 0; id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        const int is_under_way = t->state == ASLEEP || t->state == EXECUTING || (t->is_dropped && t->n_parts);
        n += is_under_way;
        n_parts += is_under_way ? t->n_parts : 0;
        assert(!is_under_way || t->n_parts > 0);
    }
    for (int h = 0; h < s->hosts.n; h++) {
        const host *at = &s->hosts.at[h];
        assert(at->n_executing >= at->n_sharing + resource_n_users(&at->cores));
        n_users += resource_n_users(&s->hosts.at[h].cores);
        if (s->hosts.at[h].memory) n_users += resource_n_users(s->hosts.at[h].memory);
        assert(heap_has(&e->hosts, h) == (resource_n_users(&s->hosts.at[h].cores) > 0));
    }
    for (int i = 1; i <= s->shared_cores.n; i++) {
        n_users += resource_n_users(&s->shared_cores.at[i].cores);
        assert(heap_has(&s->shared_cores.next, i) == (resource_n_users(&s->shared_cores.at[i].cores) > 0));
    }
    assert(n == e->n_under_way && n_parts == e->ends.n + n_users);
}
#endif
