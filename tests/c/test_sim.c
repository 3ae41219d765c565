/* Random programs in the kernel alone: every payload arrives whole, messages of one sender do not overtake, and the same
 * program gives the same dates twice. Malformed schedules are refused, whatever their words. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics/heap.h"
#include "basics/lanes.h"
#include "mpi/schedule.h"
#include "networks/network_flow.h"
#include "sim.h"

enum { RANKS = 12, HOSTS = 8, ROUNDS = 60, MOST_BYTES = 100000 };

static unsigned long long state;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)below);
}

static platform *machine(int with_backbone)
{
    platform *p = platform_new();
    cluster c = {.n_hosts = HOSTS, .cores = 1, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1.25e9, .latency_s = 2e-5,
                 .is_split = 1, .backbone_policy = LINK_SHARED};
    if (with_backbone) {
        c.backbone_bandwidth_bytes_per_s = 5e9;
        c.backbone_latency_s = 1e-5;
    }
    int zone = platform_add_flat_cluster(p, -1, &c);
    assert(zone >= 0);
    platform_check(p);
    return p;
}

static model smpi_like(void)
{
    static const flow_parameters network = {.n_factors = 2, .factor_above_bytes = {0, 65472}, .latency_factor = {2.0, 11.6},
                                            .bandwidth_factor = {0.8, 0.94}, .weight_bytes = 8775, .tcp_gamma_bytes = 4194304,
                                            .crosstraffic = 0.05, .envelope_bytes = 16};
    return (model){.network = {&network_flow, &network},
                   .calls = {.detached_below_bytes = 65536, .n_recv_overhead = 1, .recv_overhead = {0, 1e-7, 1e-12}},
                   .polling = {.test_s = 1e-4, .iprobe_s = 1e-4, .grow = 1}};
}

/* One rank's program: in every round, sends to `to`, receives from anyone, and now and then computes, tests and probes. */
typedef struct {
    int round, stage;
    int send, recv;
    int got[RANKS];
    char *out, *in;
} program;

static void fill(char *at, int bytes, int rank, int round)
{
    for (int i = 0; i < bytes; i++) at[i] = (char)(rank * 31 + round * 7 + i);
}

static int bytes_of(int round)
{
    static const int sizes[] = {0, 1, 241, 5000, 65535, 65536, 99999};
    return sizes[round % 7];
}

/* Appends until the rank has to ask. 0 when the rank is through. */
static int go_on(sim *s, int rank, program *p)
{
    int shift = 1 + p->round % (RANKS - 1), to = (rank + shift) % RANKS, bytes = bytes_of(p->round);
    if (p->round == ROUNDS) {
        if (p->stage++ == 0) {
            sim_append_end(s, rank);
            return 1;
        }
        return 0;
    }
    switch (p->stage++) {
    case 0:
        if (p->round % 3 == 0) sim_append_compute(s, rank, 1e3 * (1 + rank), 0);
        p->recv = sim_append_recv(s, rank, 0, SIM_ANY, p->round, MOST_BYTES);
        *sim_payload(s, p->recv) = (payload){.data = p->in, .bytes = MOST_BYTES, .kind = PAYLOAD_BORROWED};
        fill(p->out, bytes, rank, p->round);
        p->send = sim_append_send(s, rank, 0, to, p->round, bytes, p->round % 5 ? SEND_STANDARD : SEND_SYNCHRONOUS, 0);
        {
            const request *r = sim_request(s, p->send);
            *sim_payload(s, p->send) = (payload){.data = r->is_detached ? payload_copy(s, p->out, bytes, NULL) : p->out,
                                                 .bytes = bytes, .kind = r->is_detached ? PAYLOAD_OWNED : PAYLOAD_BORROWED};
            if (r->is_detached) {
                memset(p->out, 0, MOST_BYTES);
                p->send = 0;
            }
        }
        if (p->round % 4 == 1)
            sim_append_test(s, rank, p->recv);
        else if (p->round % 4 == 2)
            sim_append_iprobe(s, rank, 0, SIM_ANY, SIM_ANY);
        else
            sim_append_sleep(s, rank, 1e-6 * draw(5));
        return 1;
    case 1: sim_append_wait_all(s, rank, 2, (int[]){p->send, p->recv}); return 1;
    default: {
        const request *r = sim_request(s, p->recv);
        int from = (rank - shift + RANKS) % RANKS;
        assert(r->is_done && r->matched_source == from && r->matched_bytes == bytes && r->matched_tag == p->round);
        char *wanted = malloc(MOST_BYTES);
        fill(wanted, bytes, from, p->round);
        assert(memcmp(wanted, p->in, (size_t)bytes) == 0);
        free(wanted);
        sim_release(s, p->recv);
        if (p->send) sim_release(s, p->send);
        p->round++;
        p->stage = 0;
        return go_on(s, rank, p);
    }
    }
}

static double run(platform *machine, const model *m)
{
    int host[RANKS];
    for (int r = 0; r < RANKS; r++) host[r] = r % HOSTS;
    sim *s = sim_new(machine, m, RANKS, host);
    program *programs = calloc(RANKS, sizeof *programs);
    for (int r = 0; r < RANKS; r++) {
        programs[r].out = malloc(MOST_BYTES);
        programs[r].in = malloc(MOST_BYTES);
    }
    state = 7;
    for (;;) {
        int next = sim_next(s);
        if (next == SIM_DONE) break;
        if (next == SIM_YIELD) continue;
        assert(next >= 0);
        go_on(s, next, &programs[next]);
    }
    statistics stats;
    sim_statistics(s, &stats);
    assert(stats.messages == RANKS * ROUNDS && stats.copied_bytes == 0);
    double sum = 0, finish_s[RANKS];
    sim_finish_s(s, finish_s);
    for (int r = 0; r < RANKS; r++) {
        assert(finish_s[r] > 0);
        sum += finish_s[r] * (r + 1);
        free(programs[r].out);
        free(programs[r].in);
    }
    free(programs);
    sim_free(s);
    return sum;
}

