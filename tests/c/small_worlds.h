/* small_worlds.h -- worlds of a few ranks whose programs are functions of a stage. */
#ifndef SMPY_TESTS_SMALL_WORLDS_H
#define SMPY_TESTS_SMALL_WORLDS_H
#include <assert.h>

#include "networks/network_flow.h"
#include "sim.h"

enum { MOST_RANKS = 8 };

/* Program of a rank, called when the kernel asks it for the stage-th time. */
typedef void program(sim *s, int rank, int stage);

static inline platform *machine(void)
{
    platform *p = platform_new();
    cluster c = {.n_hosts = MOST_RANKS, .cores = 1, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5,
                 .is_split = 1, .backbone_policy = LINK_SHARED};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    platform_check(p);
    return p;
}

/* Two hosts of so many cores, of 1e9 flop/s each. */
static inline platform *two_hosts(int cores)
{
    platform *p = platform_new();
    cluster c = {.n_hosts = 2, .cores = cores, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5,
                 .is_split = 1, .backbone_policy = LINK_SHARED};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    return p;
}

static inline model plain(void)
{
    static const flow_parameters network = {.n_factors = 1, .latency_factor = {1}, .bandwidth_factor = {1}};
    return (model){.network = {&network_flow, &network}, .calls.detached_below_bytes = 1000,
                   .polling = {.test_s = 1e-3, .iprobe_s = 1e-3, .grow = 1}};
}

/* Runs the ranks to the end: the last word of the kernel. */
static inline int run(sim *s, int n_ranks, program *what)
{
    int stage[MOST_RANKS] = {0};
    for (;;) {
        int next = sim_next(s);
        if (next == SIM_YIELD) continue;
        if (next < 0) return next;
        assert(next < n_ranks);
        what(s, next, stage[next]++);
    }
}

static inline sim *world(const platform *p, const model *m, int n_ranks)
{
    static const int host[MOST_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    sim *s = sim_new(p, m, n_ranks, host);
    assert(s);
    return s;
}
#endif
