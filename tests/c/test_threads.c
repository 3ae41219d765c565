/* Computing in several threads: closed forms on cores, on memory, and of power. */
#include <math.h>
#include <stdio.h>

#include "machine/power.h"
#include "small_worlds.h"
#include "watchers/energy.h"

enum { CORES = 64 };

/* The execution of each rank: its threads, flop of each of them, bytes of all. */
static struct {
    int n_threads;
    double flop, bytes;
} work[MOST_RANKS];

static void execute_once(sim *s, int rank, int stage)
{
    (void)stage;
    assert(sim_append_threads(s, rank, work[rank].n_threads, work[rank].flop, work[rank].bytes) == 0);
    assert(sim_append_end(s, rank) == 0);
}

static int is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-9 * fabs(expected);
}

/* All ranks on one host of CORES cores at 1e9 flop/s. */
static sim *on_one_host(const platform *p, int n_ranks, int cores_per_rank)
{
    static const int host[MOST_RANKS] = {0};
    const model m = plain();
    sim *s = sim_new(p, &m, n_ranks, host);
    assert(s);
    sim_cores_per_rank(s, cores_per_rank);
    return s;
}

static void threads_divide_flop_until_the_memory_of_the_host_bounds_them(void)
{
    for (int n = 1; n <= CORES; n++) {
        platform *p = two_hosts(CORES);
        sim *s = on_one_host(p, 1, CORES);
        assert(sim_host_memory(s, 0, 40e9, 10e9) == 0);
        work[0].n_threads = n;
        work[0].flop = 64e9 / n;
        work[0].bytes = 80e9; /* 8 s on a core, 2 s on 4 or more */
        assert(run(s, 1, execute_once) == SIM_DONE);
        double finish_s[1];
        sim_finish_s(s, finish_s);
        assert(is_near(finish_s[0], fmax(64.0 / n, fmax(8.0 / n, 2))));
        sim_free(s);
        platform_free(p);
    }
}

static void ranks_share_memory_by_their_threads(void)
{
    platform *p = two_hosts(CORES);
    sim *s = on_one_host(p, 2, 32);
    assert(sim_host_memory(s, 0, 40e9, 10e9) == 0);
    work[0].n_threads = 1;
    work[1].n_threads = 7;
    for (int rank = 0; rank < 2; rank++) {
        work[rank].flop = 0;
        work[rank].bytes = 35e9;
    }
    assert(run(s, 2, execute_once) == SIM_DONE);
    double finish_s[2];
    sim_finish_s(s, finish_s);
    assert(is_near(finish_s[1], 1)); /* 7 of 8 threads have 35e9 bytes/s */
    assert(is_near(finish_s[0], 1 + 30e9 / 10e9));
    sim_free(s);
    platform_free(p);
}

static void threads_share_cores_where_ranks_have_too_few(void)
{
    platform *p = two_hosts(4);
    for (int n_ranks = 1; n_ranks <= 4; n_ranks++) { /* of 4 threads each, on 4 cores */
        sim *s = on_one_host(p, n_ranks, 4);
        for (int rank = 0; rank < n_ranks; rank++) {
            work[rank].n_threads = 4;
            work[rank].flop = 1e9;
            work[rank].bytes = 0;
        }
        assert(run(s, n_ranks, execute_once) == SIM_DONE);
        double finish_s[MOST_RANKS];
        sim_finish_s(s, finish_s);
        for (int rank = 0; rank < n_ranks; rank++) assert(is_near(finish_s[rank], n_ranks));
        sim_free(s);
    }
    platform_free(p);
}

static void execute_on_four_cores(sim *s, int timeline, int stage)
{
    (void)stage;
    assert(sim_append_threads(s, timeline, 4, 1e9, 0) == 0 && sim_append_end(s, timeline) == 0);
}

