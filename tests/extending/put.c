/* An action from outside the kernel's folder. Copy this file to begin one of your own: it needs public headers only.
 *
 * "Put": a rank writes bytes into the memory of another rank, which makes no call for it. The timeline goes on when they have
 * arrived. main() runs some and compares the dates with a formula; then it replays the trace of that run. */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "networks/network_flow.h"
#include "networks/transfer.h"
#include "sim.h"
#include "world/action.h"
#include "world/tell.h"

/* Its two steps, counted by action.stage; and what it keeps in action.other.number. */
enum { START, ARRIVED };
enum { TARGET_RANK, BYTES };

/* The transfer's owner: the hook gets the numbers that transfer_start was given, here the timeline that waits. */
static void ended(sim *s, const transfer *t)
{
    action_wake(s, t->number[0]);
}

static const transfer_owner put_owner = {.ended = ended};

static int step(sim *s, int timeline, action *a)
{
    if (a->stage++ == ARRIVED) {
        action_end(s, timeline);
        return FREE_OF_CHARGE;
    }
    const int from = sim_host_of(s, sim_rank_of(s, timeline)), to = sim_host_of(s, (int)a->other.number[TARGET_RANK]);
    const int error = transfer_start(s, from, to, a->other.number[BYTES], &put_owner, timeline, 0);
    return error < 0 ? error : action_block(s, timeline, SPENT_TRANSFER);
}

/* For reports of deadlocks and the like. */
static void describe(const sim *s, const action *a, waiting *out)
{
    (void)s;
    *out = (waiting){.kind = WAIT_SEND, .peer = (int)a->other.number[TARGET_RANK], .bytes = a->other.number[BYTES]};
}

/* It waits for no requests and owns no memory: no `told`, no `free`. */
static const action_kind put = {.name = "put", .step = step, .describe = describe};

/* Its row in a trace: columns that tell all of it, and the function that appends it again. */
static int perform(sim *s, int timeline, const trace_action *row, int n);

static const row_kind put_row = {{"put", "writes `bytes` into the memory of `peer`, a rank of the world", "",
                                  ROW_PEER | ROW_BYTES | ROW_SENDS}, perform, NULL, NULL};

/* 0, or an error < 0, as of all sim_append_*. */
static int append_put(sim *s, int timeline, int target_rank, int64_t bytes)
{
    if (sim_rank_of(s, timeline) < 0 || sim_host_of(s, target_rank) < 0) return SIM_BAD_RANK;
    if (bytes < 0) return SIM_BAD_SIZE;
    action *a = action_append(s, timeline, &put);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->other.number[TARGET_RANK] = target_rank;
    a->other.number[BYTES] = bytes;
    if (is_watched(s)) {
        const trace_action row = {.peer = target_rank, .bytes = bytes};
        tell_appended(s, timeline, &(appended_action){.kind = &put_row, .row = row});
    }
    return 0;
}

static int perform(sim *s, int timeline, const trace_action *row, int n)
{
    (void)n;
    return append_put(s, timeline, row->peer, row->bytes);
}

/* ---- its test ---- */

enum { RANKS = 3, PUT_CALL = 7, PUT_LINE = 11, ROWS_MAX = 16 };

static const double LATENCY_S = 1e-5, BANDWIDTH_BYTES_PER_S = 1e9, FLOP_PER_S = 1e9;
static const int64_t MANY_BYTES = 5000000;

/* Ranks 0 and 1 put as many bytes into rank 2 at once, then rank 0 some more; rank 2 computes meanwhile. */
static void append(sim *s, int rank)
{
    if (rank == 2) {
        assert(sim_append_compute(s, 2, FLOP_PER_S, 0) == 0);
    } else {
        sim_begin_call(s, rank, PUT_CALL, PUT_LINE, 0);
        assert(append_put(s, rank, 2, MANY_BYTES) == 0 && isnan(sim_clock_s(s, rank)));
        if (rank == 0) assert(append_put(s, 0, 2, MANY_BYTES) == 0);
        sim_end_call(s, rank);
    }
    assert(sim_append_end(s, rank) == 0);
}

static sim *new_world(const platform *p)
{
    static const flow_parameters bare = {.n_factors = 0};
    const model m = {.network = {&network_flow, &bare}};
    sim *s = sim_new(p, &m, RANKS, (int[]){0, 1, 2});
    assert(s);
    return s;
}

