/* Devices: rooflines by type, shares, streams, copies; messages through the host, direct, and between peers. */
#include <math.h>
#include <stdio.h>

#include "small_worlds.h"

static const double WIRE_S = 2e-5, WIRE_BYTES_PER_S = 1e9; /* two cables of `machine` */
static const double LINK_S = 3e-6, LINK_BYTES_PER_S = 4e9, PEER_S = 1e-6, PEER_BYTES_PER_S = 1e11;
static const double FLOP_PER_S = 1e12, MEMORY_BYTES_PER_S = 2e12;
static const int64_t BYTES = 1000000;
static const int APART[MOST_RANKS] = {0, 1, 2, 3}, TOGETHER[MOST_RANKS] = {0};

static int is_at(double date_s, double expected_s)
{
    return fabs(date_s - expected_s) < 1e-9 * expected_s + 1e-15;
}

static device_numbers usual(int is_direct)
{
    return (device_numbers){.flop_per_s = {FLOP_PER_S, 2 * FLOP_PER_S}, .memory_bytes_per_s = MEMORY_BYTES_PER_S,
                            .link_bytes_per_s = LINK_BYTES_PER_S, .link_latency_s = LINK_S, .is_direct = is_direct};
}

/* Ranks on hosts that have devices; the dates at which they end. */
static void ends_with(int n_ranks, const int *host, int n_devices, const device_numbers *is, program *what, double *finish_s)
{
    platform *p = machine();
    const model m = plain();
    sim *s = sim_new(p, &m, n_ranks, host);
    for (int at = 0; at < MOST_RANKS; at++)
        for (int i = 0; i < n_devices; i++) assert(sim_device_new(s, at, is) == at * n_devices + i);
    assert(run(s, n_ranks, what) == SIM_DONE);
    sim_finish_s(s, finish_s);
    sim_free(s);
    platform_free(p);
}

/* ---- kernels and copies ---- */

typedef struct {
    int is_copy, detail, stream; /* detail: the type, or whether it is to the device */
    double flop, bytes;
} wanted;

static const wanted *to_do;      /* of each rank; ends with a stream of -1. All begin at once, and then are waited for */

static void start_all(sim *s, int rank, int stage)
{
    int request[8], n = 0;
    (void)stage;
    for (const wanted *w = to_do; w->stream >= 0; w++) {
        request[n++] = w->is_copy ? sim_append_device_copy(s, rank, w->stream, w->detail, (int64_t)w->bytes)
                                  : sim_append_device_kernel(s, rank, w->stream, w->detail, w->flop, w->bytes);
        assert(request[n - 1] > 0);
    }
    assert(sim_append_wait_all(s, rank, n, request) == 0 && sim_append_end(s, rank) == 0);
}

static double time_of(int n_ranks, int n_devices, const wanted *work)
{
    const device_numbers is = usual(0);
    double finish_s[MOST_RANKS];
    to_do = work;
    ends_with(n_ranks, TOGETHER, n_devices, &is, start_all, finish_s);
    for (int rank = 1; rank < n_ranks; rank++) assert(finish_s[rank] == finish_s[0]);
    return finish_s[0];
}

static void a_kernel_takes_the_longer_of_its_flop_and_its_bytes(void)
{
    const wanted bound_by_speed[] = {{0, DEVICE_64, 0, 1e9, 1e9}, {.stream = -1}};
    const wanted single[] = {{0, DEVICE_32, 0, 1e9, 0}, {.stream = -1}};
    const wanted bound_by_memory[] = {{0, DEVICE_32, 0, 1e9, 4e9}, {.stream = -1}};
    assert(is_at(time_of(1, 1, bound_by_speed), 1e-3));
    assert(is_at(time_of(1, 1, single), 5e-4));
    assert(is_at(time_of(1, 1, bound_by_memory), 2e-3));
}

static void kernels_of_a_device_take_turns_and_those_of_several_do_not(void)
{
    const wanted one[] = {{0, DEVICE_64, 0, 1e9, 0}, {.stream = -1}};
    for (int n = 1; n <= MOST_RANKS; n++) assert(is_at(time_of(n, 1, one), n * 1e-3));
    assert(is_at(time_of(4, 2, one), 2e-3)); /* ranks have devices in turn */
    assert(is_at(time_of(4, 4, one), 1e-3));
}

static void operations_of_a_stream_follow_one_another(void)
{
    const double copy_s = LINK_S + 4e6 / LINK_BYTES_PER_S;
    const wanted row[] = {{1, 1, 0, 0, 4e6}, {0, DEVICE_64, 0, 2e9, 0}, {1, 0, 0, 0, 4e6}, {.stream = -1}};
    assert(is_at(time_of(1, 1, row), 2 * copy_s + 2e-3));
}

