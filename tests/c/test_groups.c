/* Collectives: schedules that read tables, and collectives that a rank starts and goes on beside. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/schedule.h"
#include "small_worlds.h"

static int request_of[MOST_RANKS];
static const int64_t large_bytes = 5000, small_bytes = 10;

/* ---- schedules ---- */

static int from_everyone, to_neighbour;

/* Everyone sends NBYTES to everyone else. */
static int new_exchange(sim *s)
{
    static const int64_t words[] = {
        CALL_LOOP, TERM_CONSTANT, 0, TERM_END, TERM_SIZE, TERM_END, 21,
        CALL_IF, TERM_RANK, TERM_LOOP, 0, TERM_NE, TERM_END, 12,
        CALL_ISEND, TERM_LOOP, 0, TERM_END, TERM_BYTES, TERM_END, CALL_IRECV, TERM_LOOP, 0, TERM_END, TERM_BYTES, TERM_END,
        CALL_AGAIN, 21, CALL_HALT};
    return sim_schedule_new(s, (int)(sizeof words / sizeof *words), words);
}

static void tables_are_read_within_their_bounds(const platform *p, const model *m)
{
    static const int64_t words[] = {CALL_SEND, TERM_CONSTANT, 0, TERM_TABLE, 1, TERM_END, TERM_ROOT, TERM_TABLE, 0, TERM_END,
                                    CALL_HALT};
    static const int64_t bytes[] = {5, 6, 7}, peers[] = {1};
    schedule *made = schedule_new(11, words);
    schedule_tables *t = schedule_tables_new(2, (const int64_t *const[]){bytes, peers}, (int[]){3, 1});
    for (int root = -1; root < 5; root++) {
        schedule_frame f;
        schedule_start(&f, made, 0, 2, root, 0, t);
        schedule_call call = schedule_step(&f);
        assert(call.to == 1 && f.is_broken == (root < 0 || root > 2));
        assert(f.is_broken || call.bytes_out == 5 + root);
        schedule_start(&f, made, 0, 2, root, 0, NULL);
        schedule_step(&f);
        assert(f.is_broken);
    }
    free(t);
    schedule_free(made);
    static const int64_t malformed[][5] = {{CALL_IF, TERM_TABLE, 0, TERM_END, 0},
                                           {CALL_IF, TERM_RANK, TERM_TABLE, 4, TERM_END}};
    for (int i = 0; i < 2; i++) {
        int64_t whole[7] = {0};
        memcpy(whole, malformed[i], sizeof malformed[i]);
        whole[6] = CALL_HALT;
        assert(!schedule_new(6 + (i == 1), whole));
    }
    sim *s = world(p, m, 2);
    to_neighbour = sim_schedule_new(s, 11, words);
    rank_tables given = {.n = 2, .table = {bytes, peers}, .n_entries = {3, 1}};
    assert(sim_append_collective(s, 0, 0, to_neighbour, 1, 0, &(rank_tables){.n = 5}) == SIM_BAD_SCHEDULE);
    assert(sim_next(s) == 0 && sim_append_collective(s, 0, 0, to_neighbour, 3, 0, &given) == 0);
    assert(sim_next(s) == SIM_BROKEN && sim_error(s) == SIM_BAD_SCHEDULE);
    sim_free(s);
}

/* ---- collectives that are started ---- */

static double finish_s[MOST_RANKS];

static void start_and_wait(sim *s, int rank, int stage)
{
    if (stage == 0) {
        request_of[rank] = sim_append_start(s, rank, 0, from_everyone, 0, large_bytes, NULL, 0);
        sim_append_compute(s, rank, 1e3 * rank, 0);
        sim_append_wait(s, rank, request_of[rank]);
    } else if (stage == 1) {
        assert(sim_request(s, request_of[rank])->is_done);
        sim_release(s, request_of[rank]);
        finish_s[rank] = sim_now_s(s);
        sim_append_end(s, rank);
    }
}

static void perform_all(sim *s, int rank, int stage)
{
    (void)stage;
    sim_append_collective(s, rank, 0, from_everyone, 0, large_bytes, NULL);
    sim_append_end(s, rank);
}

