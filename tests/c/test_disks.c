/* Accesses to files: shares of a disk, whole bytes, latencies, disks of other hosts, stripes, queues. */
#include <math.h>
#include <stdio.h>

#include "small_worlds.h"

static const double READ_BYTES_PER_S = 2e9, WRITE_BYTES_PER_S = 1e9, LATENCY_S = 1e-5; /* the latency is that of a wire */
static const int64_t GB = 1000000000;

typedef struct {
    int is_write, queue, place;
    int64_t offset, bytes;
    double after_s;              /* sleep before it */
} wanted;

static const wanted *to_do[MOST_RANKS]; /* ends with one of -1 bytes */

static void access_all(sim *s, int rank, int stage)
{
    (void)stage;
    for (const wanted *w = to_do[rank]; w->bytes >= 0; w++) {
        if (w->after_s > 0) assert(sim_append_sleep(s, rank, w->after_s) == 0);
        const int request = sim_append_file_access(s, rank, w->place, w->is_write, w->offset, w->bytes, w->queue);
        assert(request > 0 && sim_append_wait(s, rank, request) == 0);
    }
    assert(sim_append_end(s, rank) == 0);
}

static int is_at(double date_s, double expected_s)
{
    return fabs(date_s - expected_s) < 1e-9 * expected_s + 1e-15;
}

/* Ranks 0 .. n_ranks - 1 on hosts of their own; disks of the first hosts, which every rank has as its only place. */
static sim *served_world(const platform *p, const model *m, int n_ranks, int n_disks, double latency_s, int64_t stripe_bytes,
                         int streams)
{
    int disk[MOST_RANKS];
    sim *s = world(p, m, n_ranks);
    for (int i = 0; i < n_disks; i++) {
        disk[i] = sim_disk_new(s, i, READ_BYTES_PER_S, WRITE_BYTES_PER_S, latency_s);
        assert(disk[i] == i);
    }
    for (int rank = 0; rank < n_ranks; rank++) assert(sim_place_new(s, rank, n_disks, disk, stripe_bytes, streams) == 0);
    return s;
}

/* All ranks on one host with one disk; the dates at which they end. */
static void ends_on_one_host(int n_ranks, double latency_s, int rounds, double *finish_s)
{
    static const int host[MOST_RANKS] = {0};
    platform *p = machine();
    const model m = plain();
    sim *s = sim_new(p, &m, n_ranks, host);
    const int disk = sim_disk_new(s, 0, READ_BYTES_PER_S, WRITE_BYTES_PER_S, latency_s);
    if (rounds) sim_disks_round(s);
    assert(disk == 0 && sim_place_new(s, 0, 1, &disk, GB, 0) == 0);
    assert(run(s, n_ranks, access_all) == SIM_DONE);
    sim_finish_s(s, finish_s);
    sim_free(s);
    platform_free(p);
}

static void a_disk_that_k_share_takes_k_times_as_long(void)
{
    static const wanted write[] = {{.is_write = 1, .bytes = 1000000000}, {.bytes = -1}},
                        read[] = {{.bytes = 1000000000}, {.bytes = -1}};
    double finish_s[MOST_RANKS];
    for (int n = 1; n <= MOST_RANKS; n++) {
        for (int is_write = 0; is_write < 2; is_write++) {
            for (int rank = 0; rank < n; rank++) to_do[rank] = is_write ? write : read;
            for (int rounds = 0; rounds < 2; rounds++) {
                ends_on_one_host(n, 0, rounds, finish_s);
                for (int rank = 0; rank < n; rank++) assert(is_at(finish_s[rank], n / (is_write ? 1.0 : 2.0)));
            }
        }
    }
}

static void reads_and_writes_share_the_greater_bandwidth(void)
{
    static const wanted write[] = {{.is_write = 1, .bytes = 1000000000}, {.bytes = -1}},
                        read[] = {{.bytes = 1000000000}, {.bytes = -1}};
    double finish_s[MOST_RANKS];
    to_do[0] = write;
    to_do[1] = read;
    ends_on_one_host(2, 0, 0, finish_s); /* each has 1 GB/s, half of the read bandwidth */
    assert(is_at(finish_s[0], 1) && is_at(finish_s[1], 1));
    to_do[2] = write;
    ends_on_one_host(3, 0, 0, finish_s); /* 0.5 GB/s for each write, 1 for the read */
    assert(is_at(finish_s[1], 1) && is_at(finish_s[0], 2) && is_at(finish_s[2], 2));
    to_do[2] = read;
    ends_on_one_host(3, 0, 0, finish_s); /* 2/3 GB/s for each of all */
    for (int rank = 0; rank < 3; rank++) assert(is_at(finish_s[rank], 1.5));
}

