/* Joules of hosts and links: closed forms. */
#include <math.h>
#include <stdio.h>

#include "machine/power.h"
#include "machine/profile.h"
#include "small_worlds.h"
#include "watchers/energy.h"

enum { CORES = 2 };

static double flop_of[MOST_RANKS];

static void execute_once(sim *s, int rank, int stage)
{
    (void)stage;
    if (flop_of[rank] > 0) assert(sim_append_compute(s, rank, flop_of[rank], 0) == 0);
    assert(sim_append_end(s, rank) == 0);
}

static int is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * fabs(expected);
}

/* Two hosts of 2 cores at 4e9 flop/s, the first with 100:120:220 W. */
static platform *powered(void)
{
    platform *p = platform_new();
    cluster c = {.n_hosts = 2, .cores = CORES, .speed_flop_per_s = 4e9, .bandwidth_bytes_per_s = 1e9, .latency_s = 1e-5,
                 .is_split = 1, .backbone_policy = LINK_SHARED};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    const power_state state = {4e9, 100, 120, 220};
    const int set = platform_add_power_states(p, 1, &state, 0, 1, 9);
    assert(set == 0 && platform_set_power_states(p, 0, 1, set) == 0);
    return p;
}

static void a_machine_that_says_no_power_keeps_no_joules(void)
{
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 1);
    assert(sim_keep_energy(s) == 0 && isnan(sim_energy_of_host_j(s, 0)) && isnan(sim_power_of_host_w(s, 0)));
    sim_free(s);
    platform_free(p);
}

static void power_is_linear_in_the_busy_cores_and_shared_by_their_ranks(void)
{
    static const int host[] = {0, 0, 0};
    const model m = plain();
    for (int n = 1; n <= 3; n++) { /* three ranks share two cores */
        platform *p = powered();
        sim *s = sim_new(p, &m, n, host);
        for (int rank = 0; rank < n; rank++) flop_of[rank] = 4e9;
        assert(s && sim_keep_energy(s) == 1 && run(s, n, execute_once) == SIM_DONE);
        const double seconds = n == 3 ? 1.5 : 1, watts = n == 1 ? 170 : 220;
        double joules[2], of_account[8] = {0}, sum = 0;
        uint8_t is_used[2];
        const call_account *list;
        sim_host_energy_j(s, joules, is_used);
        assert(is_near(joules[0], watts * seconds) && is_used[0] && isnan(joules[1]) && !is_used[1]);
        const int n_accounts = sim_accounts(s, &list);
        sim_account_energy_j(s, n_accounts, of_account);
        for (int i = 0; i < n_accounts; i++) {
            assert(is_near(of_account[i], (watts - 100) * seconds / n));
            sum += of_account[i];
        }
        assert(n_accounts == n && is_near(sum, joules[0] - 100 * seconds));
        sim_free(s);
        platform_free(p);
    }
}

/* At 170 W until 0.25 s, at 145 W until 0.75 s, for 0.5 s more at half the speed, then at 170 W to the end. */
static void load_is_that_of_the_speed_of_the_state_not_of_the_profile(void)
{
    static const double date_s[] = {0, .25, .75}, value[] = {1, .5, 1};
    static const int host[] = {0};
    const model m = plain();
    platform *p = powered();
    assert(platform_add_profile(p, PROFILE_SPEED, 0, platform_add_series(p, 3, date_s, value, 0)) == 0);
    flop_of[0] = 4e9;
    sim *s = sim_new(p, &m, 1, host);
    assert(s && sim_keep_energy(s) == 1 && run(s, 1, execute_once) == SIM_DONE);
    assert(is_near(sim_now_s(s), 1.25) && is_near(sim_energy_of_host_j(s, 0), 170 * .25 + 145 * .5 + 170 * .5));
    sim_free(s);
    platform_free(p);
}

static void a_host_that_is_off_draws_what_it_says(void)
{
    static const double date_s[] = {0, .5}, value[] = {0, 1};
    static const int host[] = {1};
    const model m = plain();
    platform *p = powered();
    assert(platform_add_profile(p, PROFILE_HOST_IS_ON, 0, platform_add_series(p, 2, date_s, value, 0)) == 0);
    flop_of[0] = 4e9;
    sim *s = sim_new(p, &m, 1, host);
    assert(s && sim_keep_energy(s) == 1 && is_near(sim_power_of_host_w(s, 0), 9) && run(s, 1, execute_once) == SIM_DONE);
    assert(is_near(sim_energy_of_host_j(s, 0), 9 * .5 + 100 * .5));
    sim_free(s);
    platform_free(p);
}

