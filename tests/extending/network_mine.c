/* The network model of own_network/mine.c, under the kernel's own sanitizers: runs worlds on it, and compares dates with its
 * formula. */
#include <assert.h>
#include <stdio.h>

#include "networks/network.h"
#include "own_network/mine.c"
#include "sim.h"

enum { RANKS = 4, ROUNDS = 3 };

static const mine_parameters given = {.latency_s = 1e-3, .bandwidth_bytes_per_s = 1e6};

static int64_t bytes_of(int rank)
{
    return 1000 * rank;
}

static double formula_s(int rank)
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
    const model m = {.network = {&smpy_network, &given}};
    sim *s = sim_new(p, &m, RANKS, (int[]){0, 1, 2, 3});
    assert(s);
    for (int rank; (rank = sim_next(s)) != SIM_DONE;) {
        if (rank == SIM_YIELD) continue;
        assert(rank >= 0);
        append(s, rank);
    }
    double finish_s[RANKS];
    sim_finish_s(s, finish_s);
    for (int rank = 1; rank < RANKS; rank++) assert(fabs(finish_s[rank] - ROUNDS * formula_s(rank)) < 1e-12);
    assert(sim_use_network(s, &smpy_network, &given) == SIM_TOO_LATE);
    sim_free(s);
}

static void a_world_may_end_in_the_middle_of_a_transfer(const platform *p)
{
    const model m = {.network = {&smpy_network, &given}};
    sim *s = sim_new(p, &m, 2, (int[]){0, 1});
    assert(s);
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
    puts("a network from outside: all well");
    return 0;
}