static void a_latency_comes_before_each_access_and_loads_nothing(void)
{
    static const wanted two[] = {{.is_write = 1, .bytes = 1000000000}, {.is_write = 1, .bytes = 1000000000}, {.bytes = -1}};
    double finish_s[MOST_RANKS];
    to_do[0] = to_do[1] = two;
    ends_on_one_host(2, 0.25, 0, finish_s);
    assert(is_at(finish_s[0], 4.5) && is_at(finish_s[1], 4.5));
}

/* Another rank wakes every 2.4 ns, in which the disk writes 2.4 bytes: they count as 2. */
static void a_disk_that_rounds_forgets_parts_of_bytes(void)
{
    enum { DATES = 1000 };
    static const wanted few[] = {{.is_write = 1, .bytes = 2 * DATES}, {.bytes = -1}};
    static wanted nothing[2 * DATES + 1];
    double finish_s[MOST_RANKS];
    for (int i = 0; i < 2 * DATES; i++) nothing[i] = (wanted){.place = -1, .after_s = 2.4e-9};
    nothing[2 * DATES].bytes = -1;
    to_do[0] = few;
    to_do[1] = nothing;
    ends_on_one_host(2, 0, 0, finish_s);
    assert(fabs(finish_s[0] - 2e-6) < 1e-9);
    ends_on_one_host(2, 0, 1, finish_s);
    assert(fabs(finish_s[0] - 2.4e-6) < 1e-9);
}

static void accesses_of_a_queue_follow_one_another(void)
{
    static const wanted first[] = {{.is_write = 1, .queue = 9, .bytes = 1000000000}, {.queue = 9, .place = -1}, {.bytes = -1}},
                        second[] = {{.queue = 9, .bytes = 1000000000, .after_s = 0.1}, {.bytes = -1}},
                        beside[] = {{.is_write = 1, .bytes = 100000000, .after_s = 0.2}, {.bytes = -1}},
                        third[] = {{.queue = 9, .bytes = 0, .after_s = 0.3}, {.bytes = -1}};
    double finish_s[MOST_RANKS];
    to_do[0] = first;
    to_do[1] = second;
    to_do[2] = beside;
    to_do[3] = third;
    ends_on_one_host(4, 0, 0, finish_s);
    assert(is_at(finish_s[2], 0.4)); /* it shares the disk with the first one alone */
    assert(is_at(finish_s[1], 1.1 + 0.5) && is_at(finish_s[3], 1.6) && is_at(finish_s[0], 1.6));
}

/* The way from another host: two wires, each with a latency and 1 GB/s. */
static void a_disk_of_another_host_works_before_the_network_behind_it_or_at_once(void)
{
    static const wanted nothing[] = {{.bytes = -1}}, write[] = {{.is_write = 1, .bytes = 1000000000}, {.bytes = -1}},
                        read[] = {{.bytes = 1000000000}, {.bytes = -1}};
    platform *p = machine();
    const model m = plain();
    double finish_s[MOST_RANKS];
    for (int streams = 0; streams < 2; streams++) {
        for (int is_write = 0; is_write < 2; is_write++) {
            to_do[0] = nothing;
            to_do[1] = is_write ? write : read;
            sim *s = served_world(p, &m, 2, 1, 0.125, GB, streams);
            assert(run(s, 2, access_all) == SIM_DONE);
            sim_finish_s(s, finish_s);
            const double way_s = 2 * LATENCY_S + 1, work_s = is_write ? 1 : 0.5;
            assert(is_at(finish_s[1], 0.125 + (streams ? fmax(way_s, work_s) : way_s + work_s)));
            sim_free(s);
        }
    }
    platform_free(p);
}

