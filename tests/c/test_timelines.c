/* Ranks with several timelines, and ranks and timelines that come while the world runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mpi/schedule.h"
#include "small_worlds.h"

static const double LATENCY_S = 2e-5; /* latency between two hosts of machine() */

enum { LARGE = 1000000 };             /* bytes; 1e-3 s on a link, as 1e6 flop on a core */

static int is_at(double date_s, double expected_s)
{
    return fabs(date_s - expected_s) < 1e-12;
}

static double finish(const sim *s, int rank)
{
    double finish_s[MOST_RANKS];
    sim_finish_s(s, finish_s);
    return finish_s[rank];
}

static int send_large(sim *s, int timeline, int comm, int dest)
{
    const int id = sim_append_send(s, timeline, comm, dest, 0, LARGE, SEND_SYNCHRONOUS, 0);
    assert(id > 0);
    return id;
}

/* ---- a rank with two timelines; world() numbers those of ranks 0 and 1 so, too, and the next is 2 ---- */

static int of_first;                  /* a request of rank 0's first timeline, made before the second asks for it */

static void compute_beside_a_receive(sim *s, int timeline, int stage)
{
    assert(sim_running(s) == timeline && sim_running_rank(s) == sim_rank_of(s, timeline));
    if (timeline == 0 && stage == 0) {
        assert(sim_append_compute(s, 0, 1e6, 0) == 0 && sim_append_sleep(s, 0, 1e-5) == 0);
    } else if (timeline == 2 && stage == 0) {
        assert(sim_append_wait(s, 2, sim_append_recv(s, 2, 0, 1, 0, LARGE)) == 0);
    } else {
        if (timeline == 0) assert(is_at(sim_now_s(s), 1e-3 + 1e-5));
        if (timeline == 2) assert(is_at(sim_now_s(s), LATENCY_S + 1e-3));
        if (timeline == 1) assert(sim_append_wait(s, 1, send_large(s, 1, 0, 0)) == 0);
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void a_rank_computes_in_one_timeline_and_receives_in_another(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double spent_s[SPENT_KINDS];
    assert(sim_timeline_new(s, 0) == 2 && sim_rank_of(s, 2) == 0 && sim_rank_of(s, 3) == SIM_BAD_RANK && sim_host_of(s, 0) == 0);
    assert(run(s, 3, compute_beside_a_receive) == SIM_DONE);
    sim_spent_s(s, spent_s);
    assert(is_at(finish(s, 0), LATENCY_S + 1e-3) && is_at(finish(s, 1), LATENCY_S + 1e-3));
    assert(is_at(spent_s[SPENT_COMPUTING], 1e-3) && is_at(spent_s[SPENT_TRANSFER], 2 * (LATENCY_S + 1e-3)));
    sim_free(s);
}

static void wait_for_the_other(sim *s, int timeline, int stage)
{
    if (timeline == 0 && stage == 0) {
        of_first = sim_append_recv(s, 0, 0, 1, 0, LARGE);
        assert(sim_append_sleep(s, 0, 1e-4) == 0);
    } else if (timeline == 2 && stage == 0) {
        assert(sim_append_test(s, 2, of_first) == 0 && sim_append_wait(s, 2, of_first) == 0);
    } else if (timeline == 1 && stage == 0) {
        assert(sim_append_wait(s, 1, of_first) == SIM_BAD_REQUEST);
        assert(sim_append_wait(s, 1, send_large(s, 1, 0, 0)) == 0);
    } else {
        if (timeline == 2) {
            assert(sim_answer(s, 2) == 0 && sim_request(s, of_first)->is_done && is_at(sim_now_s(s), LATENCY_S + 1e-3));
            sim_release(s, of_first);
        }
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void a_timeline_completes_a_request_of_another_of_its_rank(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(sim_timeline_new(s, 0) == 2 && run(s, 3, wait_for_the_other) == SIM_DONE);
    assert(is_at(finish(s, 0), LATENCY_S + 1e-3));
    sim_free(s);
}

/* Each of two ranks sends to the other and receives from it. */
static int exchange(sim *s)
{
    static const int64_t words[] = {CALL_ISEND, TERM_CONSTANT, 1, TERM_RANK, TERM_SUB, TERM_END, TERM_BYTES, TERM_END,
                                    CALL_IRECV, TERM_CONSTANT, 1, TERM_RANK, TERM_SUB, TERM_END, TERM_BYTES, TERM_END, CALL_HALT};
    return sim_schedule_new(s, sizeof words / sizeof *words, words);
}

static int n_named[MOST_RANKS];

/* Rank 0's second timeline waits for the collective before the first has made its calls. */
static void wait_before_it_is_started(sim *s, int timeline, int stage)
{
    n_named[timeline]++;
    if (timeline < 2 && stage == 0) {
        if (timeline == 0) assert(sim_append_sleep(s, 0, 1e-3) == 0);
        const int id = sim_append_start(s, timeline, 0, 0, 0, LARGE, NULL, 0);
        if (timeline == 0) of_first = id;
        if (timeline == 1) assert(id > 0 && sim_append_wait(s, 1, id) == 0);
    } else if (timeline == 2 && stage == 0) {
        assert(sim_append_wait(s, 2, of_first) == 0);
    } else {
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void a_timeline_waits_for_a_collective_that_another_starts_later(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double spent_s[SPENT_KINDS];
    memset(n_named, 0, sizeof n_named);
    assert(exchange(s) == 0 && sim_timeline_new(s, 0) == 2);
    assert(run(s, 3, wait_before_it_is_started) == SIM_DONE);
    assert(n_named[0] == 2 && n_named[1] == 2 && n_named[2] == 2);
    for (int rank = 0; rank < 2; rank++) assert(is_at(finish(s, rank), 1e-3 + LATENCY_S + 1e-3));
    sim_spent_s(s, spent_s);
    assert(is_at(spent_s[SPENT_SLEEPING], 1e-3) && is_at(spent_s[SPENT_LATE_MEMBERS], 2 * 1e-3));
    assert(is_at(spent_s[SPENT_TRANSFER], 2 * (LATENCY_S + 1e-3)));
    sim_free(s);
}

/* Both timelines of rank 0 test the collective again and again, with polls of different dates. */
static void test_in_both(sim *s, int timeline, int stage)
{
    if (timeline == 1 && stage == 0) {
        assert(sim_append_sleep(s, 1, 5e-3) == 0 && sim_append_wait(s, 1, sim_append_start(s, 1, 0, 0, 0, LARGE, NULL, 0)) == 0);
    } else if (timeline == 1 || (stage > 0 && sim_answer(s, timeline))) {
        assert(sim_append_end(s, timeline) == 0);
    } else {
        if (timeline == 0 && stage == 0) of_first = sim_append_start(s, 0, 0, 0, 0, LARGE, NULL, 0);
        if (timeline == 2 && stage == 0) assert(sim_append_sleep(s, 2, 3e-4) == 0);
        assert(sim_append_test(s, timeline, of_first) == 0);
    }
}

static void two_timelines_test_one_collective(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(exchange(s) == 0 && sim_timeline_new(s, 0) == 2 && run(s, 3, test_in_both) == SIM_DONE);
    assert(is_at(finish(s, 1), 5e-3 + LATENCY_S + 1e-3) && finish(s, 0) > finish(s, 1));
    sim_free(s);
}

/* ---- ranks and timelines that come later ---- */

static int pair;

/* Rank 1 makes rank 2, on a host of its own, and both talk in a communicator of theirs. */
static void talk_to_the_newcomer(sim *s, int timeline, int stage)
{
    if (timeline == 1 && stage == 0) {
        assert(sim_append_sleep(s, 1, 1e-3) == 0);
    } else if (timeline == 1 && stage == 1) {
        assert(sim_rank_new(s, MOST_RANKS) == SIM_BAD_RANK && sim_timeline_new(s, 2) == SIM_BAD_RANK);
        assert(sim_rank_new(s, 2) == 2 && sim_host_of(s, 2) == 2 && sim_comm_rank(s, SIM_COMM_WORLD, 2) == -1);
        assert(sim_timeline_new(s, 2) == 2 && sim_rank_of(s, 2) == 2);
        pair = sim_comm_new(s, 2, (int[]){1, 2});
        assert(pair > 0 && sim_comm_size(s, sim_comm_self(s, 2)) == 1);
        assert(sim_append_wait(s, 1, send_large(s, 1, pair, 1)) == 0);
    } else if (timeline == 2 && stage == 0) {
        assert(is_at(sim_now_s(s), 1e-3) && sim_append_recv(s, 2, SIM_COMM_WORLD, 0, 0, 0) == SIM_BAD_RANK);
        assert(sim_append_wait(s, 2, sim_append_recv(s, 2, pair, 0, 0, LARGE)) == 0);
    } else {
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void a_rank_may_come_while_the_world_runs(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(run(s, 3, talk_to_the_newcomer) == SIM_DONE);
    assert(finish(s, 0) == 0);
    for (int rank = 1; rank < 3; rank++) assert(is_at(finish(s, rank), 1e-3 + LATENCY_S + 1e-3));
    assert(sim_rank_new(s, 3) == 3 && isnan(finish(s, 3)) && sim_next(s) == SIM_DONE);
    assert(sim_timeline_new(s, 2) == 3 && isnan(finish(s, 2)) && sim_next(s) == 3);
    assert(sim_append_sleep(s, 3, 1) == 0 && sim_append_end(s, 3) == 0 && sim_next(s) == SIM_DONE);
    assert(is_at(finish(s, 2), 1 + 1e-3 + LATENCY_S + 1e-3));
    sim_free(s);
}

/* Rank 0 computes 1e6 flop, on the one core of host 0. At 4e-4 s rank 1 makes a rank beside it, which computes as much: the first
 * has 6e5 flop to go, at half speed; then the other 4e5, alone. */
static void crowd_the_host(sim *s, int timeline, int stage)
{
    if (stage > 0 && timeline == 1) {
        assert(is_at(sim_clock_s(s, 0), 1e-3));
        assert(sim_rank_new(s, 0) == 2 && sim_timeline_new(s, 2) == 2);
        assert(isnan(sim_clock_s(s, 0)) && is_at(sim_earliest_clock_s(s, 0), 1e-3));
    }
    if (stage == 0 && timeline == 1)
        assert(sim_append_sleep(s, 1, 4e-4) == 0);
    else if (stage == 0)
        assert(sim_append_compute(s, timeline, 1e6, 0) == 0 && isnan(sim_clock_s(s, timeline)) == (timeline == 2));
    else
        assert(sim_append_end(s, timeline) == 0);
}

static void executions_under_way_share_the_cores_with_a_newcomer(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double spent_s[SPENT_KINDS];
    assert(run(s, 3, crowd_the_host) == SIM_DONE);
    assert(is_at(finish(s, 0), 4e-4 + 1.2e-3) && is_at(finish(s, 2), 2e-3));
    sim_spent_s(s, spent_s);
    assert(is_at(spent_s[SPENT_COMPUTING], 1.6e-3 + 1.6e-3));
    sim_free(s);
}

/* Four executions on four cores, which end together, newest first: also when a fifth rank comes to the host meanwhile. */
static int is_crowded, n_ended, order_of_ends[MOST_RANKS];

static void end_together(sim *s, int timeline, int stage)
{
    if (stage > 0) {
        order_of_ends[n_ended++] = timeline;
        assert(sim_append_end(s, timeline) == 0);
    } else if (timeline < 4) {
        assert(sim_append_sleep(s, timeline, 1e-4) == 0 && sim_append_compute(s, timeline, 1e6, 0) == 0);
    } else {
        assert(sim_append_sleep(s, timeline, 5e-4) == 0);
        if (timeline == 4 && is_crowded) assert(sim_rank_new(s, 0) == 5 && sim_timeline_new(s, 5) == 5);
    }
}

static void shared_executions_end_in_the_order_they_would_have(const model *m)
{
    platform *p = platform_new();
    const cluster c = {.n_hosts = 2, .cores = 4, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    for (is_crowded = 0; is_crowded < 2; is_crowded++) {
        sim *s = sim_new(p, m, 5, (int[]){0, 0, 0, 0, 1});
        n_ended = 0;
        assert(run(s, 6, end_together) == SIM_DONE && n_ended == 5 + is_crowded && is_at(finish(s, 0), 1.1e-3));
        for (int i = 0; i < 4; i++) assert(order_of_ends[1 + is_crowded + i] == i); /* their sleeps ended newest first, too */
        sim_free(s);
    }
    platform_free(p);
}

/* ---- polls of a second timeline ---- */

static const double POLL_S = 1e-6;

/* Rank 1 sends at 0.1 s. The first timeline of rank 0 sleeps; the second looks for a message, or for the end of a receive that the
 * first one posted, until there is one: in rounds of ever longer polls, which the message cuts short. */
static void poll_in_the_second(sim *s, int timeline, int stage)
{
    if (timeline == 1) {
        if (stage == 0) assert(sim_append_sleep(s, 1, 0.1) == 0);
        if (stage == 1) assert(sim_append_send(s, 1, 0, 0, 0, 8, SEND_STANDARD, 1) > 0);
    }
    if (timeline == 0 && stage == 0) {
        if (of_first) of_first = sim_append_recv(s, 0, 0, 1, 0, 8);
        assert(sim_append_sleep(s, 0, 1) == 0);
    } else if (timeline == 2 && !(stage && sim_answer(s, 2))) {
        assert(stage < 1000);
        assert((of_first ? sim_append_test(s, 2, of_first) : sim_append_iprobe(s, 2, 0, 1, 0)) == 0);
    } else if (timeline != 1 || stage == 2) {
        if (timeline == 2) {
            const double from_s = 0.1 + (of_first ? LATENCY_S + 8 / 1e9 : 0), past_s = sim_now_s(s) - from_s;
            assert(past_s > -1e-9 && past_s < 1.01 * POLL_S);
        }
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void an_arrival_cuts_short_the_poll_of_any_timeline(const platform *p, const model *m)
{
    model noticing = *m;
    noticing.polling = (poll_costs){.test_s = POLL_S, .iprobe_s = POLL_S, .notice = 1};
    for (int looks_at_request = 0; looks_at_request < 2; looks_at_request++) {
        sim *s = world(p, &noticing, 2);
        of_first = looks_at_request;
        assert(sim_timeline_new(s, 0) == 2 && run(s, 3, poll_in_the_second) == SIM_DONE && is_at(finish(s, 0), 1));
        sim_free(s);
    }
}

/* ---- timelines that park ---- */

/* Rank 0's second timeline parks for a second, but the first wakes it at 1e-3 s; then for 2e-3 s, which pass; then for good. */
static void park_and_be_woken(sim *s, int timeline, int stage)
{
    static const double until_s[] = {1, 1e-3 + 2e-3, INFINITY};
    if (timeline == 2) {
        if (stage == 0) assert(sim_wake(s, 2) == SIM_BAD_REQUEST && sim_wake(s, 9) == SIM_BAD_RANK && sim_is_idle(s, 2));
        if (stage == 1) assert(sim_answer(s, 2) == 1 && is_at(sim_now_s(s), 1e-3));
        if (stage == 2) assert(sim_answer(s, 2) == 0 && is_at(sim_now_s(s), 3e-3));
        if (stage == 3) assert(sim_answer(s, 2) == 1 && is_at(sim_now_s(s), 4e-3));
        assert((stage < 3 ? sim_append_park(s, 2, until_s[stage]) : sim_append_end(s, 2)) == 0);
    } else if (timeline == 0 && stage < 3) {
        if (stage > 0) assert(sim_wake(s, 2) == 0);
        assert(sim_append_sleep(s, 0, stage ? 3e-3 : 1e-3) == 0);
    } else {
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void a_parked_timeline_goes_on_when_it_is_woken_or_its_date_comes(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double spent_s[SPENT_KINDS];
    assert(sim_timeline_new(s, 0) == 2 && run(s, 3, park_and_be_woken) == SIM_DONE);
    sim_spent_s(s, spent_s);
    assert(is_at(finish(s, 0), 7e-3) && is_at(spent_s[SPENT_SLEEPING], 7e-3 + 4e-3));
    sim_free(s);
}

/* Rank 0 ends an iteration at 1e-3 s, rank 1 at 3e-3 s: both go on 7e-3 s later. */
static void gather_and_skip(sim *s, int timeline, int stage)
{
    static const double ends_s[] = {1e-3, 3e-3};
    if (stage == 0) assert(sim_append_sleep(s, timeline, ends_s[timeline]) == 0);
    if (stage == 1 && timeline == 0) assert(sim_append_gather(s, 0) == 0);
    if (stage == 1 && timeline == 1) assert(sim_wake(s, 0) == 0 && sim_append_skip(s, 1, 7e-3, 7e-3) == 0);
    if (stage == 2 && timeline == 0) assert(sim_append_skip(s, 0, 7e-3, 5e-3) == 0);
    if (stage == 3 - timeline) assert(is_at(sim_now_s(s), ends_s[timeline] + 7e-3) && sim_append_end(s, timeline) == 0);
}

static void skipped_time_is_of_its_own_kind_and_keeps_ranks_apart(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double spent_s[SPENT_KINDS], skipped_s[2], sum_s = 0;
    assert(sim_append_gather(s, 9) == SIM_BAD_RANK && sim_append_skip(s, 9, 1, 1) == SIM_BAD_RANK);
    assert(run(s, 2, gather_and_skip) == SIM_DONE);
    sim_spent_s(s, spent_s);
    sim_skipped_s(s, skipped_s);
    for (int kind = 0; kind < SPENT_KINDS; kind++) sum_s += spent_s[kind];
    assert(is_at(skipped_s[0], 7e-3) && is_at(skipped_s[1], 7e-3) && is_at(sum_s, 4e-3) && is_at(spent_s[SPENT_SLEEPING], 4e-3));
    sim_free(s);
}

static void park_for_good(sim *s, int timeline, int stage)
{
    assert(stage == 0 && (timeline == 2 ? sim_append_park(s, 2, INFINITY) : sim_append_end(s, timeline)) == 0);
}

static void a_timeline_that_nobody_wakes_is_stuck(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    waiting what;
    assert(sim_timeline_new(s, 0) == 2 && run(s, 3, park_for_good) == SIM_STUCK);
    sim_waiting(s, 2, &what);
    assert(what.kind == WAIT_PARKED && isnan(finish(s, 0)));
    sim_free(s);
}

/* Rank 0 adds 5, starts its second timeline and parks; that one adds 2 and wakes it. Rank 1 adds 100, and has turns then. */
static void add_and_hand_over(sim *s, int timeline, int stage)
{
    if (stage == 0) assert(sim_append_to_path(s, timeline, 0, timeline == 0 ? 5 : timeline == 1 ? 100 : 2, 0) == 0);
    if (timeline == 1 ? stage < 8 : stage == 0) {
        assert(sim_append_sleep(s, timeline, timeline == 1 ? 2.5e-4 : 1e-3) == 0);
    } else if (timeline == 0 && stage == 1) {
        assert(sim_timeline_new(s, 0) == 2 && sim_append_park(s, 0, INFINITY) == 0);
    } else {
        if (timeline == 2) assert(sim_wake(s, 0) == 0);
        assert(sim_append_end(s, timeline) == 0);
    }
}

static void a_critical_path_goes_from_a_timeline_to_those_that_it_starts_and_wakes(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double sum[PATH_SUMS];
    assert(run(s, 3, add_and_hand_over) == SIM_DONE);
    sim_path(s, 2, sum);
    assert(sum[0] == 7);
    sim_path(s, 0, sum);
    assert(sum[0] == 7);
    sim_free(s);
}

/* Rank 0 ends while its second timeline waits for a message, the third sleeps, and two have a turn. */
static void leave_the_others(sim *s, int timeline, int stage)
{
    assert(stage == 0 || timeline < 2);
    if (timeline == 2) assert(sim_append_wait(s, 2, sim_append_recv(s, 2, 0, 1, 0, LARGE)) == 0);
    if (timeline == 3 || (timeline == 1 && stage == 0)) assert(sim_append_sleep(s, timeline, timeline == 3 ? 5 : 1e-3) == 0);
    if (timeline == 4) assert(sim_append_park(s, 4, INFINITY) == 0);
    if (timeline == 0 && stage == 0) assert(sim_append_sleep(s, 0, 1e-4) == 0);
    if (timeline == 0 && stage == 1) {
        assert(sim_wake(s, 4) == 0 && sim_timeline_new(s, 0) == 5);
        for (int other = 2; other < 6; other++) assert(sim_drop(s, other) == 0);
        assert(sim_drop(s, 9) == SIM_BAD_RANK && sim_append_end(s, 0) == 0);
    }
    if (timeline == 1 && stage > 0) {
        assert(sim_append_send(s, 1, 0, 0, 0, 8, SEND_STANDARD, 1) > 0 && sim_append_end(s, 1) == 0);
    }
}

static void a_rank_ends_without_the_timelines_that_it_drops(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    double spent_s[SPENT_KINDS];
    for (int i = 2; i < 5; i++) assert(sim_timeline_new(s, 0) == i);
    assert(run(s, 6, leave_the_others) == SIM_DONE && is_at(finish(s, 0), 1e-4) && is_at(finish(s, 1), 1e-3));
    sim_spent_s(s, spent_s);
    assert(is_at(spent_s[SPENT_SLEEPING], 1e-3 + 3e-4) && is_at(spent_s[SPENT_LATE_SENDER], 1e-4));
    sim_free(s);
}

/* ---- timelines of a rank share its cores ---- */

static void compute_in_three(sim *s, int timeline, int stage)
{
    if (stage == 0 && timeline != 1) {
        assert(sim_append_compute(s, timeline, timeline == 3 ? 2e6 : 1e6, 0) == 0 && isnan(sim_clock_s(s, timeline)));
    } else {
        assert(sim_append_end(s, timeline) == 0);
    }
}

/* On hosts of four cores each rank has as many as it was given, and the other ranks keep theirs. */
static void timelines_of_a_rank_share_its_cores(const model *m)
{
    /* 1e6 + 1e6 + 2e6 flop on 1, 2 and 4 cores; three share two until 1.5e-3 s, when 1e6 are left */
    static const double finish_s[] = {4e-3, 2.5e-3, 2e-3};
    platform *p = platform_new();
    const cluster c = {.n_hosts = 2, .cores = 4, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    for (int i = 0; i < 3; i++) {
        sim *s = sim_new(p, m, 2, (int[]){0, 0});
        sim_cores_per_rank(s, 1 << i);
        assert(sim_timeline_new(s, 0) == 2 && sim_timeline_new(s, 0) == 3);
        assert(run(s, 4, compute_in_three) == SIM_DONE && finish(s, 1) == 0);
        assert(is_at(finish(s, 0), finish_s[i]));
        sim_free(s);
    }
    platform_free(p);
}

int main(void)
{
    platform *p = machine();
    const model m = plain();
    a_rank_computes_in_one_timeline_and_receives_in_another(p, &m);
    a_timeline_completes_a_request_of_another_of_its_rank(p, &m);
    a_timeline_waits_for_a_collective_that_another_starts_later(p, &m);
    two_timelines_test_one_collective(p, &m);
    a_rank_may_come_while_the_world_runs(p, &m);
    executions_under_way_share_the_cores_with_a_newcomer(p, &m);
    a_parked_timeline_goes_on_when_it_is_woken_or_its_date_comes(p, &m);
    skipped_time_is_of_its_own_kind_and_keeps_ranks_apart(p, &m);
    a_timeline_that_nobody_wakes_is_stuck(p, &m);
    a_critical_path_goes_from_a_timeline_to_those_that_it_starts_and_wakes(p, &m);
    a_rank_ends_without_the_timelines_that_it_drops(p, &m);
    timelines_of_a_rank_share_its_cores(&m);
    shared_executions_end_in_the_order_they_would_have(&m);
    an_arrival_cuts_short_the_poll_of_any_timeline(p, &m);
    platform_free(p);
    puts("timelines: all well");
    return 0;
}
