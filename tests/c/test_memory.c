/* The kernel without memory: the n-th allocation fails, for every n, alone or with all that follow. A run then ends with an
 * error that says so, or with the dates of an undisturbed one, and what it leaves behind can be freed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_memory.h"
#include "machine/profile.h"
#include "mpi/schedule.h"
#include "networks/network_constant.h"
#include "networks/network_flow.h"
#include "networks/network_ib.h"
#include "small_worlds.h"

/* ---- the calls of a program: the first that fails ends the run; nobody looks at what is said to marks and pauses ---- */

static int refusal;

static int did(int code)
{
    if (code < 0 && !refusal) refusal = code;
    return code;
}

enum { LARGE = 200000, SMALL = 100 };

static char pattern[LARGE];
static char got[MOST_RANKS][4][LARGE];
static int list[MOST_RANKS][512];
static int64_t n_read;             /* payloads that came as deliveries */

static payload *payload_of(sim *s, int id)
{
    payload *x = sim_payload(s, id);
    if (!x) did(SIM_OUT_OF_MEMORY);
    return x;
}

static int send_copy(sim *s, int rank, int comm, int dest, int tag, int mode, int blocking)
{
    int id = did(sim_append_send(s, rank, comm, dest, tag, SMALL, mode, blocking));
    payload *x = payload_of(s, id);
    char *copy = x ? payload_copy(s, pattern, SMALL, NULL) : NULL;
    if (x && !copy) did(SIM_OUT_OF_MEMORY);
    if (copy) *x = (payload){.data = copy, .bytes = SMALL, .kind = PAYLOAD_OWNED};
    return id;
}

static int send_large(sim *s, int rank, int comm, int dest, int tag, int64_t token)
{
    int id = did(sim_append_send(s, rank, comm, dest, tag, LARGE, SEND_STANDARD, 0));
    payload *x = payload_of(s, id);
    if (x) *x = (payload){.data = pattern, .bytes = LARGE, .token = token, .kind = PAYLOAD_BORROWED};
    return id;
}

static int receive(sim *s, int rank, int comm, int source, int tag, int kind, int at)
{
    int id = did(sim_append_recv(s, rank, comm, source, tag, LARGE));
    payload *x = payload_of(s, id);
    if (x) *x = (payload){.data = got[rank][at], .bytes = LARGE, .token = kind == PAYLOAD_PYTHON ? 9 : 0, .kind = kind};
    return id;
}

static void release_all(sim *s, int n, const int *id)
{
    for (int i = 0; i < n; i++) sim_release(s, id[i]);
}

/* ---- the programs ---- */