/* 4 stripes of 250 MB on 2 disks; then an odd range. The first disk is the rank's own. */
static void a_file_lies_on_its_disks_in_stripes(void)
{
    static const wanted all[] = {{.is_write = 1, .bytes = 1000000000}, {.bytes = -1}},
                        odd[] = {{.is_write = 1, .offset = 125000000, .bytes = 250000000}, {.bytes = -1}};
    platform *p = machine();
    const model m = plain();
    double finish_s[MOST_RANKS];
    for (int is_odd = 0; is_odd < 2; is_odd++) {
        to_do[0] = is_odd ? odd : all;
        sim *s = served_world(p, &m, 1, 2, 0, GB / 4, 1);
        assert(run(s, 1, access_all) == SIM_DONE);
        sim_finish_s(s, finish_s);
        assert(is_at(finish_s[0], (is_odd ? 0.125 : 0.5) + 2 * LATENCY_S));
        sim_free(s);
    }
    platform_free(p);
}

/* A wait for an access is time of a kind of its own; a non-blocking one goes on beside computing. */
static void look(sim *s, int rank, int stage)
{
    waiting w;
    if (rank == 1 && stage == 0) {
        assert(sim_append_sleep(s, rank, 0.5) == 0);
        return;
    }
    if (rank == 1) {
        sim_waiting(s, 0, &w);
        assert(w.kind == WAIT_STORAGE && w.bytes == GB && sim_append_end(s, rank) == 0);
        return;
    }
    const int request = sim_append_file_access(s, rank, 0, 1, 0, GB, 0);
    assert(sim_append_compute(s, rank, 0.25e9, 0) == 0 && sim_append_wait(s, rank, request) == 0);
    assert(sim_append_end(s, rank) == 0);
}

static void waits_for_accesses_are_a_kind_of_time(void)
{
    platform *p = machine();
    const model m = plain();
    double spent_s[SPENT_KINDS];
    sim *s = served_world(p, &m, 2, 1, 0, GB, 0);
    assert(run(s, 2, look) == SIM_DONE);
    sim_spent_s(s, spent_s);
    assert(is_at(spent_s[SPENT_IO], 0.75) && is_at(spent_s[SPENT_COMPUTING], 0.25));
    sim_free(s);
    platform_free(p);
}

static void impossible_accesses_are_refused(void)
{
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 1);
    const int nobody = 3;
    assert(sim_disk_new(s, MOST_RANKS, 1, 1, 0) == SIM_BAD_RANK && sim_disk_new(s, 0, 0, 1, 0) == SIM_BAD_SIZE);
    assert(sim_disk_new(s, 0, 1, NAN, 0) == SIM_BAD_SIZE && sim_disk_new(s, 0, 1, 1, -1) == SIM_BAD_SIZE);
    assert(sim_place_new(s, 0, 1, &nobody, 1, 0) == SIM_BAD_SIZE && sim_place_new(s, -1, 1, &nobody, 1, 0) == SIM_BAD_RANK);
    assert(sim_append_file_access(s, 1, 0, 0, 0, 1, 0) == SIM_BAD_RANK &&
           sim_append_file_access(s, 0, -2, 0, 0, 1, 0) == SIM_BAD_SIZE);
    assert(sim_append_file_access(s, 0, 0, 0, -1, 1, 0) == SIM_BAD_SIZE &&
           sim_append_file_access(s, 0, 0, 0, 0, -1, 0) == SIM_BAD_SIZE);
    assert(sim_append_file_access(s, 0, 0, 0, INT64_MAX, 1, 0) == SIM_BAD_SIZE);
    assert(sim_append_file_access(s, 0, 0, 0, 0, 1, 1 << 20) == SIM_BAD_SIZE &&
           sim_append_file_access(s, 0, 0, 0, 0, 1, -1) == SIM_BAD_SIZE);
    to_do[0] = (const wanted[]){{.bytes = 7}, {.place = 5, .bytes = 7}, {.bytes = -1}};
    assert(run(s, 1, access_all) == SIM_DONE && sim_now_s(s) == 0); /* without disks no time passes */
    sim_free(s);
    platform_free(p);
}

int main(void)
{
    a_disk_that_k_share_takes_k_times_as_long();
    reads_and_writes_share_the_greater_bandwidth();
    a_latency_comes_before_each_access_and_loads_nothing();
    a_disk_that_rounds_forgets_parts_of_bytes();
    accesses_of_a_queue_follow_one_another();
    a_disk_of_another_host_works_before_the_network_behind_it_or_at_once();
    a_file_lies_on_its_disks_in_stripes();
    waits_for_accesses_are_a_kind_of_time();
    impossible_accesses_are_refused();
    puts("disks: all well");
    return 0;
}