/* Rank 1, on the other host, makes a rank beside the first one at 0.5 s, which has a quarter of its work. */
static void crowd_the_host(sim *s, int rank, int stage)
{
    if (rank == 1 && stage == 0) {
        assert(sim_append_sleep(s, 1, 0.5) == 0);
    } else if (rank == 1) {
        assert(sim_rank_new(s, 0) == 2 && sim_timeline_new(s, 2) == 2);
        assert(sim_append_end(s, 1) == 0);
    } else {
        assert(sim_append_threads(s, rank, 4, rank == 2 ? 0.25e9 : 1e9, 0) == 0 && sim_append_end(s, rank) == 0);
    }
}

static void a_rank_that_comes_late_shares_cores_with_threads_under_way(void)
{
    platform *p = two_hosts(4);
    const model m = plain();
    sim *s = sim_new(p, &m, 2, (int[]){0, 1});
    assert(s);
    sim_cores_per_rank(s, 4);
    assert(run(s, 3, crowd_the_host) == SIM_DONE);
    double finish_s[3];
    sim_finish_s(s, finish_s);
    assert(is_near(finish_s[0], 1.25) && is_near(finish_s[2], 1));
    sim_free(s);
    platform_free(p);
}

static void timelines_of_a_rank_share_its_cores_by_their_threads(void)
{
    platform *p = two_hosts(8);
    sim *s = on_one_host(p, 2, 4);
    assert(sim_timeline_new(s, 0) == 2); /* 4 + 4 threads on the 4 cores of the first rank, 4 on those of the second */
    assert(run(s, 3, execute_on_four_cores) == SIM_DONE);
    double finish_s[2];
    sim_finish_s(s, finish_s);
    assert(is_near(finish_s[0], 2) && is_near(finish_s[1], 1));
    sim_free(s);
    platform_free(p);
}

static void power_counts_the_busy_cores_of_threads(void)
{
    const power_state state = {1e9, 100, 100, 164}; /* 1 W a busy core */
    for (int n = 1; n <= CORES; n *= 2) {
        platform *p = two_hosts(CORES);
        assert(platform_set_power_states(p, 0, 1, platform_add_power_states(p, 1, &state, 0, 1, 9)) == 0);
        sim *s = on_one_host(p, 1, CORES);
        assert(sim_keep_energy(s) == 1);
        work[0].n_threads = n;
        work[0].flop = 2e9;
        work[0].bytes = 0;
        assert(run(s, 1, execute_once) == SIM_DONE);
        double joules[2], of_account[4] = {0};
        uint8_t is_used[2];
        const call_account *list;
        sim_host_energy_j(s, joules, is_used);
        sim_account_energy_j(s, sim_accounts(s, &list), of_account);
        assert(is_near(joules[0], 2 * (100 + n)) && is_near(of_account[0], 2 * n));
        sim_free(s);
        platform_free(p);
    }
}

static void threads_are_as_many_as_cores_of_their_rank_at_most(void)
{
    platform *p = two_hosts(4);
    sim *s = on_one_host(p, 1, 2);
    assert(sim_next(s) == 0);
    assert(sim_append_threads(s, 0, 3, 1, 0) == SIM_BAD_THREADS && sim_append_threads(s, 0, 0, 1, 0) == SIM_BAD_THREADS);
    assert(sim_append_threads(s, 0, 2, 1, 0) == 0 && sim_append_threads(s, 1, 1, 1, 0) == SIM_BAD_RANK);
    sim_free(s);
    platform_free(p);
}

int main(void)
{
    threads_divide_flop_until_the_memory_of_the_host_bounds_them();
    ranks_share_memory_by_their_threads();
    threads_share_cores_where_ranks_have_too_few();
    a_rank_that_comes_late_shares_cores_with_threads_under_way();
    timelines_of_a_rank_share_its_cores_by_their_threads();
    power_counts_the_busy_cores_of_threads();
    threads_are_as_many_as_cores_of_their_rank_at_most();
    puts("ok");
    return 0;
}
