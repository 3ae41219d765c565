/* Messages of other jobs: closed forms of shared links, the limit of many small messages, worlds that they neither wake nor keep
 * from their end, sources that are held back, refused numbers. */
#include <math.h>
#include <stdio.h>

#include "basics/seeded_choice.h"
#include "machine/profile.h"
#include "networks/network_constant.h"
#include "networks/network_flow.h"
#include "small_worlds.h"

static const double LATENCY_S = 2e-5, BANDWIDTH_BYTES_PER_S = 1e9; /* of `machine`: an up link, the backbone, a down link */
enum { SENT_BYTES = 1000000, LONG_BYTES = 40000000 };

static void send_bytes(sim *s, int rank, int stage, int bytes)
{
    if (stage == 0) {
        const int id = rank == 0 ? sim_append_send(s, 0, 0, 1, 0, bytes, SEND_STANDARD, 0)
                                 : sim_append_recv(s, 1, 0, 0, 0, bytes);
        assert(sim_append_wait(s, rank, id) == 0);
    } else {
        assert(sim_append_end(s, rank) == 0);
    }
}

static void send_from_0_to_1(sim *s, int rank, int stage)
{
    send_bytes(s, rank, stage, SENT_BYTES);
}

static void send_long_from_0_to_1(sim *s, int rank, int stage)
{
    send_bytes(s, rank, stage, LONG_BYTES);
}

/* Date at which the message of the run has arrived beside a list that comes again much later. */
static double arrival_s(int n, const background_message *list, background_counts *counts)
{
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 2);
    assert(n == 0 || sim_background_list(s, n, list, 1000, 0) == 1);
    assert(run(s, 2, send_from_0_to_1) == SIM_DONE);
    double finish_s[2];
    sim_finish_s(s, finish_s);
    if (counts) sim_background_counts(s, counts);
    sim_free(s);
    platform_free(p);
    return finish_s[1];
}

static int is_near(double value, double expected, double part)
{
    return fabs(value - expected) <= part * expected;
}

static void a_message_shares_its_links_with_the_background(void)
{
    const double alone_s = SENT_BYTES / BANDWIDTH_BYTES_PER_S, first_s = arrival_s(0, NULL, NULL);
    const background_message as_long[] = {{.date_s = 0, .bytes = SENT_BYTES, .source_host = 0, .target_host = 1}};
    const background_message shorter[] = {{.date_s = 0, .bytes = SENT_BYTES / 4, .source_host = 0, .target_host = 2}};
    const background_message later[] = {{.date_s = alone_s / 2, .bytes = 10 * SENT_BYTES, .source_host = 3, .target_host = 1}};
    const background_message two[] = {as_long[0], {.date_s = 0, .bytes = SENT_BYTES, .source_host = 0, .target_host = 1}};
    background_counts counts;
    assert(is_near(first_s, LATENCY_S + alone_s, 0.02));
    assert(is_near(arrival_s(1, as_long, &counts), first_s + alone_s, 1e-12));
    assert(counts.messages == 1 && counts.bytes == SENT_BYTES && counts.held_s == 0);
    assert(is_near(arrival_s(1, shorter, NULL), first_s + alone_s / 4, 1e-12));
    assert(is_near(arrival_s(1, later, NULL), first_s + alone_s / 2, 1e-12));
    assert(is_near(arrival_s(2, two, NULL), first_s + 2 * alone_s, 1e-12));
}

static void messages_on_other_links_change_no_bit(void)
{
    const background_message elsewhere[] = {{.date_s = 0, .bytes = SENT_BYTES, .source_host = 2, .target_host = 3},
                                            {.date_s = 1e-4, .bytes = SENT_BYTES, .source_host = 4, .target_host = 4}};
    assert(arrival_s(2, elsewhere, NULL) == arrival_s(0, NULL, NULL));
}

