/* The calls beside plain messages: communicators with another side, collectives that a rank starts and goes on beside, matched
 * probes, requests taken back. Each world is a few ranks whose programs are functions of a stage. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "sim.h"

enum { MOST_RANKS = 8 };

/* What a rank does when the kernel asks it for the stage-th time. */
typedef void program(sim *s, int rank, int stage);

static platform *machine(void)
{
    platform *p = platform_new();
    cluster c = {.n_hosts = MOST_RANKS, .cores = 1, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5,
                 .is_split = 1, .backbone_policy = LINK_SHARED};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    return p;
}

static model plain(void)
{
    return (model){.n_factors = 1, .latency_factor = {1}, .bandwidth_factor = {1}, .detached_below_bytes = 1000, .test_s = 1e-3,
                   .iprobe_s = 1e-3, .polls_grow = 1};
}

/* Runs the ranks to the end: the last word of the kernel. */
static int run(sim *s, int n_ranks, program *what)
{
    int stage[MOST_RANKS] = {0};
    for (;;) {
        int next = sim_next(s);
        if (next == SIM_AIR) continue;
        if (next < 0) return next;
        assert(next < n_ranks);
        what(s, next, stage[next]++);
    }
}

static sim *world(const platform *p, const model *m, int n_ranks)
{
    static const int host[MOST_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    sim *s = sim_new(p, m, n_ranks, host);
    assert(s);
    return s;
}

static void send_text(sim *s, int rank, int comm, int dest, int tag, const char *text)
{
    int bytes = (int)strlen(text) + 1, id = sim_append_send(s, rank, comm, dest, tag, bytes, SEND_STANDARD, 1);
    assert(id > 0);
    sim_request(s, id)->load = (parcel){.data = parcel_copy(s, text, bytes), .bytes = bytes, .kind = PARCEL_OWNED};
}

static int64_t copies(const sim *s)
{
    statistics stats;
    sim_statistics(s, &stats);
    return stats.parcels_bytes;
}

/* ---- communicators ---- */

static int side[2];
static char got[MOST_RANKS][16];
static int request_of[MOST_RANKS];

/* Ranks 0, 1 and 2 face 3 and 4; each of the two hears from each of the three, in its own numbering. */
static void talk_across(sim *s, int rank, int stage)
{
    int mine = side[rank >= 3];
    if (stage == 0 && rank < 3) {
        for (int peer = 0; peer < 2; peer++) send_text(s, rank, mine, peer, 7, rank == 0 ? "zero" : rank == 1 ? "one" : "two");
        sim_append_end(s, rank);
        return;
    }
    if (stage > 0) {
        const request *r = sim_request(s, request_of[rank]);
        static const char *const said[] = {"two", "one", "zero"};
        assert(r->matched_source == 3 - stage && strcmp(got[rank], said[stage - 1]) == 0);
        sim_release(s, request_of[rank]);
    }
    if (stage == 3) {
        sim_append_end(s, rank);
        return;
    }
    request_of[rank] = sim_append_recv(s, rank, mine, 2 - stage, 7, 16);
    sim_request(s, request_of[rank])->load = (parcel){.data = got[rank], .bytes = 16, .kind = PARCEL_BORROWED};
    sim_append_wait(s, rank, request_of[rank]);
}

static void an_intercommunicator_speaks_to_its_other_side(const platform *p, const model *m)
{
    sim *s = world(p, m, 5);
    side[0] = sim_comm_new_inter(s, 3, (int[]){0, 1, 2}, 2, (int[]){4, 3});
    side[1] = sim_comm_other(s, side[0]);
    assert(sim_comm_other(s, side[1]) == side[0] && sim_comm_other(s, 0) == 0 && sim_comm_other(s, 3) == 3);
    assert(sim_comm_size(s, side[0]) == 3 && sim_comm_peers(s, side[0]) == 2 && sim_comm_peers(s, side[1]) == 3);
    assert(sim_comm_rank(s, side[1], 3) == 1 && sim_comm_rank(s, side[0], 3) == -1);
    assert(run(s, 5, talk_across) == SIM_DONE && copies(s) == 0);
    assert(sim_append_send(s, 0, side[0], 2, 0, 0, SEND_STANDARD, 1) == SIM_BAD_RANK);
    assert(sim_append_recv(s, 3, side[1], 3, 0, 0) == SIM_BAD_RANK);
    sim_free(s);
}

static void a_number_is_used_again_when_nothing_names_it(const platform *p, const model *m)
{
    sim *s = world(p, m, 3);
    int first = sim_comm_new(s, 2, (int[]){2, 0});
    sim_comm_free(s, first);
    for (int i = 0; i < 100; i++) {
        int again = sim_comm_new(s, 2, (int[]){1, 2});
        assert(again == first && sim_comm_rank(s, again, 2) == 1);
        sim_comm_free(s, again);
        sim_comm_free(s, again);
    }
    int named = sim_comm_new(s, 2, (int[]){0, 1});
    assert(sim_next(s) == 0);
    int id = sim_append_recv(s, 0, named, 1, 0, 0);
    sim_comm_free(s, named);
    assert(sim_comm_new(s, 1, (int[]){0}) != named); /* the receive may still match */
    sim_append_cancel(s, 0, id);
    sim_append_wait(s, 0, id);
    assert(sim_next(s) == 1);
    sim_append_end(s, 1);
    assert(sim_next(s) == 2);
    sim_append_end(s, 2);
    assert(sim_next(s) == 0 && sim_request(s, id)->is_cancelled);
    sim_release(s, id);
    assert(sim_comm_new(s, 1, (int[]){0}) == named);
    int pair = sim_comm_new_inter(s, 1, (int[]){0}, 1, (int[]){1}), other = sim_comm_other(s, pair);
    sim_comm_free(s, pair);
    int next = sim_comm_new(s, 1, (int[]){2});
    assert(next != pair && next != other); /* the other side is in use */
    sim_comm_free(s, other);
    next = sim_comm_new(s, 1, (int[]){2});
    assert(next == pair || next == other);
    sim_free(s);
}

/* ---- schedules ---- */

static int from_everyone, to_neighbour;

/* Everyone sends NBYTES to everyone else. */
static int new_exchange(sim *s)
{
    static const int64_t words[] = {
        CALL_LOOP, TERM_CONSTANT, 0, TERM_END, TERM_SIZE, TERM_END, 21,
        CALL_UNLESS, TERM_RANK, TERM_LOOP, 0, TERM_NE, TERM_END, 12,
        CALL_ISEND, TERM_LOOP, 0, TERM_END, TERM_BYTES, TERM_END, CALL_IRECV, TERM_LOOP, 0, TERM_END, TERM_BYTES, TERM_END,
        CALL_AGAIN, 21, CALL_HALT};
    return sim_schedule_new(s, (int)(sizeof words / sizeof *words), words);
}

static void tables_are_read_within_their_bounds(const platform *p, const model *m)
{
    static const int64_t words[] = {CALL_SEND, TERM_CONSTANT, 0, TERM_TABLE, 1, TERM_END, TERM_ROOT, TERM_TABLE, 0, TERM_END, CALL_HALT};
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
    static const int64_t malformed[][5] = {{CALL_UNLESS, TERM_TABLE, 0, TERM_END, 0}, {CALL_UNLESS, TERM_RANK, TERM_TABLE, 4, TERM_END}};
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

static int64_t large_bytes, small_bytes;
static double finish_s[MOST_RANKS];

static void start_and_wait(sim *s, int rank, int stage)
{
    if (stage == 0) {
        request_of[rank] = sim_append_start(s, rank, 0, from_everyone, 0, large_bytes, NULL, 0);
        sim_append_compute(s, rank, 1e3 * rank);
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
    double blocking_s = sim_finish_s(s)[0];
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
    the_gate = sim_gate_new(s, 4);
    assert(run(s, 4, pass_a_gate) == SIM_DONE);
    for (int r = 0; r < 4; r++) assert(r == 2 || fabs(finish_s[r] - 0.004) < 1e-12);
    assert(sim_gate_new(s, 1) == the_gate); /* it has gone */
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

/* ---- matched probes, requests taken back ---- */

/* Rank 1 holds the first of two messages, receives the second, then the held one. */
static void hold_one(sim *s, int rank, int stage)
{
    static int held;
    if (rank == 0) {
        send_text(s, 0, 0, 1, 1, "first");
        send_text(s, 0, 0, 1, 1, "second");
        sim_append_end(s, 0);
        return;
    }
    switch (stage) {
    case 0: sim_append_improbe(s, 1, 0, SIM_ANY, 2); break;
    case 1:
        assert(sim_answer(s, 1) == 0);
        sim_append_mprobe(s, 1, 0, SIM_ANY, SIM_ANY);
        break;
    case 2:
        held = (int)sim_answer(s, 1);
        assert(held > 0 && sim_probed(s, 1)->peer == 0 && sim_probed(s, 1)->tag == 1 && sim_probed(s, 1)->bytes == 6);
        request_of[1] = sim_append_recv(s, 1, 0, 0, 1, 16);
        sim_request(s, request_of[1])->load = (parcel){.data = got[1], .bytes = 16, .kind = PARCEL_BORROWED};
        sim_append_wait(s, 1, request_of[1]);
        break;
    case 3:
        assert(strcmp(got[1], "second") == 0);
        sim_release(s, request_of[1]);
        request_of[1] = sim_append_mrecv(s, 1, held, 16);
        sim_request(s, request_of[1])->load = (parcel){.data = got[1], .bytes = 16, .kind = PARCEL_BORROWED};
        sim_append_peek(s, 1, request_of[1]);
        break;
    case 4:
        assert(sim_answer(s, 1) == 1); /* the look took longer than the message */
        sim_append_wait(s, 1, request_of[1]);
        break;
    default:
        assert(strcmp(got[1], "first") == 0 && sim_request(s, request_of[1])->matched_source == 0);
        sim_release(s, request_of[1]);
        sim_append_end(s, 1);
    }
}

static void a_matched_probe_holds_its_message(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(run(s, 2, hold_one) == SIM_DONE && copies(s) == 0);
    sim_free(s);
}

static void a_held_message_that_nobody_receives_leaks_nothing(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(sim_next(s) == 0);
    send_text(s, 0, 0, 1, 1, "lost");
    sim_append_end(s, 0);
    assert(sim_next(s) == 1);
    sim_append_improbe(s, 1, 0, 0, 1);
    while (sim_next(s) != 1) continue;
    assert(sim_answer(s, 1) > 0);
    sim_append_end(s, 1);
    while (sim_next(s) != SIM_DONE) continue;
    sim_free(s);
}

/* Rank 1 posts three receives and takes one back; what comes goes to the others. Rank 0 takes back a send nobody receives. */
static void take_back(sim *s, int rank, int stage)
{
    static int list[3];
    if (rank == 0 && stage == 0) {
        sim_append_sleep(s, 0, 1e-3);
        request_of[0] = sim_append_send(s, 0, 0, 1, 3, 5000, SEND_STANDARD, 0);
        sim_request(s, request_of[0])->load = (parcel){.token = 77, .bytes = 5000};
        send_text(s, 0, 0, 1, 1, "kept");
        sim_append_cancel(s, 0, request_of[0]);
        sim_append_wait(s, 0, request_of[0]);
    } else if (rank == 0) {
        const errand *errands;
        assert(sim_errands(s, &errands) == 1 && errands[0].token == 77 && errands[0].is_cancelled);
        sim_errands_done(s);
        assert(sim_request(s, request_of[0])->is_cancelled && sim_now_s(s) < 2e-3);
        sim_release(s, request_of[0]);
        sim_append_end(s, 0);
    } else if (stage == 0) {
        for (int i = 0; i < 3; i++) {
            list[i] = sim_append_recv(s, 1, 0, i == 1 ? 0 : SIM_ANY, 1, 16);
            sim_request(s, list[i])->load = (parcel){.data = got[i], .bytes = 16, .kind = PARCEL_BORROWED};
        }
        sim_append_cancel(s, 1, list[0]);
        sim_append_wait_all(s, 1, 2, list);
    } else if (stage == 1) {
        assert(sim_request(s, list[0])->is_cancelled && !sim_request(s, list[1])->is_cancelled && strcmp(got[1], "kept") == 0);
        sim_append_cancel(s, 1, list[1]); /* it has matched: too late */
        sim_append_cancel(s, 1, list[2]);
        sim_append_test(s, 1, list[2]);
    } else {
        assert(sim_answer(s, 1) == 1 && !sim_request(s, list[1])->is_cancelled && sim_request(s, list[2])->is_cancelled);
        for (int i = 0; i < 3; i++) sim_release(s, list[i]);
        sim_append_end(s, 1);
    }
}

static void a_request_is_taken_back_until_it_has_matched(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(run(s, 2, take_back) == SIM_DONE && copies(s) == 0);
    sim_free(s);
}

/* Any of a queue's requests can go: its head, its tail, one between. */
static void a_queue_outlives_what_leaves_it(const platform *p, const model *m)
{
    for (int gone = 0; gone < 8; gone++) {
        sim *s = world(p, m, 2);
        int list[3];
        assert(sim_next(s) == 0);
        for (int i = 0; i < 3; i++) list[i] = sim_append_recv(s, 0, 0, 1, 5, 8 + i);
        for (int i = 0; i < 3; i++)
            if (gone >> i & 1) sim_append_cancel(s, 0, list[i]);
        sim_append_wait_all(s, 0, 3, list);
        assert(sim_next(s) == 1);
        sim_append_sleep(s, 1, 1e-3);
        for (int i = 0; i < 3; i++)
            if (!(gone >> i & 1)) sim_append_send(s, 1, 0, 0, 5, i, SEND_STANDARD, 1);
        sim_append_end(s, 1);
        while (sim_next(s) != 0) continue;
        for (int i = 0; i < 3; i++) {
            const request *r = sim_request(s, list[i]);
            assert(r->is_cancelled == (gone >> i & 1) && (r->is_cancelled || r->matched_bytes == i));
        }
        sim_free(s);
    }
}

int main(void)
{
    platform *p = machine();
    model m = plain();
    small_bytes = 10;
    large_bytes = 5000;
    an_intercommunicator_speaks_to_its_other_side(p, &m);
    a_number_is_used_again_when_nothing_names_it(p, &m);
    tables_are_read_within_their_bounds(p, &m);
    a_started_collective_takes_the_time_of_the_blocking_one(p, &m);
    groups_are_waited_for_among_others(p, &m);
    a_test_of_a_group_polls_each_of_its_requests(p, &m);
    a_gate_holds_back_until_the_last_has_come(p, &m);
    who_waits_for_a_started_collective_says_so(p, &m);
    a_matched_probe_holds_its_message(p, &m);
    a_held_message_that_nobody_receives_leaks_nothing(p, &m);
    a_request_is_taken_back_until_it_has_matched(p, &m);
    a_queue_outlives_what_leaves_it(p, &m);
    platform_free(p);
    puts("calls: all well");
    return 0;
}
