#include "networks/network_constant.h"

#include <stdlib.h>

#include "basics/lanes.h"

typedef struct {
    double takes_s;
    lanes ends;                  /* ids are transfers */
} constant_network;

static void *begin(sim *s, const network_calls *kernel, const void *parameters)
{
    (void)s, (void)kernel;
    const constant_parameters *m = parameters;
    constant_network *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->takes_s = m->takes_s;
    lanes_init(&n->ends);
    return n;
}

static void free_state(void *state)
{
    constant_network *n = state;
    lanes_free(&n->ends);
    free(n);
}

static int start(sim *s, void *state, int id)
{
    constant_network *n = state;
    const double end_s = network_clock(s)->now_s + n->takes_s;
    return lanes_push(&n->ends, end_s, transfer_at(s, id)->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

static int next_date(sim *s, void *state, double *date_s)
{
    (void)s;
    const constant_network *n = state;
    const heap_item *first = lanes_first(&n->ends);
    *date_s = first ? first->date_s : INFINITY;
    return 0;
}

/* All transfers take as long: those that end first were created first. */
static int fire(sim *s, void *state)
{
    constant_network *n = state;
    const double limit_s = clock_same_date_s(network_clock(s));
    const heap_item *first;
    int n_fired = 0;
    for (; (first = lanes_first(&n->ends)) && first->date_s < limit_s; n_fired++) {
        const int id = first->id;
        lanes_pop(&n->ends);
        transfer_end(s, id);
    }
    return n_fired;
}

static double alone_s(sim *s, void *state, int source_host, int target_host, int64_t bytes)
{
    const constant_network *n = state;
    (void)s, (void)source_host, (void)target_host, (void)bytes;
    return n->takes_s;
}

static const network_parameter parameters[] = {{"takes_s", 1}, {NULL, 0}};

const network_kind network_constant = {
    .abi = {NETWORK_ABI, sizeof(network_kind)}, .name = "constant", .parameters = parameters,
    .block_bytes = sizeof(constant_parameters), .begin = begin, .start = start, .next_date = next_date, .fire = fire,
    .free = free_state, .alone_s = alone_s};