/* Ranks in a ring: eager and rendezvous, exact and wildcard receives, probes of all kinds, requests taken back. */
static void talk(sim *s, int rank, int stage)
{
    const int n = 4, right = (rank + 1) % n, left = (rank + n - 1) % n;
    int *id = list[rank];
    switch (stage) {
    case 0:
        memset(got[rank][0], 0, SMALL);
        sim_append_marker(s, rank, rank);
        did(sim_host_memory(s, rank, 1e9, 0));
        did(sim_append_to_path(s, rank, 0, 1, 1));
        did(sim_append_compute(s, rank, 1e4 * (1 + rank), 5e4));
        id[0] = receive(s, rank, 0, left, 0, PAYLOAD_BORROWED, 0);
        id[1] = receive(s, rank, 0, SIM_ANY, 1, PAYLOAD_PYTHON, 1);
        id[2] = receive(s, rank, 0, left, 2, PAYLOAD_PYTHON, 2);
        send_copy(s, rank, 0, right, 0, SEND_STANDARD, 1);
        id[3] = send_large(s, rank, 0, right, 1, 5);
        id[4] = send_copy(s, rank, 0, right, 2, SEND_BUFFERED, 0);
        did(sim_append_wait_all(s, rank, 5, id));
        break;
    case 1:
        assert(memcmp(got[rank][0], pattern, SMALL) == 0);
        release_all(s, 5, id);
        send_copy(s, rank, 0, right, 3, SEND_STANDARD, 0);
        id[0] = send_large(s, rank, 0, right, 4, 6);
        did(sim_append_iprobe(s, rank, 0, SIM_ANY, SIM_ANY));
        did(sim_append_probe(s, rank, 0, left, 3));
        did(sim_append_mprobe(s, rank, 0, SIM_ANY, 4));
        break;
    case 2:
        id[1] = did(sim_append_mrecv(s, rank, (int)sim_answer(s, rank), LARGE));
        id[2] = receive(s, rank, 0, left, SIM_ANY, PAYLOAD_BORROWED, 0);
        did(sim_append_wait_any(s, rank, 3, id));
        did(sim_append_wait_all(s, rank, 3, id));
        did(sim_append_test_any(s, rank, 3, id));
        break;
    case 3:
        release_all(s, 3, id);
        id[0] = send_large(s, rank, 0, right, 5, 7);
        did(sim_append_cancel(s, rank, id[0]));
        id[1] = receive(s, rank, 0, SIM_ANY, 6, PAYLOAD_PYTHON, 1);
        did(sim_append_cancel(s, rank, id[1]));
        did(sim_append_test(s, rank, id[1]));
        did(sim_append_wait_all(s, rank, 2, id));
        did(sim_append_get_status(s, rank, id[0]));
        sim_extend_overhead(s, rank, 1e-6);
        did(sim_append_improbe(s, rank, 0, SIM_ANY, SIM_ANY));
        break;
    default:
        release_all(s, 2, id);
        sim_append_end(s, rank);
    }
}

/* More at once than what each pool has room for at first. */
static void crowd(sim *s, int rank, int stage)
{
    const int n = 300;
    int *id = list[rank];
    if (stage == 0 && rank < 2) {
        did(sim_append_to_path(s, rank, 0, 1, 1));
        for (int i = 0; i < n; i++)
            id[i] = rank    ? receive(s, 1, 0, 0, i, PAYLOAD_PYTHON, 0)
                    : i % 2 ? send_large(s, 0, 0, 1, i, 1 + i)
                            : send_copy(s, 0, 0, 1, i, SEND_BUFFERED, 0);
        for (int i = 0; i < 70; i++) sim_append_marker(s, rank, i);
        did(sim_append_wait_all(s, rank, n, id));
    } else {
        if (rank < 2) release_all(s, n, id);
        sim_append_end(s, rank);
    }
}

/* A message whose receiver's overhead is the first time that anybody lets pass. */
static void hear(sim *s, int rank, int stage)
{
    int *id = list[rank];
    if (stage == 0 && rank == 0) {
        id[0] = receive(s, 0, 0, 1, 0, PAYLOAD_BORROWED, 0);
        did(sim_append_wait(s, 0, id[0]));
    } else {
        if (rank == 0) release_all(s, 1, id);
        if (rank == 1) send_copy(s, 1, 0, 0, 0, SEND_STANDARD, 1);
        sim_append_end(s, rank);
    }
}

/* Eight ranks on two hosts of two cores; one of a host's computes alone at first. */
static void work(sim *s, int rank, int stage)
{
    if (stage < 3) {
        if (stage == 0 && rank % 5) sim_append_sleep(s, rank, 1);
        sim_append_compute(s, rank, 1e5 * (1 + (rank * 5 + stage * 3) % 7), 0);
        sim_append_sleep(s, rank, 1e-5 * rank);
        sim_append_compute(s, rank, 1e5, 0);
    } else {
        sim_append_end(s, rank);
    }
}

static int everyone, chosen, forked, side[2], ring, one_latch;

