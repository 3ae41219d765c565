#include "networks/network_dimemas.h"

#include <stdlib.h>

#include "basics/heap.h"

enum { OUTPUT, INPUT, BUS, N_KINDS };

/* So many messages hold some of it at once; the others wait, the oldest first. */
typedef struct {
    heap waiting;                /* transfers, by order */
    int n_free;                  /* -1: no limit */
} resource_pool;

/* Links and buses for messages between hosts, or within each host. */
typedef struct {
    dimemas_medium is;
    resource_pool *links;        /* [2 * hosts]: output and input; input alone, where they serve both ways */
    resource_pool *buses;        /* [1], or [hosts] */
    int n_buses, is_half_duplex;
} medium;

typedef struct {
    medium between, local;
    int n_hosts;
    int collective_model;
    heap ends;
} dimemas;

static void pools_free(resource_pool *pools, int n)
{
    for (int i = 0; pools && i < n; i++) heap_free(&pools[i].waiting);
    free(pools);
}

static resource_pool *pools_new(int n, double n_of_each)
{
    resource_pool *pools = calloc((size_t)n + 1, sizeof *pools);
    for (int i = 0; pools && i < n; i++) {
        heap_init(&pools[i].waiting, 0);
        pools[i].n_free = n_of_each > 0 ? (int)(n_of_each < INT32_MAX ? n_of_each : INT32_MAX) : -1;
    }
    return pools;
}

static int medium_begin(medium *m, const dimemas_medium *is, int n_hosts, int n_buses)
{
    m->is = *is;
    m->n_buses = n_buses;
    m->is_half_duplex = is->input_links > 0 && !(is->output_links > 0);
    m->links = pools_new(2 * n_hosts, 0);
    m->buses = pools_new(n_buses, is->buses);
    if (!m->links || !m->buses) return SIM_OUT_OF_MEMORY;
    for (int i = 0; i < 2 * n_hosts; i++) {
        const double n = i % 2 == INPUT ? is->input_links : is->output_links;
        if (n > 0) m->links[i].n_free = (int)(n < INT32_MAX ? n : INT32_MAX);
    }
    return 0;
}

static void free_state(void *state)
{
    dimemas *n = state;
    pools_free(n->between.links, 2 * n->n_hosts);
    pools_free(n->local.links, 2 * n->n_hosts);
    pools_free(n->between.buses, n->between.n_buses);
    pools_free(n->local.buses, n->local.n_buses);
    heap_free(&n->ends);
    free(n);
}

static void *begin(sim *s, const network_calls *kernel, const void *parameters)
{
    const dimemas_parameters *is = parameters;
    dimemas *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->n_hosts = kernel->n_hosts(s);
    n->collective_model = (int)is->collective_model;
    heap_init(&n->ends, 0);
    const int error = medium_begin(&n->between, &is->between, n->n_hosts, 1);
    if (!error && !medium_begin(&n->local, &is->local, n->n_hosts, n->n_hosts)) return n;
    free_state(n);
    return NULL;
}

static medium *medium_of(dimemas *n, const transfer *t)
{
    return t->source_host == t->target_host ? &n->local : &n->between;
}

/* The pools that a transfer needs one of each. Both links may be one that serves both ways: within a host it needs that once. */
static void pools_of(dimemas *n, const transfer *t, resource_pool *pool[N_KINDS])
{
    medium *m = medium_of(n, t);
    const int is_local = m == &n->local;
    pool[OUTPUT] = &m->links[2 * t->source_host + (m->is_half_duplex ? INPUT : OUTPUT)];
    pool[INPUT] = &m->links[2 * t->target_host + INPUT];
    if (pool[INPUT] == pool[OUTPUT]) pool[INPUT] = NULL;
    pool[BUS] = &m->buses[is_local ? t->source_host : 0];
}