/* In one wait: an ordinary receive, a detached send, two groups. */
static void start_several(sim *s, int rank, int stage)
{
    static int several[MOST_RANKS][4];
    int *list = several[rank], left = (rank + 2) % 3, right = (rank + 1) % 3;
    switch (stage) {
    case 0:
        list[0] = sim_append_start(s, rank, 0, from_everyone, 0, small_bytes, NULL, 0);
        list[1] = sim_append_recv(s, rank, 0, left, 1, 100);
        list[2] = 0;
        list[3] = sim_append_start(s, rank, 0, from_everyone, 0, large_bytes, NULL, 0);
        sim_append_send(s, rank, 0, right, 1, 100, SEND_STANDARD, 0);
        if (rank == 0)
            sim_append_wait_any(s, rank, 4, (int[]){list[0], list[3], -1, list[1]});
        else
            sim_append_wait_all(s, rank, 4, list);
        break;
    case 1:
        if (rank == 0) {
            int64_t first = sim_answer(s, rank);
            assert(first == 0 || first == 3);
            assert(sim_request(s, first ? list[1] : list[0])->is_done && !sim_request(s, list[3])->is_done);
        }
        sim_append_wait_all(s, rank, 4, list); /* again, for those that rank 0 has not waited for */
        break;
    default:
        for (int i = 0; i < 4; i++) {
            assert(list[i] == 0 || sim_request(s, list[i])->is_done);
            if (list[i]) sim_release(s, list[i]);
        }
        sim_append_end(s, rank);
    }
}

/* Rank r of 3 starts r ms late and tests at once: a Test of 4 requests is 5 polls. */
static int n_tests[MOST_RANKS];

static void start_and_test(sim *s, int rank, int stage)
{
    if (stage == 0) {
        if (rank) sim_append_sleep(s, rank, 0.1);
        request_of[rank] = sim_append_start(s, rank, 0, from_everyone, 0, large_bytes, NULL, 0);
    } else if (sim_answer(s, rank)) {
        sim_release(s, request_of[rank]);
        sim_append_end(s, rank);
        return;
    }
    n_tests[rank] = stage + 1;
    sim_append_test(s, rank, request_of[rank]);
}

static int the_gate;

static void pass_a_gate(sim *s, int rank, int stage)
{
    if (stage == 0) {
        sim_append_sleep(s, rank, 0.001 * (1 + rank));
        request_of[rank] = sim_append_start(s, rank, 0, to_neighbour, 0, 0, NULL, the_gate);
        assert(request_of[rank] > 0);
        if (rank == 1)
            sim_append_wait_any(s, rank, 1, &request_of[rank]);
        else if (rank == 2)
            sim_release(s, request_of[rank]);
        else
            sim_append_wait(s, rank, request_of[rank]);
    } else {
        finish_s[rank] = sim_now_s(s);
        if (rank != 2) sim_release(s, request_of[rank]);
    }
    if (stage || rank == 2) sim_append_end(s, rank);
}

static void a_started_collective_takes_the_time_of_the_blocking_one(const platform *p, const model *m)
{
    sim *s = world(p, m, 4);
    from_everyone = new_exchange(s);
    assert(from_everyone >= 0);
    assert(run(s, 4, perform_all) == SIM_DONE);
    double dates_s[MOST_RANKS];
    sim_finish_s(s, dates_s);
    const double blocking_s = dates_s[0];
    sim_free(s);
    s = world(p, m, 4);
    from_everyone = new_exchange(s);
    assert(run(s, 4, start_and_wait) == SIM_DONE);
    for (int r = 0; r < 4; r++) assert(fabs(finish_s[r] - blocking_s) < 1e-12);
    sim_free(s);
}

static void groups_are_waited_for_among_others(const platform *p, const model *m)
{
    sim *s = world(p, m, 3);
    from_everyone = new_exchange(s);
    assert(run(s, 3, start_several) == SIM_DONE);
    statistics stats;
    sim_statistics(s, &stats);
    assert(stats.messages == 3 * (2 + 2 + 1));
    sim_free(s);
}

static void a_test_of_a_group_polls_each_of_its_requests(const platform *p, const model *m)
{
    sim *s = world(p, m, 3);
    from_everyone = new_exchange(s);
    assert(run(s, 3, start_and_test) == SIM_DONE);
    /* Rank 0 alone, four pending requests: polls of 1, 1, 2, 3, 4 ms, and so on until the others come at 0.1 s. */
    double at_s = 0;
    int polls = 1, tests = 0;
    for (; at_s < 0.1; tests++) {
        at_s += polls * 1e-3;
        for (int i = 0; i < 4; i++) at_s += polls++ * 1e-3;
        polls++;
    }
    assert(n_tests[0] >= tests);
    sim_free(s);
}