static int open_collectives(sim *s)
{
    static const int64_t exchange[] = {
        CALL_LOOP, TERM_CONSTANT, 0, TERM_END, TERM_SIZE, TERM_END, 21,
        CALL_IF, TERM_RANK, TERM_LOOP, 0, TERM_NE, TERM_END, 12,
        CALL_ISEND, TERM_LOOP, 0, TERM_END, TERM_BYTES, TERM_END, CALL_IRECV, TERM_LOOP, 0, TERM_END, TERM_BYTES, TERM_END,
        CALL_AGAIN, 21, CALL_HALT};
    static const int64_t tables[] = {CALL_EXCHANGE,
                                     TERM_CONSTANT, 0, TERM_TABLE, 0, TERM_END, TERM_CONSTANT, 0, TERM_TABLE, 1, TERM_END,
                                     TERM_CONSTANT, 1, TERM_TABLE, 0, TERM_END, TERM_CONSTANT, 0, TERM_TABLE, 1, TERM_END,
                                     CALL_HALT};
    static const int64_t strands[] = {CALL_LOOP, TERM_CONSTANT, 0, TERM_END, TERM_CONSTANT, 2, TERM_END, 41,
                                      CALL_FORK, 1, 16, CALL_EXCHANGE, TERM_RANK, TERM_CONSTANT, 1, TERM_XOR, TERM_END,
                                      TERM_BYTES, TERM_END, TERM_RANK, TERM_CONSTANT, 1, TERM_XOR, TERM_END, TERM_BYTES, TERM_END,
                                      CALL_HALT,
                                      CALL_FORK, 2, 1, CALL_HALT, CALL_EXCHANGE,
                                      TERM_RANK, TERM_CONSTANT, 2, TERM_XOR, TERM_END, TERM_BYTES, TERM_END,
                                      TERM_RANK, TERM_CONSTANT, 2, TERM_XOR, TERM_END, TERM_BYTES, TERM_END, CALL_JOIN,
                                      CALL_AGAIN, 41, CALL_HALT};
    everyone = did(sim_schedule_new(s, sizeof exchange / sizeof *exchange, exchange));
    chosen = did(sim_schedule_new(s, sizeof tables / sizeof *tables, tables));
    forked = did(sim_schedule_new(s, sizeof strands / sizeof *strands, strands));
    for (int i = 0; i < 20; i++) did(sim_schedule_new(s, sizeof exchange / sizeof *exchange, exchange));
    ring = did(sim_comm_new(s, 4, (int[]){2, 0, 3, 1}));
    side[0] = did(sim_comm_new_inter(s, 2, (int[]){0, 1}, 2, (int[]){3, 2}));
    side[1] = sim_comm_other(s, side[0]);
    for (int i = 0; i < 8; i++) did(sim_comm_new(s, 3, (int[]){i % 3, 3, (i + 1) % 3}));
    for (int i = 0; i < 9; i++) one_latch = did(sim_latch_new(s, 4));
    return refusal;
}

/* Blocking collectives and started ones, with tables, a latch and another side. */
static void collect(sim *s, int rank, int stage)
{
    int *id = list[rank], of_ring = sim_comm_rank(s, ring, rank);
    const int64_t peers[] = {(of_ring + 1) % 4, (of_ring + 3) % 4}, bytes[] = {stage ? LARGE : SMALL};
    const rank_tables given = {.n = 2, .table = {peers, bytes}, .n_entries = {2, 1}};
    switch (stage) {
    case 0:
        did(sim_append_collective(s, rank, 0, everyone, 0, SMALL, NULL));
        did(sim_append_collective(s, rank, 0, everyone, 0, LARGE, NULL));
        did(sim_append_collective(s, rank, 0, forked, 0, SMALL, NULL));
        did(sim_append_collective(s, rank, 0, forked, 0, LARGE, NULL));
        did(sim_append_collective(s, rank, ring, chosen, 0, 0, &given));
        send_copy(s, rank, side[rank >= 2], 1 - rank % 2, 3, SEND_STANDARD, 1);
        id[0] = receive(s, rank, side[rank >= 2], SIM_ANY, SIM_ANY, PAYLOAD_BORROWED, 0);
        did(sim_append_wait(s, rank, id[0]));
        break;
    case 1:
        release_all(s, 1, id);
        sim_append_sleep(s, rank, 1e-5 * rank);
        id[0] = did(sim_append_start(s, rank, 0, everyone, 0, LARGE, NULL, one_latch));
        id[1] = did(sim_append_start(s, rank, ring, chosen, 0, 0, &given, 0));
        for (int i = 2; i < 8; i++) id[i] = did(sim_append_start(s, rank, 0, everyone, 0, i % 2 ? SMALL : LARGE, NULL, 0));
        did(sim_append_test(s, rank, id[0]));
        sim_append_compute(s, rank, 1e5, 0);
        did(sim_append_wait_any(s, rank, 2, id));
        did(sim_append_wait_all(s, rank, 8, id));
        break;
    default:
        release_all(s, 8, id);
        sim_comm_free(s, ring);
        sim_comm_free(s, side[rank >= 2]);
        sim_append_end(s, rank);
    }
}