/* Each one sends 1e6 bytes, both ways or from 0 to 1 alone, then sleeps. */
static int goes_both_ways;

static void send_and_sleep(sim *s, int rank, int stage)
{
    int request[2], n = 0;
    if (stage) {
        assert(sim_append_sleep(s, rank, 1) == 0 && sim_append_end(s, rank) == 0);
        return;
    }
    if (rank == 0 || goes_both_ways) request[n++] = sim_append_send(s, rank, 0, 1 - rank, 0, 1000000, SEND_STANDARD, 0);
    if (rank == 1 || goes_both_ways) request[n++] = sim_append_recv(s, rank, 0, 1 - rank, 0, 1000000);
    assert(sim_append_wait_all(s, rank, n, request) == 0);
}

/* Latency phases count as if the flow were there. A link that no transfer has is idle. */
static void a_link_is_charged_with_the_load_at_the_end_of_a_transfer(void)
{
    static const int policies[] = {LINK_SHARED, LINK_FATPIPE};
    for (int i = 0; i < 8; i++) {
        const int is_fatpipe = i & 1, is_traced = i & 2;
        goes_both_ways = i >> 2;
        platform *p = platform_new();
        const int zone = platform_add_full_zone(p, -1, -1), link = platform_add_link(p, 1e9, 2e-5, policies[is_fatpipe]);
        const int idle = platform_add_link(p, 1e9, 2e-5, LINK_SHARED);
        const int a = platform_add_host(p, zone, 1e9, 1), b = platform_add_host(p, zone, 1e9, 1);
        assert(platform_add_route(p, zone, a, b, -1, -1, 1, &link) == 0);
        assert(platform_add_route(p, zone, b, a, -1, -1, 1, &link) == 0);
        assert(platform_set_link_power(p, link, 2, 10, 30) == 0);
        platform_check(p);
        const model m = plain();
        sim *s = world(p, &m, 2);
        if (is_traced) assert(sim_count_links(s) == 0);
        assert(sim_keep_energy(s) == 1 && run(s, 2, send_and_sleep) == SIM_DONE);
        const double transfer_s = 2e-5 + (goes_both_ways && !is_fatpipe ? 2e-3 : 1e-3);
        double joules[2];
        sim_link_energy_j(s, joules);
        assert(is_near(sim_now_s(s), transfer_s + 1));
        assert(is_near(joules[link], 30 * transfer_s + 10 * 1) && is_near(joules[idle], 10 * (transfer_s + 1)));
        sim_free(s);
        platform_free(p);
    }
}

static void wrong_powers_are_refused(void)
{
    platform *p = powered();
    const power_state falling = {1e9, 100, 120, 90}, negative = {1e9, -1, 0, 90}, infinite = {1e9, 1, 2, INFINITY},
                      stopped = {0, 1, 2, 3}, good = {1e9, 1, 2, 3};
    assert(platform_add_power_states(p, 1, &falling, 0, 1, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_power_states(p, 1, &negative, 0, 1, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_power_states(p, 1, &infinite, 0, 1, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_power_states(p, 1, &stopped, 0, 1, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_power_states(p, 1, &good, 1, 1, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_power_states(p, 0, &good, 0, 1, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_power_states(p, 1, 2, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_power_states(p, 0, 1, 1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_link_power(p, 0, 1, 3, 2) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_link_power(p, 0, 99, 2, 3) == PLATFORM_BAD_ARGUMENT);
    platform_free(p);
}

int main(void)
{
    a_machine_that_says_no_power_keeps_no_joules();
    power_is_linear_in_the_busy_cores_and_shared_by_their_ranks();
    load_is_that_of_the_speed_of_the_state_not_of_the_profile();
    a_host_that_is_off_draws_what_it_says();
    a_link_is_charged_with_the_load_at_the_end_of_a_transfer();
    wrong_powers_are_refused();
    puts("energy: all well");
    return 0;
}