/* A queue whose customers share the server alike, one of them for ever: it is served at 1 - load (Kleinrock 1976, section 4.4). */
static void many_small_messages_take_their_share(double share)
{
    platform *p = two_hosts(1);
    const model m = plain();
    sim *s = world(p, &m, 2);
    background_counts counts;
    double finish_s[2];
    assert(sim_background_uniform(s, share, 2000, 7) == 1);
    assert(run(s, 2, send_long_from_0_to_1) == SIM_DONE);
    sim_finish_s(s, finish_s);
    sim_background_counts(s, &counts);
    assert(is_near(finish_s[1], LONG_BYTES / BANDWIDTH_BYTES_PER_S / (1 - share), 0.05));
    assert(is_near((double)counts.bytes, 2 * share * BANDWIDTH_BYTES_PER_S * finish_s[1], 0.02)); /* both hosts send */
    sim_free(s);
    platform_free(p);
}

/* A star with coordinates, which make latencies: hosts 0 and 1 have no links between them; host 2 has wires. */
static platform *two_of_three_without_links(void)
{
    platform *p = platform_new();
    const int zone = platform_add_star_zone(p, -1, 1), host = platform_add_hosts(p, zone, 3, 1e9, 1);
    for (int i = 0; i < 3; i++) assert(platform_set_coordinates(p, zone, host + i, 0.01 * i, 0, 0) == 0);
    const int wires = platform_add_links(p, 2, BANDWIDTH_BYTES_PER_S, 1e-5, LINK_SHARED);
    assert(platform_set_wires(p, zone, host + 2, 1, wires, wires + 1, 1, -1) == 0);
    return p;
}

static void compute_1_s(sim *s, int rank, int stage);

/* Half of the messages of hosts 0 and 1, and all of host 2's, have links. */
static void a_host_goes_on_after_a_path_without_links(void)
{
    platform *p = two_of_three_without_links();
    const model m = plain();
    sim *s = world(p, &m, 1);
    background_counts counts;
    assert(sim_background_uniform(s, 0.2, 10000, 7) == 1 && run(s, 1, compute_1_s) == SIM_DONE && sim_now_s(s) == 1);
    sim_background_counts(s, &counts);
    assert(is_near((double)counts.bytes, (0.5 + 0.5 + 1) * 0.2 * BANDWIDTH_BYTES_PER_S, 0.03));
    sim_free(s);
    platform_free(p);
}

/* This number's word is the largest: 2^64 - 1. */
static void a_drawn_number_is_below_1(void)
{
    const double x = seeded_uniform(0, 0, UINT64_C(0x966457D936384FC4));
    assert(x == 1 - 0x1p-53 && (int)(x * (INT32_MAX - 1)) < INT32_MAX - 1);
}

/* ---- ends ---- */

static void wait_in_vain(sim *s, int rank, int stage)
{
    assert(stage == 0 && sim_append_wait(s, rank, sim_append_recv(s, rank, 0, 0, 0, 8)) == 0);
}

static void end_at_once(sim *s, int rank, int stage)
{
    (void)stage;
    assert(sim_append_end(s, rank) == 0);
}

static void the_background_neither_wakes_a_world_nor_keeps_it_from_its_end(void)
{
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 1);
    assert(sim_background_uniform(s, 0.5, 1000, 0) == 1 && run(s, 1, wait_in_vain) == SIM_STUCK);
    sim_free(s);
    s = world(p, &m, 1);
    assert(sim_background_uniform(s, 0.5, 1000, 0) == 1 && run(s, 1, end_at_once) == SIM_DONE && sim_now_s(s) == 0);
    sim_free(s);
    platform_free(p);
}

static void compute_1_s(sim *s, int rank, int stage)
{
    assert(stage ? sim_append_end(s, rank) == 0 : sim_append_compute(s, rank, 1e9, 0) == 0);
}

/* 2,000 messages of 1 ms each are due within 0.2 ms; those of two hosts share the way to the third. */
static void a_list_is_held_back_while_its_hosts_have_too_many_messages_under_way(void)
{
    background_message list[2000];
    for (int i = 0; i < 2000; i++)
        list[i] = (background_message){.date_s = 1e-7 * i, .bytes = 1000000, .source_host = i % 2, .target_host = 2};
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 1);
    background_counts counts;
    statistics all;
    assert(sim_background_list(s, 2000, list, 0.5, 0) == 1 && run(s, 1, compute_1_s) == SIM_DONE && sim_now_s(s) == 1);
    sim_background_counts(s, &counts);
    sim_statistics(s, &all);
    assert(counts.messages > 1000 && counts.messages <= 1000 + 2 * 64 && counts.held_s > 0.99);
    assert(all.messages == 0 && all.bytes == 0);
    sim_free(s);
    platform_free(p);
}