/* ---- a world that grows ---- */

/* On a network of the scenario's own, with a host that has its own costs. */
static int open_network(sim *s)
{
    const flow_parameters m = {.n_factors = 1, .latency_factor = {1.0}, .bandwidth_factor = {0.5}, .crosstraffic = 0.05};
    const call_costs own = {.detached_below_bytes = 65536, .n_recv_overhead = 1, .recv_overhead = {0, 2e-6, 0}};
    did(sim_use_network(s, &network_flow, &m));
    did(sim_host_costs(s, 1, (int[]){0}, &own));
    return refusal;
}

static int n_timelines, of_timeline[MOST_RANKS], host_of_newcomer;

/* A refused rank is as if nobody had asked for it: its number is nobody's, and the next one that comes gets it. */
static int rank_new(sim *s, int expected)
{
    const int rank = did(sim_rank_new(s, host_of_newcomer));
    if (rank < 0) assert(sim_comm_self(s, expected) == SIM_BAD_RANK && sim_host_of(s, expected) == SIM_BAD_RANK);
    if (rank < 0 && !fails_for_good) assert(sim_rank_new(s, host_of_newcomer) == expected);
    return rank;
}

/* Two ranks more, with two timelines each, on hosts whose ranks compute. */
static void make_newcomers(sim *s)
{
    n_timelines = 3;
    for (host_of_newcomer = 0; host_of_newcomer < 2 && !refusal; host_of_newcomer++) {
        const int rank = rank_new(s, 3 + host_of_newcomer);
        for (int of = 0; of <= rank; of++) did(sim_comm_self(s, of));
        for (int i = 0; i < 2 && !refusal; i++) {
            of_timeline[n_timelines] = rank;
            assert(did(sim_timeline_new(s, rank)) == n_timelines++ || refusal);
        }
    }
}

/* Three ranks that compute and talk in a ring; the first makes two more meanwhile, which compute. */
static void grow(sim *s, int timeline, int stage)
{
    int *id = list[timeline];
    if (stage == 0) {
        if (timeline < 3) id[0] = receive(s, timeline, SIM_COMM_WORLD, SIM_ANY, 0, PAYLOAD_PYTHON, 0);
        sim_append_sleep(s, timeline, timeline ? 1e-5 : 1e-4);
        if (timeline) sim_append_compute(s, timeline, 2e5 * timeline, 0);
    } else if (stage == 1) {
        if (timeline == 0) make_newcomers(s);
        sim_append_compute(s, timeline, 1e5, 0);
        if (timeline < 3) send_copy(s, timeline, SIM_COMM_WORLD, (timeline + 1) % 3, 0, SEND_STANDARD, 1);
        if (timeline < 3) did(sim_append_wait(s, timeline, id[0]));
        if (timeline >= 3) send_copy(s, timeline, sim_comm_self(s, of_timeline[timeline]), 0, 0, SEND_STANDARD, 1);
    } else {
        if (timeline < 3) release_all(s, 1, id);
        sim_append_end(s, timeline);
    }
}

/* ---- the machines ---- */

static const cluster alike = {.n_hosts = MOST_RANKS, .cores = 2, .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9,
                              .latency_s = 1e-5, .is_split = 1, .backbone_policy = LINK_SHARED,
                              .loopback_bandwidth_bytes_per_s = 5e9, .loopback_latency_s = 1e-7,
                              .memory_bandwidth_bytes_per_s = 8e9,
                              .limiter_bandwidth_bytes_per_s = 9e8};

