/* A network model from outside smpy. Copy this file, and mine.py beside it, to begin one of your own: it needs one header.
 *
 *     cc -shared -fPIC -I FOLDER_OF_THE_HEADER mine.c -o libmine.so
 *
 * Each transfer takes latency + bytes / bandwidth, whatever else is under way. */
#include <math.h>
#include <stdlib.h>

#include "network_kind.h"

/* The parameter block: doubles alone, and `parameters` names them in this order. */
typedef struct {
    double latency_s, bandwidth_bytes_per_s;
} mine_parameters;

static const network_parameter parameters[] = {{"latency_s", 1}, {"bandwidth_bytes_per_s", 1}, {NULL, 0}};

typedef struct {
    double end_s;
    int64_t order;
    int id;
} mine_transfer;

/* The state of the network of one world. */
typedef struct {
    const network_calls *kernel;
    mine_parameters given;
    mine_transfer *under_way;    /* in no order: a model of many transfers keeps them in a heap */
    int n, room;
} mine_network;

static void *begin(sim *s, const network_calls *kernel, const void *block)
{
    (void)s;                     /* a model that knows links asks kernel->route */
    mine_network *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->kernel = kernel;
    n->given = *(const mine_parameters *)block;
    return n;
}

static void free_state(void *state)
{
    mine_network *n = state;
    free(n->under_way);
    free(n);
}

static double takes_s(const mine_network *n, int64_t bytes)
{
    return n->given.latency_s + (double)bytes / n->given.bandwidth_bytes_per_s;
}

static int start(sim *s, void *state, int id)
{
    mine_network *n = state;
    const network_transfer t = n->kernel->transfer(s, id);
    if (n->n == n->room) {
        const int room = n->room ? 2 * n->room : 64;
        mine_transfer *grown = realloc(n->under_way, (size_t)room * sizeof *grown);
        if (!grown) return NETWORK_OUT_OF_MEMORY;
        n->under_way = grown;
        n->room = room;
    }
    n->under_way[n->n++] = (mine_transfer){n->kernel->now_s(s) + takes_s(n, t.bytes), t.order, id};
    return 0;
}

/* Index of the transfer that ends first, as law (1) of network_kind.h wants; -1: there is none. */
static int first(const mine_network *n)
{
    int best = n->n ? 0 : -1;
    for (int i = 1; i < n->n; i++) {
        const mine_transfer *x = &n->under_way[i], *y = &n->under_way[best];
        if (x->end_s < y->end_s || (x->end_s <= y->end_s && x->order < y->order)) best = i;
    }
    return best;
}

static int next_date(sim *s, void *state, double *date_s)
{
    (void)s;
    const mine_network *n = state;
    const int i = first(n);
    *date_s = i < 0 ? INFINITY : n->under_way[i].end_s;
    return 0;
}

static int fire(sim *s, void *state)
{
    mine_network *n = state;
    int n_fired = 0;
    for (int i; (i = first(n)) >= 0 && n->under_way[i].end_s <= n->kernel->now_s(s); n_fired++) {
        const int id = n->under_way[i].id;
        n->under_way[i] = n->under_way[--n->n]; /* before the owner is told: it may start another transfer */
        n->kernel->end_transfer(s, id);
    }
    return n_fired;
}

static double alone_s(sim *s, void *state, int source_host, int target_host, int64_t bytes)
{
    (void)s, (void)source_host, (void)target_host;
    return takes_s(state, bytes);
}

const network_kind smpy_network = {
    .abi = {NETWORK_ABI, sizeof(network_kind)},
    .name = "mine",
    .parameters = parameters,
    .block_bytes = sizeof(mine_parameters),
    .begin = begin,
    .start = start,
    .next_date = next_date,
    .fire = fire,
    .free = free_state,
    .alone_s = alone_s,
};
