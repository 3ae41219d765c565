/* A network model from outside the kernel's folder. Copy this file to begin one of your own: it needs public headers only.
 *
 * "Constant": each transfer takes latency + bytes / bandwidth, whatever else is under way. main() runs a world on it and compares
 * the dates with that formula. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heap.h"
#include "network.h"
#include "sim.h"

typedef struct {
    double latency_s, bandwidth_bytes_per_s;
} constant_parameters;

/* The state of the network of one world. */
typedef struct {
    constant_parameters given;
    heap ends;                   /* ends of transfers, by date; at one date in order of creation, as law (1) of network.h wants */
} constant_network;

static void *begin(sim *s, const void *parameters)
{
    (void)s;                     /* a model that knows links asks network_platform(s) and network_route() */
    constant_network *n = malloc(sizeof *n);
    if (!n) return NULL;
    n->given = *(const constant_parameters *)parameters;
    heap_init(&n->ends, 0);
    return n;
}

static int start(sim *s, void *state, int id)
{
    constant_network *n = state;
    const transfer *t = transfer_at(s, id);
    const double takes_s = n->given.latency_s + (double)t->bytes / n->given.bandwidth_bytes_per_s;
    return heap_push(&n->ends, network_clock(s)->now_s + takes_s, t->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

static int next_date(sim *s, void *state, double *date_s)
{
    (void)s;
    const constant_network *n = state;
    *date_s = n->ends.n ? n->ends.item[0].date_s : INFINITY;
    return 0;
}

static int fire(sim *s, void *state)
{
    constant_network *n = state;
    int n_fired = 0;
    for (; n->ends.n && n->ends.item[0].date_s <= network_clock(s)->now_s; n_fired++) {
        const int id = n->ends.item[0].id;
        heap_pop(&n->ends);      /* before the owner is told: it may start another transfer */
        transfer_end(s, id);
    }
    return n_fired;
}

static void free_state(void *state)
{
    constant_network *n = state;
    heap_free(&n->ends);
    free(n);
}

static void check(const sim *s, const void *state)
{
    (void)s;
    const constant_network *n = state;
    if (!heap_check(&n->ends)) abort();
}

static const network_kind network_constant = {"constant", begin, start, next_date, fire, free_state, check, NULL, NULL, NULL};

/* ---- its test ---- */

enum { RANKS = 4, ROUNDS = 3 };

static const constant_parameters given = {.latency_s = 1e-3, .bandwidth_bytes_per_s = 1e6};

static int64_t bytes_of(int rank)
{
    return 1000 * rank;
}

static double takes_s(int rank)
{
    return given.latency_s + (double)bytes_of(rank) / given.bandwidth_bytes_per_s;
}

/* All ranks but 0 send some messages to rank 0, one after the other, and all ranks at once. */
static void append(sim *s, int rank)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int peer = 1; rank == 0 && peer < RANKS; peer++)
            assert(sim_append_recv(s, 0, SIM_COMM_WORLD, peer, round, bytes_of(peer)) > 0);
        if (rank == 0) continue;
        const int send = sim_append_send(s, rank, SIM_COMM_WORLD, 0, round, bytes_of(rank), SEND_SYNCHRONOUS, 1);
        assert(send > 0 && sim_append_wait(s, rank, send) == 0);
    }
    assert(sim_append_end(s, rank) == 0);
}

static void transfers_do_not_slow_each_other_down(const platform *p)
{
    const model m = {.network = {.n_factors = 0}};
    sim *s = sim_new(p, &m, RANKS, (int[]){0, 1, 2, 3});
    assert(s && sim_use_network(s, &network_constant, &given) == 0);
    for (int rank; (rank = sim_next(s)) != SIM_DONE;) {
        if (rank == SIM_YIELD) continue;
        assert(rank >= 0);
        append(s, rank);
    }
    double finish_s[RANKS];
    sim_finish_s(s, finish_s);
    for (int rank = 1; rank < RANKS; rank++) assert(fabs(finish_s[rank] - ROUNDS * takes_s(rank)) < 1e-12);
    assert(sim_use_network(s, &network_constant, &given) == SIM_TOO_LATE);
    sim_free(s);
}

static void a_world_may_end_in_the_middle_of_a_transfer(const platform *p)
{
    const model m = {.network = {.n_factors = 0}};
    sim *s = sim_new(p, &m, 2, (int[]){0, 1});
    assert(s && sim_use_network(s, &network_constant, &given) == 0);
    assert(sim_next(s) == 0 && sim_append_recv(s, 0, SIM_COMM_WORLD, 1, 0, 8) > 0 && sim_append_sleep(s, 0, 1e-4) == 0);
    assert(sim_next(s) == 1 && sim_append_send(s, 1, SIM_COMM_WORLD, 0, 0, 8, SEND_STANDARD, 1) > 0);
    assert(sim_append_sleep(s, 1, 1) == 0 && sim_next(s) == 0);
    sim_free(s);
}

int main(void)
{
    platform *p = platform_new();
    const cluster c = {.n_hosts = RANKS, .cores = 1, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5};
    assert(p && platform_add_flat_cluster(p, -1, &c) >= 0);
    transfers_do_not_slow_each_other_down(p);
    a_world_may_end_in_the_middle_of_a_transfer(p);
    platform_free(p);
    puts("constant network: all well");
    return 0;
}