static int flat(platform *p)
{
    cluster c = alike;
    c.backbone_bandwidth_bytes_per_s = 3e9;
    c.backbone_latency_s = 1e-6;
    return platform_add_flat_cluster(p, -1, &c);
}

static int fat_tree(platform *p)
{
    return platform_add_fat_tree(p, -1, &alike, 2, (int[]){4, 2}, (int[]){1, 2}, (int[]){1, 2}, 0);
}

static int torus(platform *p)
{
    return platform_add_torus(p, -1, &alike, 3, (int[]){2, 2, 2});
}

static int dragonfly(platform *p)
{
    return platform_add_dragonfly(p, -1, &alike, &(dragonfly_shape){2, 2, 2, 1, 1, 1, 2}, ROUTES_VALIANT, 1);
}

/* Two switches of four hosts, and two more between them. */
static int graph(platform *p)
{
    const int a[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10}, b[] = {8, 8, 8, 8, 11, 11, 11, 11, 9, 10, 11, 11};
    const int cables[] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2};
    const double bandwidth[12] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9}, latency[12] = {[8] = 1e-6};
    return platform_add_graph(p, -1, &alike, 4, &(graph_edges){12, a, b, cables, bandwidth, latency}, 1);
}

static int hyperx_on_rails(platform *p)
{
    const int rails = platform_add_rails(p, -1, 2);
    int error = rails;
    for (int rail = 0; rail < 2 && error >= 0; rail++)
        error = platform_add_hyperx(p, rails, &alike, 2, (int[]){2, 2}, (int[]){1, 2}, 2, 1, 7);
    return error;
}

/* Two halves of four hosts, and a long way between them. */
static int full(platform *p)
{
    enum { FAR = 20, HALF = 4 };
    int link[FAR], half[2], host[2][HALF], loop = platform_add_link(p, 5e9, 1e-7, LINK_FATPIPE), error = loop;
    for (int i = 0; i < FAR && error >= 0; i++)
        error = link[i] = platform_add_link(p, 1e9, 1e-6, i % 5 ? LINK_SHARED : LINK_FATPIPE);
    const int root = error < 0 ? error : platform_add_full_zone(p, -1, loop);
    error = root;
    for (int h = 0; h < 2 && error >= 0; h++) {
        error = half[h] = platform_add_full_zone(p, root, loop);
        for (int i = 0; i < HALF && error >= 0; i++) error = host[h][i] = platform_add_host(p, half[h], 1e9, 2);
        for (int i = 0; i < HALF * HALF && error >= 0; i++) {
            const int from = i / HALF, to = i % HALF;
            if (from != to) error = platform_add_route(p, half[h], host[h][from], host[h][to], -1, -1, 1, &link[to]);
        }
    }
    for (int h = 0; h < 2 && error >= 0; h++)
        error = platform_add_route(p, root, half[h], half[1 - h], host[h][0], host[1 - h][0], FAR, link);
    return error;
}

/* A profile of each kind: nothing goes off, and all else changes while the ranks talk or work. */
static int follow(platform *p, int kind, int resource, int series)
{
    return series < 0 ? series : platform_add_profile(p, kind, resource, series);
}

static int changing(platform *p)
{
    const double date_s[] = {0, 2e-5, 1e-4, 3e-4}, on[] = {1, 1, 2, 1}, speed[] = {1, 0.5, 2, 0.25};
    const double bandwidth[] = {1e9, 5e8, 2e9, 9e8}, latency[] = {1e-5, 2e-5, 0, 1e-6};
    int error = flat(p);
    for (int i = 0; i < 10 && error >= 0; i++) {
        error = follow(p, PROFILE_SPEED, i % MOST_RANKS, platform_add_series(p, 4, date_s, speed, i % 2 ? 1e-3 : 0));
        if (error >= 0) error = follow(p, PROFILE_BANDWIDTH, i, platform_add_series(p, 4, date_s, bandwidth, 5e-4));
        if (error >= 0) error = follow(p, PROFILE_LATENCY, i, platform_add_series(p, 4, date_s, latency, 0));
    }
    if (error >= 0) error = follow(p, PROFILE_LINK_IS_ON, 3, platform_add_series(p, 4, date_s, on, 0));
    if (error >= 0) error = follow(p, PROFILE_HOST_IS_ON, 0, platform_add_series(p, 4, date_s, on, 0));
    return error;
}

