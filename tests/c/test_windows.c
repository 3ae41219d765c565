/* Windows: the dates of accesses and their completion, the order of locks, and what is left when a world ends early. */
#include <math.h>
#include <stdio.h>

#include "small_worlds.h"

enum { LARGE = 1000000 };             /* bytes; 1e-3 s on a link */

static const double LATENCY_S = 2e-5; /* between two hosts of machine() */

static int is_at(double date_s, double expected_s)
{
    return fabs(date_s - expected_s) < 1e-12;
}

static access_requests start(sim *s, int rank, int target, int64_t bytes, int access)
{
    access_requests made;
    assert(sim_append_access(s, rank, 0, target, bytes, access, &made) == 0);
    return made;
}

static void end(sim *s, int rank)
{
    assert(sim_append_end(s, rank) == 0);
}

/* ---- completion ---- */

static void put_and_complete(sim *s, int rank, int stage)
{
    if (rank || stage) {
        if (!rank) assert(is_at(sim_now_s(s), LATENCY_S + 1e-3));
        end(s, rank);
        return;
    }
    start(s, 0, 1, LARGE, ACCESS_PUT);
    assert(sim_append_complete(s, 0, 0, 0, 1) == 0);  /* nothing of its own part */
    assert(sim_append_complete(s, 0, 0, 1, 0) == 0);
}

static void get_and_wait(sim *s, int rank, int stage)
{
    static access_requests made;
    if (rank == 0 && stage == 0) {
        made = start(s, 0, 1, LARGE, ACCESS_RGET);
        assert(sim_append_wait(s, 0, made.recv) == 0);
        return;
    }
    if (rank == 0) {
        assert(is_at(sim_now_s(s), LATENCY_S + 1e-3) && sim_request(s, made.recv)->matched_source == 1);
        sim_release(s, made.recv);
    }
    end(s, rank);
}

/* ---- locks ---- */

static int order[3 * MOST_RANKS], n_order;

static void lock_in_turn(sim *s, int rank, int stage)
{
    if (stage) {
        order[n_order++] = rank;
        start(s, rank, 0, 100, ACCESS_ACCUMULATE);
        assert(sim_append_complete(s, rank, 0, 0, rank) == 0);
        assert(sim_append_unlock(s, rank, 0, 0, LOCK_ALONE) == 0);
    }
    if (stage == 3)
        end(s, rank);
    else
        assert(sim_append_lock(s, rank, 0, 0, LOCK_ALONE) == 0);
}

static void lock_all_or_one(sim *s, int rank, int stage)
{
    const int kind = rank == 0 ? LOCK_ALL_SHARED : LOCK_ALONE;
    if (stage == 0) {
        assert(sim_append_sleep(s, rank, 0.1 * rank) == 0 && sim_append_lock(s, rank, 0, 2, kind) == 0);
    } else if (stage == 1) {
        assert(is_at(sim_now_s(s), rank == 0 ? 0 : rank == 1 ? 1 : 2));
        assert(sim_append_sleep(s, rank, 1) == 0 && sim_append_unlock(s, rank, 0, 2, kind) == 0);
    } else {
        end(s, rank);
    }
}

static void unlock_without_lock(sim *s, int rank, int stage)
{
    (void)stage;
    if (rank == 0) assert(sim_append_unlock(s, 0, 0, 1, LOCK_SHARED) == 0);
    end(s, rank);
}

static void end_while_others_wait(sim *s, int rank, int stage)
{
    if (stage == 0) {
        start(s, rank, 0, LARGE, rank % 2 ? ACCESS_PUT : ACCESS_GET);
        assert(sim_append_lock(s, rank, 0, 0, LOCK_ATOMIC) == 0 && sim_append_complete(s, rank, 0, 0, -1) == 0);
    } else {
        assert(sim_append_stop(s, rank, 1) == 0);
    }
}

int main(void)
{
    platform *p = machine();
    const model m = plain();
    sim *s = world(p, &m, 2);
    assert(run(s, 2, put_and_complete) == SIM_DONE);
    sim_free(s);
    s = world(p, &m, 2);
    assert(run(s, 2, get_and_wait) == SIM_DONE);
    sim_free(s);
    s = world(p, &m, 4);
    assert(run(s, 4, lock_in_turn) == SIM_DONE && n_order == 12);
    for (int i = 0; i < n_order; i++) assert(order[i] == i % 4); /* first come, first served */
    sim_free(s);
    s = world(p, &m, 3);
    assert(run(s, 3, lock_all_or_one) == SIM_DONE);
    sim_free(s);
    s = world(p, &m, 2);
    assert(run(s, 2, unlock_without_lock) == SIM_BROKEN && sim_error(s) == SIM_BAD_REQUEST);
    sim_free(s);
    s = world(p, &m, 5);
    assert(run(s, 5, end_while_others_wait) == SIM_STOPPED);
    sim_free(s);
    s = world(p, &m, 2);
    access_requests made;
    assert(sim_append_access(s, 0, 0, 2, 1, ACCESS_PUT, &made) == SIM_BAD_RANK);
    assert(sim_append_access(s, 0, 7, 0, 1, ACCESS_PUT, &made) == SIM_BAD_RANK);
    assert(sim_append_access(s, 0, 0, 1, -1, ACCESS_PUT, &made) == SIM_BAD_SIZE);
    assert(sim_append_access(s, 0, 0, 1, 1, 6, &made) == SIM_BAD_REQUEST);
    assert(sim_append_complete(s, 0, 0, 1, 2) == SIM_BAD_RANK && sim_append_lock(s, 0, 0, -1, LOCK_ALONE) == SIM_BAD_RANK);
    assert(sim_append_lock(s, 0, 0, 1, 4) == SIM_BAD_REQUEST);
    sim_free(s);
    platform_free(p);
    puts("windows: all well");
    return 0;
}
