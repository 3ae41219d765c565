/* Machines that change: refused numbers, ranks that come to a host that is off, networks that cannot follow, many
 * messages on links that change. */
#include <math.h>
#include <stdio.h>

#include "machine/profile.h"
#include "networks/network_flow.h"
#include "small_worlds.h"

static platform *changing(int kind, int resource, int n, const double *date_s, const double *value, double period_s)
{
    platform *p = machine();
    assert(platform_add_profile(p, kind, resource, platform_add_series(p, n, date_s, value, period_s)) == 0);
    return p;
}

/* ---- what cannot be a profile ---- */

static void numbers_out_of_range_are_refused(void)
{
    platform *p = machine();
    const double rising[] = {0, 1}, falling[] = {1, 0}, early[] = {-1, 1}, never[] = {0, INFINITY}, on[] = {1, 0};
    const double zero[] = {0, 1}, huge[] = {1, 1e300}, negative[] = {1, -1};
    assert(platform_add_series(p, 0, rising, on, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 2, falling, on, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 2, early, on, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 2, never, on, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 2, rising, on, 0.5) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 1, rising, on, 1e-12) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 2, rising, on, NAN) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_series(p, 2, rising, zero, 0) == 0 && platform_add_series(p, 2, rising, huge, 0) == 1);
    assert(platform_add_series(p, 2, rising, negative, 1) == 2 && platform_add_series(p, 2, rising, on, 0) == 3);
    assert(platform_add_profile(p, PROFILE_BANDWIDTH, 0, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_profile(p, PROFILE_SPEED, 0, 1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_profile(p, PROFILE_LATENCY, 0, 2) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_profile(p, PROFILE_SPEED, MOST_RANKS, 3) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_profile(p, PROFILE_LATENCY, -1, 3) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_profile(p, PROFILE_LINK_IS_ON, platform_n_links(p), 3) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_profile(p, PROFILE_SPEED, 0, 4) == PLATFORM_BAD_ARGUMENT && platform_add_profile(p, 5, 0, 3) < 0);
    assert(platform_add_profile(p, PROFILE_SPEED, 0, 3) == 0);
    platform_free(p);
}

/* ---- what is off ---- */

static void come_late(sim *s, int rank, int stage)
{
    if (stage == 0) assert(sim_append_sleep(s, rank, 1) == 0);
    if (stage == 1) assert(sim_rank_new(s, 1) == 1 && sim_timeline_new(s, 1) == 1);
    if (stage > 1) assert(sim_append_end(s, rank) == 0);
}

static void a_rank_that_comes_to_a_host_that_is_off_breaks_the_world(void)
{
    platform *p = changing(PROFILE_HOST_IS_ON, 1, 1, (double[]){0.5}, (double[]){0}, 0);
    const model m = plain();
    sim *s = world(p, &m, 1);
    loss_report lost;
    assert(run(s, 2, come_late) == SIM_BROKEN && sim_error(s) == SIM_HOST_OFF);
    sim_lost(s, &lost);
    assert(lost.host == 1 && lost.rank == 1 && lost.link == -1 && lost.request == 0);
    sim_free(s);
    platform_free(p);
}

/* ---- networks ---- */

static void compute_1_s(sim *s, int rank, int stage)
{
    if (stage == 0)
        assert(sim_append_compute(s, rank, 1e9, 0) == 0);
    else
        assert(sim_append_end(s, rank) == 0);
}

static void a_network_that_cannot_follow_its_links_is_refused(void)
{
    const network_kind deaf = {.name = "deaf", .begin = network_flow.begin, .start = network_flow.start,
                               .next_date = network_flow.next_date, .fire = network_flow.fire, .free = network_flow.free};
    platform *p = changing(PROFILE_LATENCY, 0, 1, (double[]){100}, (double[]){0}, 0);
    const model m = plain();
    sim *s = world(p, &m, 1);
    assert(sim_use_network(s, &deaf, m.network.parameters) == 0 && run(s, 1, compute_1_s) == SIM_BROKEN);
    assert(sim_error(s) == SIM_FIXED_LINKS && sim_network_name(s)[0] == 'd');
    sim_free(s);
    platform_free(p);
}

/* Each to each, of all sizes, again and again, while the links change: the debug build looks at all of it after every date. */
static void all_to_all(sim *s, int rank, int stage)
{
    int id[2 * MOST_RANKS], n = 0;
    if (stage == 5) {
        assert(sim_append_end(s, rank) == 0);
        return;
    }
    for (int i = 1; i < MOST_RANKS; i++) {
        const int bytes = (1 + (rank * 7 + i * 5 + stage) % 11) * (i % 2 ? 50 : 20000);
        id[n++] = sim_append_recv(s, rank, 0, (rank + i) % MOST_RANKS, 0, 1000000);
        id[n++] = sim_append_send(s, rank, 0, (rank + i) % MOST_RANKS, 0, bytes, SEND_STANDARD, 0);
    }
    assert(sim_append_wait_all(s, rank, n, id) == 0);
    for (int i = 0; i < n; i++) sim_release(s, id[i]);
    assert(sim_append_compute(s, rank, 1e5 * (1 + rank), 0) == 0);
}

static void many_messages_follow_many_changes(double weight_bytes)
{
    platform *p = machine();
    model m = plain();
    flow_parameters network = *(const flow_parameters *)m.network.parameters;
    network.weight_bytes = weight_bytes;
    network.tcp_gamma_bytes = 4194304;
    network.crosstraffic = 0.05;
    m.network.parameters = &network;
    for (int link = 0; link < platform_n_links(p); link++) {
        const double date_s[] = {0, 1e-6 * (3 + link), 7e-5 + 1e-6 * link};
        const double bandwidth[] = {1e9, 3e8 + 1e7 * link, 2e9}, latency[] = {1e-5, 0, 3e-6 * (1 + link % 3)};
        assert(platform_add_profile(p, PROFILE_BANDWIDTH, link, platform_add_series(p, 3, date_s, bandwidth, 1.1e-4)) == 0);
        assert(platform_add_profile(p, PROFILE_LATENCY, link, platform_add_series(p, 3, date_s, latency, 1.7e-4)) == 0);
    }
    double first_s[MOST_RANKS], again_s[MOST_RANKS];
    for (int time = 0; time < 2; time++) {
        sim *s = world(p, &m, MOST_RANKS);
        assert(run(s, MOST_RANKS, all_to_all) == SIM_DONE);
        sim_finish_s(s, time ? again_s : first_s);
        sim_free(s);
    }
    for (int rank = 0; rank < MOST_RANKS; rank++) assert(first_s[rank] == again_s[rank] && first_s[rank] > 0);
    platform_free(p);
}

int main(void)
{
    numbers_out_of_range_are_refused();
    a_rank_that_comes_to_a_host_that_is_off_breaks_the_world();
    a_network_that_cannot_follow_its_links_is_refused();
    many_messages_follow_many_changes(8775);
    many_messages_follow_many_changes(0);
    puts("changes: all well");
    return 0;
}