/* Two stars of four hosts, and between them a zone whose doors are many routes apart; a shorter way back. */
static int shortest(platform *p)
{
    enum { FAR = 80, HALF = 4 };
    int star[2], first[2], router[FAR], wires = platform_add_links(p, 2 * HALF, 1e9, 1e-6, LINK_SHARED), error = wires;
    const int root = error < 0 ? error : platform_add_shortest_zone(p, -1, SHORTEST_FLOYD, -1);
    error = root;
    for (int h = 0; h < 2 && error >= 0; h++) {
        error = star[h] = platform_add_star_zone(p, root, h); /* the second one has coordinates */
        if (error >= 0) error = first[h] = platform_add_hosts(p, star[h], HALF, 1e9, 2);
        if (error >= 0) error = platform_set_wires(p, star[h], first[h], HALF, wires, wires + 1, 2, -1);
        for (int i = 0; i < HALF && h && error >= 0; i++)
            error = platform_set_coordinates(p, star[h], first[h] + i, 1e-3 * i, 0, 0);
    }
    const int middle = error < 0 ? error : platform_add_shortest_zone(p, root, SHORTEST_DIJKSTRA, -1);
    error = middle;
    for (int i = 0; i < FAR && error >= 0; i++) error = router[i] = platform_add_router(p, middle);
    for (int i = 1; i < FAR && error >= 0; i++) {
        error = platform_add_route(p, middle, router[i - 1], router[i], -1, -1, 1, &wires);
        if (!error) error = platform_add_route(p, middle, router[i], router[i - 1], -1, -1, 1, &wires);
    }
    for (int h = 0; h < 2 && error >= 0; h++) {
        const int door = router[h * (FAR - 1)];
        error = platform_add_route(p, root, star[h], middle, first[h], door, 1, &wires);
        if (!error) error = platform_add_route(p, root, middle, star[h], door, first[h], 1, &wires);
    }
    return error < 0 ? error : platform_add_bypass(p, root, star[1], star[0], first[1], first[0], 1, &wires);
}

/* ---- the runs ---- */

typedef struct {
    const char *name;
    int (*build)(platform *p);
    int (*open)(sim *s);
    program *what;
    int n_ranks;
    int host[MOST_RANKS];
    int polls_notice, sends_are_free;
    const network_kind *network;
    int early_below_bytes;
} scenario;

static model all_costs(const scenario *c)
{
    const int n = !c->sends_are_free;
    static const constant_parameters constant = {.takes_s = 1e-5};
    static const ib_parameters flows = {.flow = {.n_factors = 2, .factor_above_bytes = {0, 65472}, .latency_factor = {2.0, 11.6},
                                                 .bandwidth_factor = {0.8, 0.94}, .weight_bytes = 8775,
                                                 .tcp_gamma_bytes = 4194304, .crosstraffic = 0.05, .envelope_bytes = 16},
                                        .inbound = 0.965, .outbound = 0.925, .crowded = 1.35}; /* they begin with those of flows */
    return (model){.network = {c->network, c->network == &network_constant ? (const void *)&constant : &flows},
                   .calls = {.detached_below_bytes = 65536, .early_below_bytes = c->early_below_bytes,
                             .n_send_overhead = n, .send_overhead = {0, 1e-6, 1e-10}, .n_isend_overhead = n,
                             .isend_overhead = {0, 2e-6, 1e-10}, .n_recv_overhead = 1, .recv_overhead = {0, 1e-6, 1e-10},
                             .rendezvous_overheads = 1},
                   .polling = {.test_s = 1e-6, .iprobe_s = 1e-6, .iprobe_part = c->polls_notice ? 0 : 0.5, .grow = 1,
                               .notice = c->polls_notice}};
}

