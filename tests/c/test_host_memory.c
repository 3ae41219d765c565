/* Executions that move bytes: alone, at once on a host's memory, with and without a core of their own. */
#include <math.h>
#include <stdio.h>

#include "small_worlds.h"

enum { CORES = 4 };

/* Executions of each rank, one after the other; {0, 0}: no more. */
typedef struct {
    double flop, bytes;
} amount;

static const amount *to_do[MOST_RANKS];

static void execute_all(sim *s, int rank, int stage)
{
    (void)stage;
    for (const amount *a = to_do[rank]; a->flop > 0 || a->bytes > 0; a++)
        assert(sim_append_compute(s, rank, a->flop, a->bytes) == 0);
    assert(sim_append_end(s, rank) == 0);
}

/* All on one host of CORES cores at 1e9 flop/s; the dates at which they end. */
static void ends(int n_ranks, double bytes_per_s, double core_bytes_per_s, double *finish_s)
{
    static const int host[MOST_RANKS] = {0};
    platform *p = two_hosts(CORES);
    const model m = plain();
    platform_check(p);
    sim *s = sim_new(p, &m, n_ranks, host);
    assert(s && sim_host_memory(s, 0, bytes_per_s, core_bytes_per_s) == 0);
    assert(sim_host_memory(s, 2, 1, 1) == SIM_BAD_RANK && sim_host_memory(s, 1, 1e9, 0) == 0);
    assert(run(s, n_ranks, execute_all) == SIM_DONE);
    sim_finish_s(s, finish_s);
    sim_free(s);
    platform_free(p);
}

static int is_at(double date_s, double expected_s)
{
    return fabs(date_s - expected_s) < 1e-9 * expected_s;
}

static void an_execution_ends_when_both_its_flop_and_its_bytes_are_done(void)
{
    static const amount flop_bound[] = {{3e9, 1e9}, {0, 0}}, memory_bound[] = {{1e9, 4e9}, {0, 0}},
                        bytes_alone[] = {{0, 2e9}, {0, 0}};
    const amount *one[] = {flop_bound, memory_bound, bytes_alone};
    const double alone_s[] = {3, 4, 2}, halved_s[] = {3, 8, 4};
    double finish_s[1];
    for (int i = 0; i < 3; i++) {
        to_do[0] = one[i];
        ends(1, 1e9, 0, finish_s);
        assert(is_at(finish_s[0], alone_s[i]));
        ends(1, 4e9, 0.5e9, finish_s);
        assert(is_at(finish_s[0], halved_s[i]));
        ends(1, 0, 0, finish_s); /* not known: bytes take no time */
        assert(i == 2 ? finish_s[0] == 0 : is_at(finish_s[0], i == 0 ? 3 : 1));
    }
}

static void cores_share_the_memory_of_their_host(void)
{
    static const amount some[] = {{0, 1e9}, {0, 0}}, more[] = {{0, 3e9}, {1e9, 0}, {0, 0}};
    double finish_s[MOST_RANKS];
    for (int rank = 0; rank < CORES; rank++) to_do[rank] = some;
    for (int n = 1; n <= CORES; n++) {
        ends(n, 2e9, 1e9, finish_s); /* two cores have all they can move */
        for (int rank = 0; rank < n; rank++) assert(is_at(finish_s[rank], fmax(1, n / 2.0)));
    }
    to_do[2] = more; /* 1 GB until 1.5 s, 2 more at the speed of a core until 3.5 s, then 1e9 flop */
    ends(3, 2e9, 1e9, finish_s);
    assert(is_at(finish_s[0], 1.5) && is_at(finish_s[1], 1.5) && is_at(finish_s[2], 4.5));
}

static void each_core_has_its_own_memory_where_none_of_the_host_is_known(void)
{
    static const amount some[] = {{0, 1e9}, {0, 0}};
    double finish_s[MOST_RANKS];
    for (int rank = 0; rank < MOST_RANKS; rank++) to_do[rank] = some;
    for (int n = 1; n <= MOST_RANKS; n++) {
        ends(n, 0, 1e9, finish_s);
        for (int rank = 0; rank < n; rank++) assert(is_at(finish_s[rank], fmax(1, n / (double)CORES)));
    }
}

static void ranks_that_share_cores_share_the_memory_too(void)
{
    static const amount both[] = {{1e9, 1e9}, {0, 0}};
    double finish_s[MOST_RANKS];
    for (int rank = 0; rank < MOST_RANKS; rank++) to_do[rank] = both;
    ends(MOST_RANKS, 100e9, 0, finish_s);
    for (int rank = 0; rank < MOST_RANKS; rank++) assert(is_at(finish_s[rank], (double)MOST_RANKS / CORES));
    ends(MOST_RANKS, 1e9, 0, finish_s);
    for (int rank = 0; rank < MOST_RANKS; rank++) assert(is_at(finish_s[rank], MOST_RANKS));
}

int main(void)
{
    an_execution_ends_when_both_its_flop_and_its_bytes_are_done();
    cores_share_the_memory_of_their_host();
    each_core_has_its_own_memory_where_none_of_the_host_is_known();
    ranks_that_share_cores_share_the_memory_too();
    puts("ok");
    return 0;
}