static void a_gate_holds_back_until_the_last_has_come(const platform *p, const model *m)
{
    static const int64_t nothing[] = {CALL_HALT};
    sim *s = world(p, m, 4);
    to_neighbour = sim_schedule_new(s, 1, nothing);
    the_gate = sim_latch_new(s, 4);
    assert(run(s, 4, pass_a_gate) == SIM_DONE);
    for (int r = 0; r < 4; r++) assert(r == 2 || fabs(finish_s[r] - 0.004) < 1e-12);
    assert(sim_latch_new(s, 1) == the_gate); /* it has gone */
    assert(sim_append_start(s, 0, 0, to_neighbour, 0, 0, NULL, the_gate) > 0);
    assert(sim_append_start(s, 0, 0, to_neighbour, 0, 0, NULL, the_gate) == SIM_BAD_SCHEDULE);
    assert(sim_append_start(s, 0, 0, to_neighbour, 0, 0, NULL, the_gate + 1) == SIM_BAD_SCHEDULE);
    sim_free(s);
}

static void who_waits_for_a_started_collective_says_so(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    from_everyone = new_exchange(s);
    assert(sim_next(s) == 0);
    int id = sim_append_start(s, 0, 0, from_everyone, 0, large_bytes, NULL, 0);
    sim_append_wait(s, 0, id);
    assert(sim_next(s) == 1);
    sim_append_mprobe(s, 1, 0, SIM_ANY, 4); /* the collective's message is none for a program */
    assert(sim_next(s) == SIM_STUCK);
    waiting w;
    sim_waiting(s, 0, &w);
    assert(w.kind == WAIT_COLLECTIVE && w.comm == 0 && w.n_requests == 2);
    sim_waiting(s, 1, &w);
    assert(w.kind == WAIT_PROBE && w.tag == 4);
    sim_free(s);
}

/* ---- who has entered ---- */

static int pair;

static void collect_and_go_on(sim *s, int rank, int stage)
{
    if (stage == 0) {
        if (rank == 1) sim_append_sleep(s, rank, 1);
        for (int i = 0; i < 3; i++) sim_append_collective(s, rank, pair, to_neighbour, 0, 0, NULL);
    } else if (stage == 1) {
        if (rank == 0) sim_append_start(s, rank, pair, from_everyone, 0, 0, NULL, 0); /* one that the other never enters */
        sim_comm_free(s, pair);
        sim_append_end(s, rank);
    }
}

static void waiting_for_a_late_rank_is_no_transfer(const platform *p, const model *m)
{
    static const int64_t exchange[] = {CALL_EXCHANGE, TERM_CONSTANT, 1, TERM_RANK, TERM_SUB, TERM_END, TERM_BYTES, TERM_END,
                                       TERM_CONSTANT, 1, TERM_RANK, TERM_SUB, TERM_END, TERM_BYTES, TERM_END, CALL_HALT};
    double spent_s[SPENT_KINDS];
    sim *s = world(p, m, 2);
    to_neighbour = sim_schedule_new(s, sizeof exchange / sizeof *exchange, exchange);
    from_everyone = new_exchange(s);
    pair = sim_comm_new(s, 2, (int[]){1, 0});
    assert(to_neighbour >= 0 && pair > 0 && run(s, 2, collect_and_go_on) == SIM_DONE);
    sim_spent_s(s, spent_s);
    assert(spent_s[SPENT_LATE_MEMBERS] == 1 && spent_s[SPENT_SLEEPING] == 1 && spent_s[SPENT_TRANSFER] > 0);
    sim_free(s);
}

int main(void)
{
    platform *p = machine();
    model m = plain();
    tables_are_read_within_their_bounds(p, &m);
    a_started_collective_takes_the_time_of_the_blocking_one(p, &m);
    groups_are_waited_for_among_others(p, &m);
    a_test_of_a_group_polls_each_of_its_requests(p, &m);
    a_gate_holds_back_until_the_last_has_come(p, &m);
    who_waits_for_a_started_collective_says_so(p, &m);
    waiting_for_a_late_rank_is_no_transfer(p, &m);
    platform_free(p);
    puts("groups: all well");
    return 0;
}