static void copies_and_kernels_of_different_streams_overlap(void)
{
    const double copy_s = LINK_S + 4e6 / LINK_BYTES_PER_S;
    const wanted beside[] = {{1, 1, 0, 0, 4e6}, {0, DEVICE_64, 1, 2e9, 0}, {.stream = -1}};
    const wanted both_ways[] = {{1, 1, 0, 0, 4e6}, {1, 0, 1, 0, 4e6}, {.stream = -1}};
    const wanted one_way[] = {{1, 1, 0, 0, 4e6}, {1, 1, 1, 0, 4e6}, {.stream = -1}};
    assert(is_at(time_of(1, 1, beside), 2e-3));
    assert(is_at(time_of(1, 1, both_ways), copy_s));
    assert(is_at(time_of(1, 1, one_way), LINK_S + 8e6 / LINK_BYTES_PER_S));
}

static void work_without_a_device_or_a_speed_is_refused(void)
{
    platform *p = machine();
    const model m = plain();
    const device_numbers is = usual(0), linkless = {.flop_per_s = {1}};
    loss_report lost;
    sim *s = world(p, &m, 2);
    assert(sim_device_of(s, 0) == -1 && sim_append_device_kernel(s, 0, 0, DEVICE_64, 1, 0) == SIM_NO_DEVICE);
    assert(sim_append_device_copy(s, 0, 0, 1, 8) == SIM_NO_DEVICE && sim_name_device(s, 0) == SIM_NO_DEVICE);
    assert(sim_device_new(s, 0, &linkless) == SIM_BAD_SIZE && sim_device_new(s, MOST_RANKS, &is) == SIM_BAD_RANK);
    assert(sim_device_new(s, 0, &is) == 0 && sim_device_of(s, 0) == 0 && sim_device_of(s, 1) == -1);
    assert(sim_append_device_kernel(s, 0, 0, DEVICE_16, 1, 0) == SIM_NO_DEVICE_SPEED);
    sim_lost(s, &lost);
    assert(lost.rank == 0 && lost.host == -1 && lost.link == -1);
    assert(sim_append_device_copy(s, 1, 0, 1, 8) == SIM_NO_DEVICE);
    sim_lost(s, &lost);
    assert(lost.rank == 1);
    assert(sim_append_device_kernel(s, 0, DEVICE_STREAMS, DEVICE_64, 1, 0) == SIM_BAD_SIZE);
    assert(sim_append_device_kernel(s, 0, 0, DEVICE_TYPES, 1, 0) == SIM_BAD_SIZE);
    sim_free(s);
    platform_free(p);
}

static void idle(sim *s, int rank, int stage)
{
    (void)stage;
    assert(sim_append_end(s, rank) == 0);
}

static void a_device_counts_the_time_in_which_it_computes(void)
{
    platform *p = machine();
    const model m = plain();
    const device_numbers is = usual(0);
    const wanted two[] = {{0, DEVICE_64, 0, 1e9, 0}, {0, DEVICE_64, 1, 3e9, 0}, {1, 1, 2, 0, 4e9}, {.stream = -1}};
    sim *s = world(p, &m, 1);
    assert(sim_device_new(s, 0, &is) == 0 && sim_device_new(s, 0, &is) == 1);
    to_do = two;
    assert(run(s, 1, start_all) == SIM_DONE);
    assert(is_at(sim_device_busy_s(s, 0), 4e-3) && sim_device_busy_s(s, 1) == 0);
    sim_free(s);
    platform_free(p);
    double finish_s[MOST_RANKS];
    ends_with(1, TOGETHER, 1, &is, idle, finish_s);
    assert(finish_s[0] == 0);
}

/* ---- messages ---- */

static int64_t message_bytes;
static int sends_on_device, receives_on_device, receives_late;

/* Rank 0 sends a message to rank 1. */
static void one_message(sim *s, int rank, int stage)
{
    (void)stage;
    if (rank == 1 && receives_late) assert(sim_append_sleep(s, rank, 1) == 0);
    if (rank ? receives_on_device : sends_on_device) assert(sim_name_device(s, rank) == 0);
    const int request = rank ? sim_append_recv(s, rank, SIM_COMM_WORLD, 0, 0, message_bytes)
                             : sim_append_send(s, rank, SIM_COMM_WORLD, 1, 0, message_bytes, SEND_STANDARD, 1);
    assert(request > 0);
    if (!sim_request(s, request)->is_detached) assert(sim_append_wait(s, rank, request) == 0);
    assert(sim_append_end(s, rank) == 0);
}

static double message_s(const int *host, int n_devices, const device_numbers *is, int64_t bytes)
{
    double finish_s[MOST_RANKS];
    message_bytes = bytes;
    ends_with(2, host, n_devices, is, one_message, finish_s);
    return finish_s[1];
}