static void read_deliveries(sim *s)
{
    const delivery *e;
    const int n = sim_deliveries(s, &e);
    for (int i = 0; i < n; i++)
        if (e[i].data) n_read += memcmp(e[i].data, pattern, (size_t)e[i].bytes) == 0;
    sim_deliveries_done(s);
}

/* Makes the queries of a report on a broken run. */
static void ask(sim *s, int n_ranks)
{
    double spent_s[SPENT_KINDS];
    statistics stats;
    waiting w;
    for (int rank = 0; rank < n_ranks; rank++) {
        sim_waiting(s, rank, &w);
        sim_polling(s, rank, &w);
    }
    for (int id = 0, kind; (id = sim_left_over(s, id, &kind));) assert(sim_request(s, id)->rank >= 0);
    sim_spent_s(s, spent_s);
    sim_statistics(s, &stats);
}

/* Goes on after a refusal: it has no effect, or the world says that it is broken; no sleep or execution is lost. */
static void go_on_without(sim *s, int n_ranks)
{
    int next;
    while ((next = sim_next(s)) >= 0 || next == SIM_YIELD) {
        read_deliveries(s);
        if (next >= 0) sim_append_end(s, next);
    }
    for (int rank = 0; rank < n_ranks && next == SIM_STUCK; rank++) {
        waiting w;
        sim_waiting(s, rank, &w);
        assert(w.kind != WAIT_TIME);
    }
}

/* SIM_DONE, or why the world went no further. */
static int run_to_the_end(sim *s, const scenario *c)
{
    int stage[MOST_RANKS] = {0};
    for (;;) {
        const int next = sim_next(s);
        read_deliveries(s);
        if (next == SIM_YIELD) continue;
        if (next == SIM_DONE) return SIM_DONE;
        if (next < 0) {
            assert(next == SIM_BROKEN);
            ask(s, c->n_ranks);
            assert(sim_next(s) == SIM_BROKEN);
            return sim_error(s);
        }
        c->what(s, next, stage[next]++);
        if (refusal) {
            go_on_without(s, c->n_ranks);
            return refusal;
        }
    }
}

/* SIM_DONE with the dates, or an error. */
static int run_once(const scenario *c, double *finish_s)
{
    const model m = all_costs(c);
    refusal = 0;
    n_asked = n_read = 0;
    int outcome = SIM_OUT_OF_MEMORY;
    platform *p = platform_new();
    const int built = p ? c->build(p) : PLATFORM_NO_MEMORY;
    assert(built >= 0 || built == PLATFORM_NO_MEMORY);
    if (built >= 0) platform_check(p);
    sim *s = built >= 0 ? sim_new(p, &m, c->n_ranks, c->host) : NULL;
    if (s) outcome = c->open && c->open(s) < 0 ? refusal : run_to_the_end(s, c);
    if (outcome == SIM_DONE) sim_finish_s(s, finish_s);
    sim_free(s);
    platform_free(p);
    return outcome;
}

static void every_allocation_may_fail(const scenario *c)
{
    double finish_s[MOST_RANKS], again_s[MOST_RANKS];
    fails_at = 0;
    assert(run_once(c, finish_s) == SIM_DONE);
    const long n = n_asked;
    const int64_t n_payloads = n_read;
    long n_unharmed = 0;
    for (fails_for_good = 0; fails_for_good < 2; fails_for_good++)
        for (fails_at = 1; fails_at <= n; fails_at++) {
            const int outcome = run_once(c, again_s);
            if (outcome != SIM_OUT_OF_MEMORY && outcome != SIM_DONE)
                printf("memory: %s, allocation %ld: %d\n", c->name, fails_at, outcome);
            assert(outcome == SIM_OUT_OF_MEMORY || (outcome == SIM_DONE && n_read == n_payloads));
            n_unharmed += outcome == SIM_DONE;
            for (int rank = 0; outcome == SIM_DONE && rank < c->n_ranks; rank++)
                assert(fabs(again_s[rank] - finish_s[rank]) <= 1e-12 * finish_s[rank]);
        }
    fails_at = 0;
    printf("memory: %s, %ld allocations, %ld runs unharmed\n", c->name, n, n_unharmed);
}