/* 3 messages a round of 0.25 s, from the middle of a round on: rounds begin at -0.125, 0.125, ... */
static void a_list_comes_again_after_each_period(void)
{
    const background_message list[] = {{.date_s = 0, .bytes = 8, .target_host = 1}, {.date_s = 0.2, .bytes = 8, .target_host = 1},
                                       {.date_s = 0.25, .bytes = 8, .target_host = 1}};
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 1);
    background_counts counts;
    assert(sim_background_list(s, 3, list, 0.25, 0.125) == 1 && run(s, 1, compute_1_s) == SIM_DONE);
    sim_background_counts(s, &counts);
    assert(counts.messages == 2 + 3 * 3 + 1 && counts.held_s == 0);
    sim_free(s);
    platform_free(p);
}

/* ---- refusals ---- */

static void numbers_out_of_range_are_refused(void)
{
    const background_message good[] = {{.date_s = 0, .bytes = 8, .target_host = 1}, {.date_s = 1, .bytes = 8, .source_host = 1}};
    const background_message early[] = {{.date_s = 1, .bytes = 8, .target_host = 1}, {.date_s = 0, .bytes = 8}};
    const background_message far[] = {{.date_s = 0, .bytes = 8, .target_host = MOST_RANKS}};
    const background_message negative[] = {{.date_s = 0, .bytes = -1, .target_host = 1}};
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 1);
    assert(sim_background_uniform(s, 0, 8, 0) == SIM_BAD_SIZE && sim_background_uniform(s, 1, 8, 0) == SIM_BAD_SIZE);
    assert(sim_background_uniform(s, 0.5, 0, 0) == SIM_BAD_SIZE && sim_background_uniform(s, NAN, 8, 0) == SIM_BAD_SIZE);
    assert(sim_background_list(s, 2, early, 2, 0) == SIM_BAD_SIZE && sim_background_list(s, 1, far, 2, 0) == SIM_BAD_SIZE);
    assert(sim_background_list(s, 1, negative, 2, 0) == SIM_BAD_SIZE && sim_background_list(s, 0, good, 2, 0) == SIM_BAD_SIZE);
    assert(sim_background_list(s, 2, good, 0.5, 0) == SIM_BAD_SIZE && sim_background_list(s, 2, good, 2, 3) == SIM_BAD_SIZE);
    assert(sim_background_list(s, 2, good, 2, 2) == 1 && sim_background_uniform(s, 0.5, 8, 0) == SIM_TOO_LATE);
    sim_free(s);
    platform_free(p);
}

static void networks_without_links_and_links_that_are_off_are_refused(void)
{
    platform *p = machine(), *off = machine();
    const model m = plain();
    const double date_s[] = {1}, value[] = {0};
    assert(platform_add_profile(off, PROFILE_LINK_IS_ON, 0, platform_add_series(off, 1, date_s, value, 0)) == 0);
    sim *s = world(off, &m, 1);
    assert(sim_background_uniform(s, 0.5, 8, 0) == SIM_FIXED_LINKS);
    sim_free(s);
    model constant = m;
    constant.network = (network_model){&network_constant, &(constant_parameters){.takes_s = 1e-6}};
    s = world(p, &constant, 1);
    assert(sim_background_uniform(s, 0.5, 8, 0) == 0);
    sim_free(s);
    platform_free(p);
    platform_free(off);
}

int main(void)
{
    a_message_shares_its_links_with_the_background();
    messages_on_other_links_change_no_bit();
    many_small_messages_take_their_share(0.3);
    many_small_messages_take_their_share(0.6);
    a_host_goes_on_after_a_path_without_links();
    a_drawn_number_is_below_1();
    the_background_neither_wakes_a_world_nor_keeps_it_from_its_end();
    a_list_is_held_back_while_its_hosts_have_too_many_messages_under_way();
    a_list_comes_again_after_each_period();
    numbers_out_of_range_are_refused();
    networks_without_links_and_links_that_are_off_are_refused();
    puts("background: all well");
    return 0;
}