static void a_message_through_the_host_is_copied_on_both_sides(void)
{
    const device_numbers is = usual(0);
    const double network_s = WIRE_S + (double)BYTES / WIRE_BYTES_PER_S, copy_s = LINK_S + (double)BYTES / LINK_BYTES_PER_S;
    for (int sides = 0; sides < 4; sides++) {
        sends_on_device = sides & 1;
        receives_on_device = sides >> 1;
        assert(is_at(message_s(APART, 1, &is, BYTES), network_s + (sends_on_device + receives_on_device) * copy_s));
    }
}

static void a_direct_message_is_as_fast_as_the_slower_of_network_and_link(void)
{
    device_numbers is = usual(1);
    const double network_s = WIRE_S + (double)BYTES / WIRE_BYTES_PER_S;
    sends_on_device = receives_on_device = 1;
    assert(is_at(message_s(APART, 1, &is, BYTES), 2 * LINK_S + network_s));
    receives_on_device = 0;
    assert(is_at(message_s(APART, 1, &is, BYTES), LINK_S + network_s));
    is.link_bytes_per_s = WIRE_BYTES_PER_S / 10;
    assert(is_at(message_s(APART, 1, &is, BYTES), LINK_S + (double)BYTES / is.link_bytes_per_s));
}

static void a_small_message_takes_the_same_way(void)
{
    device_numbers is = usual(0);
    const double network_s = WIRE_S + 8 / WIRE_BYTES_PER_S, copy_s = LINK_S + 8 / LINK_BYTES_PER_S;
    sends_on_device = receives_on_device = 1;
    assert(is_at(message_s(APART, 1, &is, 8), network_s + 2 * copy_s));
    is.is_direct = 1;
    assert(is_at(message_s(APART, 1, &is, 8), network_s + 2 * LINK_S));
}

/* It travels when it is sent; the receive that comes a second later copies it to the device. */
static void an_early_message_waits_in_the_host_of_its_receive(void)
{
    platform *p = machine();
    model m = plain();
    m.calls.early_below_bytes = 1000;
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        const device_numbers is = usual(is_direct);
        double finish_s[MOST_RANKS];
        sends_on_device = receives_on_device = receives_late = 1;
        message_bytes = 8;
        sim *s = world(p, &m, 2);
        for (int at = 0; at < 2; at++) assert(sim_device_new(s, at, &is) == at);
        assert(run(s, 2, one_message) == SIM_DONE);
        sim_finish_s(s, finish_s);
        assert(is_at(finish_s[1], 1 + LINK_S + 8 / LINK_BYTES_PER_S));
        sim_free(s);
        receives_late = 0;
        s = world(p, &m, 2);
        for (int at = 0; at < 2; at++) assert(sim_device_new(s, at, &is) == at);
        assert(run(s, 2, one_message) == SIM_DONE);
        sim_finish_s(s, finish_s);
        const double out_s = LINK_S + (is_direct ? 0 : 8 / LINK_BYTES_PER_S);
        assert(is_at(finish_s[1], out_s + WIRE_S + 8 / WIRE_BYTES_PER_S + LINK_S + 8 / LINK_BYTES_PER_S));
        sim_free(s);
    }
    platform_free(p);
}

static void direct_devices_of_a_host_send_without_the_network(void)
{
    device_numbers is = usual(1);
    sends_on_device = receives_on_device = 1;
    assert(is_at(message_s(TOGETHER, 2, &is, BYTES), 2 * LINK_S + (double)BYTES / LINK_BYTES_PER_S));
    is.peer_bytes_per_s = PEER_BYTES_PER_S;
    is.peer_latency_s = PEER_S;
    assert(is_at(message_s(TOGETHER, 2, &is, BYTES), PEER_S + (double)BYTES / PEER_BYTES_PER_S));
    assert(is_at(message_s(TOGETHER, 1, &is, BYTES), 2 * (double)BYTES / MEMORY_BYTES_PER_S)); /* one device: read, written */
}

int main(void)
{
    a_kernel_takes_the_longer_of_its_flop_and_its_bytes();
    kernels_of_a_device_take_turns_and_those_of_several_do_not();
    operations_of_a_stream_follow_one_another();
    copies_and_kernels_of_different_streams_overlap();
    work_without_a_device_or_a_speed_is_refused();
    a_device_counts_the_time_in_which_it_computes();
    a_message_through_the_host_is_copied_on_both_sides();
    a_direct_message_is_as_fast_as_the_slower_of_network_and_link();
    a_small_message_takes_the_same_way();
    an_early_message_waits_in_the_host_of_its_receive();
    direct_devices_of_a_host_send_without_the_network();
    puts("devices: all well");
    return 0;
}