int main(void)
{
    static const scenario all[] = {
        {"talk on full routes", full, NULL, talk, 4, {0, 5, 2, 7}, 0, 0, &network_flow, 0},
        {"talk on shortest routes", shortest, NULL, talk, 4, {0, 5, 5, 7}, 0, 0, &network_flow, 0},
        {"talk on a fat tree", fat_tree, NULL, talk, 4, {0, 5, 5, 7}, 0, 0, &network_flow, 0},
        {"talk on a flat cluster", flat, NULL, talk, 4, {0, 1, 1, 3}, 1, 0, &network_flow, 0},
        {"talk on a torus", torus, NULL, talk, 4, {0, 5, 5, 7}, 0, 0, &network_flow, 0},
        {"talk on a dragonfly", dragonfly, NULL, talk, 4, {0, 5, 5, 7}, 0, 0, &network_flow, 0},
        {"talk on a graph", graph, NULL, talk, 4, {0, 5, 5, 7}, 0, 0, &network_flow, 0},
        {"talk on HyperX on rails", hyperx_on_rails, NULL, talk, 4, {0, 5, 5, 7}, 0, 0, &network_flow, 0},
        {"crowd on full routes", full, NULL, crowd, 2, {0, 5}, 0, 0, &network_flow, 0},
        {"crowd on a flat cluster", flat, NULL, crowd, 2, {0, 1}, 1, 0, &network_flow, 0},
        {"hear without overheads of sends", flat, NULL, hear, 2, {0, 1}, 0, 1, &network_flow, 0},
        {"work on shared cores", flat, NULL, work, 8, {0, 0, 0, 0, 0, 1, 1, 1}, 0, 0, &network_flow, 0},
        {"talk on InfiniBand", flat, NULL, talk, 4, {0, 5, 2, 7}, 0, 0, &network_ib, 0},
        {"crowd on InfiniBand", full, NULL, crowd, 2, {0, 5}, 0, 0, &network_ib, 0},
        {"talk of early messages", flat, NULL, talk, 4, {0, 5, 2, 7}, 0, 0, &network_flow, 65536},
        {"talk on a constant network", flat, NULL, talk, 4, {0, 5, 2, 7}, 0, 0, &network_constant, 0},
        {"talk on a machine that changes", changing, NULL, talk, 4, {0, 1, 1, 3}, 0, 0, &network_flow, 0},
        {"crowd on a machine that changes", changing, NULL, crowd, 2, {0, 1}, 0, 0, &network_flow, 0},
        {"work on a machine that changes", changing, NULL, work, 8, {0, 0, 0, 0, 0, 1, 1, 1}, 0, 0, &network_flow, 0},
        {"growth on a machine that changes", changing, NULL, grow, 3, {0, 0, 1}, 0, 0, &network_flow, 0},
        {"growth on full routes", full, open_network, grow, 3, {0, 0, 1}, 0, 0, &network_flow, 0},
        {"growth on a flat cluster", flat, open_network, grow, 3, {0, 0, 1}, 1, 0, &network_flow, 0},
        {"collectives on full routes", full, open_collectives, collect, 4, {0, 5, 2, 7}, 0, 0, &network_flow, 0},
        {"collectives on a fat tree", fat_tree, open_collectives, collect, 4, {0, 5, 2, 7}, 1, 0, &network_flow, 0},
        {"collectives on a flat cluster", flat, open_collectives, collect, 4, {0, 0, 0, 3}, 0, 0, &network_flow, 0},
    };
    for (int i = 0; i < LARGE; i++) pattern[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) every_allocation_may_fail(&all[i]);
    puts("memory: all well");
    return 0;
}
