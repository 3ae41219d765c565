/* Cores that get slower while others are busy: the dates at which executions end, alone and together. */
#include <math.h>
#include <stdio.h>

#include "small_worlds.h"

enum { CORES = 4 };

static double amount_flop[MOST_RANKS];

static void execute_one(sim *s, int rank, int stage)
{
    (void)stage;
    assert(sim_append_compute(s, rank, amount_flop[rank], 0) == 0);
    assert(sim_append_end(s, rank) == 0);
}

static void ends(int n_ranks, int n, const double *share, double *finish_s)
{
    static const int host[MOST_RANKS] = {0};
    platform *p = two_hosts(CORES);
    const model m = plain();
    sim *s = sim_new(p, &m, n_ranks, host);
    assert(s && sim_host_busy_speed(s, 0, 2, n, share) == 0);
    assert(sim_host_busy_speed(s, 1, 2, n, share) == SIM_BAD_RANK && sim_host_busy_speed(s, 0, 1, 0, share) == SIM_BAD_SIZE);
    assert(run(s, n_ranks, execute_one) == SIM_DONE);
    sim_finish_s(s, finish_s);
    sim_free(s);
    platform_free(p);
}

static int is_at(double date_s, double expected_s)
{
    return fabs(date_s - expected_s) < 1e-9 * expected_s;
}

static void cores_have_the_part_that_as_many_busy_ones_leave(void)
{
    static const double share[] = {1, 0.8, 0.5};
    static const double expected_s[] = {1, 1 / 0.8, 2, 2, 2 * 5 / 4.0, 2 * 6 / 4.0};
    double finish_s[MOST_RANKS];
    for (int rank = 0; rank < MOST_RANKS; rank++) amount_flop[rank] = 1e9;
    for (int n = 1; n <= 6 && n <= MOST_RANKS; n++) {
        ends(n, 3, share, finish_s);
        for (int rank = 0; rank < n; rank++) assert(is_at(finish_s[rank], expected_s[n - 1]));
    }
}

static void a_core_gets_faster_when_another_one_is_idle_again(void)
{
    static const double share[] = {1, 0.5};
    double finish_s[2];
    amount_flop[0] = 1e9;
    amount_flop[1] = 3e9;
    ends(2, 2, share, finish_s);
    assert(is_at(finish_s[0], 2) && is_at(finish_s[1], 4));
}

int main(void)
{
    cores_have_the_part_that_as_many_busy_ones_leave();
    a_core_gets_faster_when_another_one_is_idle_again();
    puts("busy cores: ok");
    return 0;
}
