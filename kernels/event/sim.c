#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "mpi/mpi_world.h"
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "basics/cache_lines.h"
#include "basics/dates.h"
#include "mpi/poll.h"
#include "world/tell.h"

/* The loop: turns at one date, then the next date. */

enum {
    LOOK_AT_CLOCK = 256,         /* after so much effort */
    FETCHED_FROM = 8192          /* timelines: prefetching pays, as barriers of 131,072 ranks do, and not rings of 4,096 */
};

#ifdef SMPY_CHECK
/* A broken world keeps no promises. */
static void check(const sim *s)
{
    if (s->error) return;
    timelines_check(s);
    mpi_check(s);
    hosts_check(&s->hosts);
    clock_events_check(s);
    memories_check(s);
    changes_check(s);
    transfers_check(s);
    storage_check(&s->storage);
    background_check(s);
    devices_check(&s->devices);
    if (s->network.kind->check) s->network.kind->check(s, s->network.state);
    watch_check(s);
}
#endif

/* Goes to the next date and fires what is due, or some way towards it: 1, 0 when nothing will ever happen, or an error. */
static int advance(sim *s)
{
    const network *net = &s->network;
    double date_s;
    if (s->changes.n_of_links && !net->kind->link_changed) return SIM_FIXED_LINKS;
    const int is_not_yet = net->kind->next_date(s, net->state, &date_s);
    if (is_not_yet > 0) s->effort += LOOK_AT_CLOCK;
    if (is_not_yet) return is_not_yet;
    const clock_events *e = &s->clock_events;
    const disks *disks = &s->storage.disks, *devices = &s->devices.servers;
    if (s->network.transfers.n_live == 0 && disks->n_under_way == 0 && devices->n_under_way == 0 &&
        e->n_under_way == e->n_probing && mpi_of(s)->polling.n_probes_up_to_date == e->n_probing)
        return 0;
    date_s = smaller(date_s, clock_events_next_s(s));
    if (disks->n_under_way) date_s = smaller(date_s, disks_next_s(disks));
    if (devices->n_under_way) date_s = smaller(date_s, disks_next_s(devices));
    if (s->changes.table->n) {
        if (isinf(date_s) && !change_may_wake(s)) return change_cannot_wake(s);
        date_s = smaller(date_s, change_next_s(s));
    }
    if (isinf(date_s)) return 0;
    if (s->governor) date_s = smaller(date_s, governor_next_s(s->governor));
    if (s->background) date_s = smaller(date_s, background_next_s(s->background));
    if (date_s > s->clock.now_s) s->clock.now_s = date_s;
    s->date_order = s->order;
    if (disks->n_under_way) disks_reach(&s->storage.disks, &s->clock);
    if (s->changes.next.n) {
        const int n_changes = change_fire(s);
        if (n_changes < 0) return n_changes;
        s->effort += (unsigned)n_changes;
    }
    const int n_governed = s->governor ? governor_fire(s, s->governor) : 0;
    if (n_governed < 0) return n_governed;
    const int n_woken = clock_events_fire(s);
    if (n_woken < 0) return n_woken;
    int n_fired = net->kind->fire(s, net->state);
    if (n_fired < 0) return n_fired;
    if (disks->n_under_way) {
        const int n_ended = disks_fire(s, &s->storage.disks, &s->clock);
        if (n_ended < 0) return n_ended;
        n_fired += n_ended;
    }
    if (devices->n_under_way) {
        const int n_ended = disks_fire(s, &s->devices.servers, &s->clock);
        if (n_ended < 0) return n_ended;
        n_fired += n_ended;
    }
    if (s->background) {
        const int n_sent = background_fire(s, s->background);
        if (n_sent < 0) return n_sent;
        n_fired += n_sent;
    }
    s->stats.events += n_woken + n_fired;
    s->effort += (unsigned)(n_woken + n_fired);
#ifdef SMPY_CHECK
    check(s);
#endif
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
    const double date_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (date_s - s->yielded_s < 0.05) return 0;
    s->yielded_s = date_s;
    return 1;
}

static int broken(sim *s, int error)
{
    keep_error(s, error);
    return SIM_BROKEN;
}

/* Prefetches memory that the timelines with the next turns will touch, if there are too many for the near caches. */
__attribute__((always_inline)) static inline void fetch_ahead(const sim *s)
{
    const timelines *all = &s->timelines;
    if (all->n < FETCHED_FROM) return;
    const int *turn = all->turn + all->at_turn, left = all->n_turn - all->at_turn;
    if (left > 8) cache_lines_fetch(&all->at[turn[8]], offsetof(timeline, next_of_rank));
    if (left > 4) {
        const timeline *t = &all->at[turn[4]];
        if (t->n) cache_lines_fetch(&t->queue[t->first], sizeof *t->queue);
        tell_fetch(s, t);
    }
}

/* The next call of a timeline: MADE_A_CALL, ..., or an error. */
static int step(sim *s, int id, timeline *t)
{
    action *a = timeline_first(t);
    const int nature = a->kind->nature;
    s->stats.progress += nature == ACTION_PROGRESS;
    tell_called(s, id);
    t->account = a->account;
    if (t->has_polled && nature < ACTION_POLL) poll_forget(s, id, nature == ACTION_PROGRESS);
    return a->kind->step(s, id, a);
}

int sim_next(sim *s)
{
    timelines *all = &s->timelines;
    s->running = -1;
    for (;;) {
        while (all->at_turn < all->n_turn) {
            if (s->error) return SIM_BROKEN;
            if (s->is_stopped) return SIM_STOPPED;
            if (must_yield(s)) return SIM_YIELD;
            const int id = all->turn[all->at_turn];
            timeline *t = &all->at[id];
            fetch_ahead(s);
            if (!t->n) {
                if (t->state == ENDED) { /* it was dropped */
                    all->at_turn++;
                    continue;
                }
                t->tail_s = t->earliest_tail_s = s->clock.now_s;
                return s->running = id;
            }
            const int result = step(s, id, t);
            if (result < 0) return broken(s, result);
            if (result == FREE_OF_CHARGE) continue;
            all->at_turn++;
            if (result == MADE_A_CALL) all->next_turn[all->n_next_turn++] = id;
        }
        if (s->error) return SIM_BROKEN;
        if (s->is_stopped) return SIM_STOPPED;
        if (timeline_next_turn(s)) continue;
        if (all->n_ended == all->n) return SIM_DONE;
        if (must_yield(s)) return SIM_YIELD;
        const int happened = advance(s);
        if (happened < 0) return broken(s, happened);
        if (s->error) return SIM_BROKEN;
        if (!happened) return SIM_STUCK;
    }
}

void sim_interrupt(sim *s)
{
    s->is_interrupted = 1;
}