/* Begins, if there is all that it needs; else waits for the first thing that there is none of: 0, or an error. */
static int begin_or_wait(sim *s, dimemas *n, int id)
{
    const transfer *t = transfer_at(s, id);
    const double bandwidth = medium_of(n, t)->is.bandwidth_bytes_per_s;
    resource_pool *pool[N_KINDS];
    pools_of(n, t, pool);
    for (int i = 0; i < N_KINDS; i++)
        if (pool[i] && pool[i]->n_free == 0)
            return heap_push(&pool[i]->waiting, 0, t->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
    const double ends_s = network_clock(s)->now_s + (bandwidth > 0 ? (double)t->bytes / bandwidth : 0);
    if (heap_push(&n->ends, ends_s, t->order, id) < 0) return SIM_OUT_OF_MEMORY;
    for (int i = 0; i < N_KINDS; i++)
        if (pool[i] && pool[i]->n_free > 0) pool[i]->n_free--;
    return 0;
}

/* The pool, among those of a transfer, with something free and the oldest transfer that waits for it; NULL: there is none. */
static resource_pool *oldest(resource_pool *pool[N_KINDS])
{
    resource_pool *found = NULL;
    for (int i = 0; i < N_KINDS; i++) {
        resource_pool *p = pool[i];
        if (!p || !p->n_free || !p->waiting.n) continue;
        if (!found || p->waiting.item[0].order < found->waiting.item[0].order) found = p;
    }
    return found;
}

/* Gives back what a transfer held, to those that wait: 0, or an error. */
static int give_back(sim *s, dimemas *n, int id)
{
    resource_pool *pool[N_KINDS], *next;
    pools_of(n, transfer_at(s, id), pool);
    for (int i = 0; i < N_KINDS; i++)
        if (pool[i] && pool[i]->n_free >= 0) pool[i]->n_free++;
    while ((next = oldest(pool))) {
        const int waiting = next->waiting.item[0].id;
        heap_pop(&next->waiting);
        const int error = begin_or_wait(s, n, waiting);
        if (error < 0) return error;
    }
    return 0;
}

static int start(sim *s, void *state, int id)
{
    return begin_or_wait(s, state, id);
}

static int next_date(sim *s, void *state, double *date_s)
{
    (void)s;
    const dimemas *n = state;
    *date_s = n->ends.n ? n->ends.item[0].date_s : INFINITY;
    return 0;
}

static int fire(sim *s, void *state)
{
    dimemas *n = state;
    const double limit_s = clock_same_date_s(network_clock(s));
    int n_fired = 0;
    for (; n->ends.n && n->ends.item[0].date_s < limit_s; n_fired++) {
        const int id = n->ends.item[0].id;
        heap_pop(&n->ends);
        const int error = transfer_at(s, id)->source_host < 0 ? 0 : give_back(s, n, id);
        if (error < 0) return error;
        transfer_end(s, id);
    }
    return n_fired;
}

/* ---- collectives ---- */

/* Rounds of a binary tree over n ends, each as often as its messages need the buses; 0 buses: once. */
static double n_rounds(int64_t n, double buses)
{
    double rounds = 0;
    for (int64_t reach = 1; reach < n; reach *= 2) {
        const double messages = (double)((n - reach + 2 * reach - 1) / (2 * reach));
        rounds += buses > 0 ? ceil(messages / buses) : 1;
    }
    return rounds;
}

static double factor(int model, int n, double buses)
{
    switch (model) {
    case COLLECTIVE_CONST: return 1;
    case COLLECTIVE_LINEAR: return n - 1;
    case COLLECTIVE_LOG: return n_rounds(n, buses);
    default: return 0; /* COLLECTIVE_NONE */
    }
}

/* Both phases among n ends. */
static double phases_s(const dimemas *n, const dimemas_medium *m, const network_collective *is, int n_ends, double buses)
{
    const double bytes = (double)is->sent_bytes + (double)is->received_bytes;
    return factor(n->collective_model, n_ends, buses) *
           (2 * m->latency_s + (m->bandwidth_bytes_per_s > 0 ? bytes / m->bandwidth_bytes_per_s : 0));
}

static int start_collective(sim *s, void *state, int id, const network_collective *is)
{
    dimemas *n = state;
    double ends_s = network_clock(s)->now_s + phases_s(n, &n->local.is, is, is->ranks_on_host_max, 0);
    if (n->n_hosts > 1) ends_s += phases_s(n, &n->between.is, is, is->n_hosts, n->between.is.buses);
    return heap_push(&n->ends, ends_s, transfer_at(s, id)->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

static double startup_s(const sim *s, const void *state, int source_host, int target_host)
{
    const dimemas *n = state;
    (void)s;
    return source_host == target_host ? n->local.is.latency_s : n->between.is.latency_s;
}

static double alone_s(sim *s, void *state, int source_host, int target_host, int64_t bytes)
{
    const dimemas *n = state;
    const double bandwidth =
        source_host == target_host ? n->local.is.bandwidth_bytes_per_s : n->between.is.bandwidth_bytes_per_s;
    (void)s;
    return bandwidth > 0 ? (double)bytes / bandwidth : 0;
}

static const network_parameter parameters[] = {
    {"latency_s", 1}, {"bandwidth_bytes_per_s", 1}, {"buses", 1}, {"input_links", 1}, {"output_links", 1},
    {"local_latency_s", 1}, {"local_bandwidth_bytes_per_s", 1}, {"local_buses", 1}, {"local_input_links", 1},
    {"local_output_links", 1}, {"collective_model", 1}, {NULL, 0}};

const network_kind network_dimemas = {
    .abi = {NETWORK_ABI, sizeof(network_kind)}, .name = "dimemas", .parameters = parameters,
    .block_bytes = sizeof(dimemas_parameters), .begin = begin, .start = start, .next_date = next_date, .fire = fire,
    .free = free_state, .alone_s = alone_s, .startup_s = startup_s, .start_collective = start_collective};