/* All time of the call went to transfers. */
static void look_at_the_profile(sim *s, double transfer_s)
{
    const call_account *accounts;
    const int n = sim_accounts(s, &accounts);
    double put_s = 0;
    for (int i = 0; i < n; i++)
        if (accounts[i].call == PUT_CALL && accounts[i].line == PUT_LINE) put_s += accounts[i].spent_s[SPENT_TRANSFER];
    assert(fabs(put_s - transfer_s) < 1e-12);
}

/* The rows that were written since they were taken last. */
static int take_rows(sim *s, trace_action *rows)
{
    const int n = sim_trace_rows(s, TRACE_ACTIONS);
    double amount[ROWS_MAX];
    int64_t bytes[ROWS_MAX];
    int rank[ROWS_MAX], kind[ROWS_MAX], peer[ROWS_MAX];
    const int offset[] = {offsetof(trace_action, amount), offsetof(trace_action, bytes), offsetof(trace_action, rank),
                          offsetof(trace_action, action), offsetof(trace_action, peer)};
    char *const column[] = {(char *)amount, (char *)bytes, (char *)rank, (char *)kind, (char *)peer};
    assert(n <= ROWS_MAX);
    sim_trace_take(s, TRACE_ACTIONS, 5, offset, (int[]){8, 8, 4, 4, 4}, column);
    for (int i = 0; i < n; i++)
        rows[i] = (trace_action){.amount = amount[i], .bytes = bytes[i], .rank = rank[i], .action = kind[i], .peer = peer[i]};
    return n;
}

static void a_replay_ends_at_the_same_dates(const platform *p, int n, const trace_action *rows, const double *finish_s)
{
    sim *s = new_world(p);
    double replayed_s[RANKS];
    assert(sim_replay_begin(s) == 0 && sim_row_kind_number(s, &put_row) >= 0 && sim_replay_feed(s, n, rows) == 0);
    int word;
    while ((word = sim_replay_next(s)) == SIM_YIELD) continue;
    assert(word == SIM_DONE);
    sim_finish_s(s, replayed_s);
    for (int rank = 0; rank < RANKS; rank++) assert(replayed_s[rank] == finish_s[rank]);
    sim_free(s);
}

static void puts_share_the_links_as_messages_do(const platform *p)
{
    sim *s = new_world(p);
    double finish_s[RANKS], spent_s[SPENT_KINDS];
    trace_action rows[ROWS_MAX];
    waiting w;
    assert(sim_trace_begin(s, 0, INFINITY, NULL) == 0);
    for (int rank; (rank = sim_next(s)) != SIM_DONE;) {
        if (rank == SIM_YIELD) continue;
        assert(rank >= 0);
        append(s, rank);
        if (rank == 2) assert(append_put(s, 2, RANKS, 1) == SIM_BAD_RANK && append_put(s, 2, 0, -1) == SIM_BAD_SIZE);
        sim_waiting(s, 0, &w);
        assert(rank < 2 || (w.kind == WAIT_SEND && w.peer == 2 && w.bytes == MANY_BYTES));
    }
    sim_finish_s(s, finish_s);
    sim_spent_s(s, spent_s);
    const double alone_s = (double)MANY_BYTES / BANDWIDTH_BYTES_PER_S, way_s = 2 * LATENCY_S; /* up one wire, down another */
    assert(fabs(finish_s[1] - (way_s + 2 * alone_s)) < 1e-12); /* the wire to rank 2 carries both */
    assert(fabs(finish_s[0] - (finish_s[1] + way_s + alone_s)) < 1e-12);
    assert(fabs(finish_s[2] - 1) < 1e-12);
    assert(fabs(spent_s[SPENT_TRANSFER] - (finish_s[0] + finish_s[1])) < 1e-12);
    look_at_the_profile(s, finish_s[0] + finish_s[1]);
    const int n = take_rows(s, rows);
    sim_free(s);
    a_replay_ends_at_the_same_dates(p, n, rows, finish_s);
}

int main(void)
{
    platform *p = platform_new();
    const cluster c = {.n_hosts = RANKS, .cores = 1, .speed_flop_per_s = FLOP_PER_S, .bandwidth_bytes_per_s = BANDWIDTH_BYTES_PER_S,
                       .latency_s = LATENCY_S, .is_split = 1};
    assert(p && platform_add_flat_cluster(p, -1, &c) >= 0);
    puts_share_the_links_as_messages_do(p);
    platform_free(p);
    puts("put: all well");
    return 0;
}
