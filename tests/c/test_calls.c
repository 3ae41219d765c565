/* The calls beside plain messages: communicators with another side, matched probes, requests taken back. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "small_worlds.h"

static void send_text(sim *s, int rank, int comm, int dest, int tag, const char *text)
{
    int bytes = (int)strlen(text) + 1, id = sim_append_send(s, rank, comm, dest, tag, bytes, SEND_STANDARD, 1);
    assert(id > 0);
    *sim_payload(s, id) = (payload){.data = payload_copy(s, text, bytes, NULL), .bytes = bytes, .kind = PAYLOAD_OWNED};
}

static int64_t copies(const sim *s)
{
    statistics stats;
    sim_statistics(s, &stats);
    return stats.copied_bytes;
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
    *sim_payload(s, request_of[rank]) = (payload){.data = got[rank], .bytes = 16, .kind = PAYLOAD_BORROWED};
    sim_append_wait(s, rank, request_of[rank]);
}

static void an_intercommunicator_speaks_to_its_other_side(const platform *p, const model *m)
{
    sim *s = world(p, m, 5);
    side[0] = sim_comm_new_inter(s, 3, (int[]){0, 1, 2}, 2, (int[]){4, 3});
    side[1] = sim_comm_other(s, side[0]);
    const int self = sim_comm_self(s, 3);
    assert(self > 0 && sim_comm_self(s, 3) == self && sim_comm_rank(s, self, 3) == 0 && sim_comm_rank(s, self, 2) == -1);
    assert(sim_comm_other(s, side[1]) == side[0] && sim_comm_other(s, 0) == 0 && sim_comm_other(s, self) == self);
    assert(sim_comm_size(s, side[0]) == 3 && sim_comm_peers(s, side[0]) == 2 && sim_comm_peers(s, side[1]) == 3);
    assert(sim_comm_rank(s, side[1], 3) == 1 && sim_comm_rank(s, side[0], 3) == -1);
    assert(run(s, 5, talk_across) == SIM_DONE && copies(s) == 0);
    assert(sim_append_send(s, 0, side[0], 2, 0, 0, SEND_STANDARD, 1) == SIM_BAD_RANK);
    assert(sim_append_recv(s, 3, side[1], 3, 0, 0) == SIM_BAD_RANK);
    sim_free(s);
}

static void a_number_of_nothing_is_refused(const platform *p, const model *m)
{
    sim *s = world(p, m, 3);
    assert(sim_next(s) == 0 && !sim_new(p, m, 1, (int[]){-1}) && !sim_new(p, m, 1, (int[]){MOST_RANKS}));
    const int pair = sim_comm_new(s, 2, (int[]){0, 1}), own = sim_append_recv(s, 0, 0, 1, 0, 0);
    const int sent = sim_append_send(s, 0, 0, 0, 0, 0, SEND_STANDARD, 0);
    const int wrong_comm[] = {-1, -2, pair + 1, 100000000, INT_MIN, INT_MAX};
    for (int i = 0; i < 6; i++) {
        const int comm = wrong_comm[i];
        assert(sim_comm_size(s, comm) == 0 && sim_comm_peers(s, comm) == 0 && sim_comm_rank(s, comm, 0) == -1);
        assert(sim_comm_world_rank(s, comm, 0) == -1);
        assert(sim_append_send(s, 0, comm, 0, 0, 0, SEND_STANDARD, 1) == SIM_BAD_RANK);
        assert(sim_append_recv(s, 0, comm, SIM_ANY, 0, 0) == SIM_BAD_RANK);
        assert(sim_append_probe(s, 0, comm, SIM_ANY, 0) == SIM_BAD_RANK);
        assert(sim_append_collective(s, 0, comm, 0, 0, 0, NULL) == SIM_BAD_RANK);
        assert(sim_append_start(s, 0, comm, 0, 0, 0, NULL, 0) == SIM_BAD_RANK);
        sim_comm_free(s, comm);
    }
    const int wrong_rank[] = {-1, 3, INT_MIN, INT_MAX};
    for (int i = 0; i < 4; i++) {
        const int rank = wrong_rank[i];
        assert(sim_append_send(s, rank, 0, 0, 0, 0, SEND_STANDARD, 1) == SIM_BAD_RANK);
        assert(sim_append_send(s, 0, 0, rank, 0, 0, SEND_STANDARD, 1) == SIM_BAD_RANK);
        assert(sim_append_recv(s, rank, 0, 0, 0, 0) == SIM_BAD_RANK && sim_append_compute(s, rank, 1, 0) == SIM_BAD_RANK);
        assert(sim_append_sleep(s, rank, 1) == SIM_BAD_RANK && sim_append_end(s, rank) == SIM_BAD_RANK);
    }
    assert(sim_append_recv(s, 2, pair, SIM_ANY, 0, 0) == SIM_BAD_RANK);
    const int wrong_request[] = {-1, sent + 1, 100000000, INT_MIN, INT_MAX};
    for (int i = 0; i < 5; i++) {
        const int id = wrong_request[i];
        assert(sim_append_wait(s, 0, id) == SIM_BAD_REQUEST && sim_append_test(s, 0, id) == SIM_BAD_REQUEST);
        assert(sim_append_get_status(s, 0, id) == SIM_BAD_REQUEST && sim_append_cancel(s, 0, id) == SIM_BAD_REQUEST);
        assert(sim_append_mrecv(s, 0, id, 0) == SIM_BAD_REQUEST && !sim_payload(s, id) && sim_request(s, id)->rank == -1);
        if (id > 0) assert(sim_append_wait_all(s, 0, 2, (int[]){own, id}) == SIM_BAD_REQUEST);
        if (id > 0) assert(sim_append_wait_any(s, 0, 2, (int[]){own, id}) == SIM_BAD_REQUEST);
        sim_release(s, id);
    }
    assert(sim_append_wait(s, 1, own) == SIM_BAD_REQUEST && sim_append_mrecv(s, 0, own, 0) == SIM_BAD_REQUEST);
    assert(sim_append_mrecv(s, 0, sent, 0) == SIM_BAD_REQUEST); /* no probe has found it */
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
        assert(held > 0 && sim_probed(s, 1)->source == 0 && sim_probed(s, 1)->tag == 1 && sim_probed(s, 1)->bytes == 6);
        request_of[1] = sim_append_recv(s, 1, 0, 0, 1, 16);
        *sim_payload(s, request_of[1]) = (payload){.data = got[1], .bytes = 16, .kind = PAYLOAD_BORROWED};
        sim_append_wait(s, 1, request_of[1]);
        break;
    case 3:
        assert(strcmp(got[1], "second") == 0);
        sim_release(s, request_of[1]);
        assert(sim_append_mrecv(s, 0, held, 16) == SIM_BAD_REQUEST);
        request_of[1] = sim_append_mrecv(s, 1, held, 16);
        assert(request_of[1] > 0 && sim_append_mrecv(s, 1, held, 16) == SIM_BAD_REQUEST);
        *sim_payload(s, request_of[1]) = (payload){.data = got[1], .bytes = 16, .kind = PAYLOAD_BORROWED};
        sim_append_get_status(s, 1, request_of[1]);
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
        *sim_payload(s, request_of[0]) = (payload){.token = 77, .bytes = 5000};
        send_text(s, 0, 0, 1, 1, "kept");
        sim_append_cancel(s, 0, request_of[0]);
        sim_append_wait(s, 0, request_of[0]);
    } else if (rank == 0) {
        const delivery *deliveries;
        assert(sim_deliveries(s, &deliveries) == 1 && deliveries[0].token == 77 && deliveries[0].is_cancelled);
        sim_deliveries_done(s);
        assert(sim_request(s, request_of[0])->is_cancelled && sim_now_s(s) < 2e-3);
        sim_release(s, request_of[0]);
        sim_append_end(s, 0);
    } else if (stage == 0) {
        for (int i = 0; i < 3; i++) {
            list[i] = sim_append_recv(s, 1, 0, i == 1 ? 0 : SIM_ANY, 1, 16);
            *sim_payload(s, list[i]) = (payload){.data = got[i], .bytes = 16, .kind = PAYLOAD_BORROWED};
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

/* ---- waits and tests for none ---- */

static void ask_for_none(sim *s, int rank, int stage)
{
    waiting w;
    sim_polling(s, rank, &w);
    assert(stage == 2 ? w.kind == WAIT_SEVERAL && w.n_requests == 0 : w.kind == WAIT_NOTHING);
    if (stage > 0) assert(sim_answer(s, rank) == -1);
    if (stage == 0) assert(sim_append_wait_any(s, rank, 0, NULL) == 0);
    if (stage == 1) assert(sim_append_test_any(s, rank, 0, NULL) == 0);
    if (stage == 2) assert(sim_append_wait_all(s, rank, 0, NULL) == 0 && sim_append_end(s, rank) == 0);
}

static void a_list_of_no_requests_waits_for_none(const platform *p, const model *m)
{
    sim *s = world(p, m, 1);
    assert(run(s, 1, ask_for_none) == SIM_DONE);
    sim_free(s);
}

/* ---- polls in vain ---- */

static void poll_and_go_on(sim *s, int rank, int stage)
{
    if (stage == 0) assert(!sim_polls_in_vain(s, rank) && sim_append_iprobe(s, rank, 0, -1, 5) == 0);
    if (stage == 1) {
        assert(sim_polls_in_vain(s, rank));
        assert(sim_append_compute(s, rank, 1e6, 0) == 0 && sim_append_sleep(s, rank, 1e-3) == 0 && sim_polls_in_vain(s, rank));
        assert(sim_append_send(s, rank, 0, 0, 5, 1, SEND_STANDARD, 1) > 0 && !sim_polls_in_vain(s, rank));
        assert(sim_append_iprobe(s, rank, 0, -1, 6) == 0);
    }
    if (stage == 2) assert(sim_polls_in_vain(s, rank) && sim_append_iprobe(s, rank, 0, -1, 5) == 0);
    if (stage == 3) assert(sim_answer(s, rank) && !sim_polls_in_vain(s, rank) && sim_append_end(s, rank) == 0);
}

static void a_rank_polls_in_vain_until_it_is_told_something_else(const platform *p, const model *m)
{
    sim *s = world(p, m, 1);
    assert(run(s, 1, poll_and_go_on) == SIM_DONE);
    sim_free(s);
}

/* ---- blocking probes ---- */

enum { LARGE = 1 << 20, A_LOOK = 4 }; /* bytes; looks a second */

static struct {
    int prober, sender;
    int n_looks;                 /* the send comes at the date of this look, */
    int n_calls;                 /* after so many calls of its sender there */
} late_send;

static void probe_or_send(sim *s, int rank, int stage)
{
    const int bystander = 3 - late_send.prober - late_send.sender;
    if (rank == late_send.prober && stage == 0) {
        assert(sim_append_probe(s, rank, 0, late_send.sender, 7) == 0);
        return;
    }
    if (rank == late_send.prober) sim_append_wait(s, rank, sim_append_recv(s, rank, 0, SIM_ANY, 7, LARGE));
    if (rank == late_send.sender) {
        sim_append_sleep(s, rank, (double)late_send.n_looks / A_LOOK);
        for (int i = 0; i < late_send.n_calls; i++) sim_append_send(s, rank, 0, bystander, i, 1, SEND_STANDARD, 1);
        sim_append_wait(s, rank, sim_append_send(s, rank, 0, late_send.prober, 7, LARGE, SEND_STANDARD, 1));
    }
    if (rank == bystander)
        for (int i = 0; i < late_send.n_calls; i++) sim_append_wait(s, rank, sim_append_recv(s, rank, 0, SIM_ANY, i, 1));
    sim_append_end(s, rank);
}

static void a_probe_finds_a_send_that_comes_between_its_look_and_its_answer(const platform *p, const model *given)
{
    model m = *given;
    m.polling.iprobe_s = 1.0 / A_LOOK; /* dates of looks are exact */
    m.polling.grow = 0;
    for (int order = 0; order < 6; order++) {
        late_send.prober = order % 3;
        late_send.sender = (late_send.prober + 1 + order / 3) % 3;
        for (late_send.n_looks = 1; late_send.n_looks < 4; late_send.n_looks++) {
            for (late_send.n_calls = 0; late_send.n_calls < 4; late_send.n_calls++) {
                sim *s = world(p, &m, 3);
                assert(run(s, 3, probe_or_send) == SIM_DONE);
                sim_free(s);
            }
        }
    }
}

int main(void)
{
    platform *p = machine();
    model m = plain();
    an_intercommunicator_speaks_to_its_other_side(p, &m);
    a_number_of_nothing_is_refused(p, &m);
    a_probe_finds_a_send_that_comes_between_its_look_and_its_answer(p, &m);
    a_number_is_used_again_when_nothing_names_it(p, &m);
    a_matched_probe_holds_its_message(p, &m);
    a_held_message_that_nobody_receives_leaks_nothing(p, &m);
    a_request_is_taken_back_until_it_has_matched(p, &m);
    a_queue_outlives_what_leaves_it(p, &m);
    a_list_of_no_requests_waits_for_none(p, &m);
    a_rank_polls_in_vain_until_it_is_told_something_else(p, &m);
    platform_free(p);
    puts("calls: all well");
    return 0;
}