static void a_world_freed_in_the_middle_leaks_nothing(platform *machine, const model *m)
{
    int host[2] = {0, 1};
    sim *s = sim_new(machine, m, 2, host);
    assert(sim_next(s) == 0);
    int id = sim_append_send(s, 0, 0, 1, 5, 100, SEND_STANDARD, 1);
    char data[100] = {0};
    *sim_payload(s, id) = (payload){.data = payload_copy(s, data, 100, NULL), .bytes = 100, .kind = PAYLOAD_OWNED};
    sim_append_wait_any(s, 0, 1, (int[]){sim_append_recv(s, 0, 0, 1, 1, 10)});
    assert(sim_next(s) == 1);
    sim_append_probe(s, 1, 0, 0, 99);
    assert(sim_next(s) == SIM_STUCK); /* a probe alone never makes time pass for ever */
    waiting w;
    sim_waiting(s, 1, &w);
    assert(w.kind == WAIT_PROBE && w.peer == 0 && w.tag == 99);
    sim_free(s);
}

static void schedules_are_checked(void)
{
    state = 99;
    for (int trial = 0; trial < 200000; trial++) {
        int64_t words[24];
        int n = 1 + draw(24);
        for (int i = 0; i < n; i++) words[i] = draw(12) - (draw(8) == 0);
        words[n - 1] = CALL_HALT;
        schedule *made = schedule_new(n, words);
        if (!made) continue;
        schedule_frame f;
        schedule_start(&f, made, 3, 8, 1, 100, NULL);
        for (int step = 0; step < 50 && schedule_step(&f).code != CALL_HALT; step++) continue;
        schedule_free(made);
    }
}

static void a_heap_gives_back_in_order(void)
{
    heap h;
    heap_init(&h, 1);
    state = 3;
    for (int trial = 0; trial < 20000; trial++) {
        int id = draw(300);
        if (!heap_has(&h, id))
            heap_push(&h, draw(50), trial, id);
        else if (draw(2))
            heap_move(&h, id, draw(50));
        else
            heap_remove(&h, id);
        assert(heap_check(&h));
    }
    double last = -1;
    while (h.n) {
        assert(h.item[0].date_s >= last);
        last = h.item[0].date_s;
        heap_pop(&h);
    }
    heap_free(&h);
}

/* A few durations beside dates that come from nowhere. */
static void lanes_give_back_in_order(void)
{
    lanes l;
    lanes_init(&l);
    double now = 0;
    int64_t order = 0;
    int n = 0;
    state = 7;
    for (int trial = 0; trial < 300000; trial++) {
        if (draw(trial % 100000 < 80000 ? 2 : 4) == 0 || !n) {
            double date = now + (draw(20) ? 1 + draw(12) : draw(1000));
            assert(lanes_push(&l, date, order++, trial) == 0);
            n++;
            continue;
        }
        const heap_item first = *lanes_first(&l);
        lanes_pop(&l);
        n--;
        assert(first.date_s >= now);
        const heap_item *next = lanes_first(&l);
        assert(!next == !n && (!next || next->date_s >= first.date_s));
        assert(!next || next->date_s > first.date_s || next->order > first.order);
        now = first.date_s;
    }
    lanes_free(&l);
}

/* Rank 0 asks for two things in turn, each until it is there; rank 1 sends them after a while. */
static void polls_that_notice_see_each_thing_at_once(const platform *machine, const model *given)
{
    model m = *given;
    m.polling.notice = 1;
    m.polling.iprobe_s = m.polling.test_s = 1e-6;
    sim *s = sim_new(machine, &m, 2, (int[]){0, 1});
    int n_polls = 0, found = 0, n_sent = 0;
    for (int next; (next = sim_next(s)) != SIM_DONE;) {
        if (next == SIM_YIELD) continue;
        assert(next >= 0);
        if (next == 1 && n_sent < 2) {
            sim_append_sleep(s, 1, 0.1 + 1e-7);
            sim_append_send(s, 1, 0, 0, n_sent++, 8, SEND_STANDARD, 1);
        } else if (next == 1 || found == 2) {
            sim_append_end(s, next);
        } else {
            if (n_polls && sim_answer(s, 0)) {
                double sent_s = 0.1 * (found + 1) + 1e-7 * (found + 1);
                assert(sim_now_s(s) - sent_s < 4e-6);
                sim_release(s, sim_append_recv(s, 0, 0, 1, found, 8));
                found++;
            }
            if (found < 2) sim_append_iprobe(s, 0, 0, 1, n_polls++ % 2 ? found : found + 7);
        }
    }
    assert(found == 2 && n_polls < 1000);
    sim_free(s);
}

int main(void)
{
    model m = smpi_like();
    for (int with_backbone = 0; with_backbone < 2; with_backbone++) {
        platform *p = machine(with_backbone);
        double first = run(p, &m), second = run(p, &m);
        assert(first == second);
        a_world_freed_in_the_middle_leaks_nothing(p, &m);
        polls_that_notice_see_each_thing_at_once(p, &m);
        model noticing = m;
        noticing.polling.notice = 1;
        assert(run(p, &noticing) == run(p, &noticing));
        platform_free(p);
    }
    schedules_are_checked();
    a_heap_gives_back_in_order();
    lanes_give_back_in_order();
    puts("kernel: all well");
    return 0;
}
