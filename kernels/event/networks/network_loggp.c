#include "networks/network_loggp.h"

#include <stdlib.h>

#include "basics/dates.h"
#include "basics/lanes.h"
#include "networks/network.h"

enum { NONE = -1 };

typedef struct {
    double sends_from_s, receives_from_s;
} interface;

/* Messages that have arrived and that a rank has not taken: a list of transfers. */
typedef struct {
    int first, last;             /* NONE: empty */
    double looks_s;              /* date of an event that looks at it, or INFINITY */
} arrivals;

typedef struct {
    loggp_parameters is;
    interface *of_host;
    int n_hosts;
    lanes events;                /* an id is a transfer that arrives, or ends where nobody takes it; ~id a rank that looks */
    arrivals *of_rank;
    int n_ranks, rank_room;
    int *next;                   /* by transfer: the one that arrived after it, or NONE */
    int next_room;
} loggp;

static void free_state(void *state)
{
    loggp *n = state;
    lanes_free(&n->events);
    free(n->of_host);
    free(n->of_rank);
    free(n->next);
    free(n);
}

static void *begin(sim *s, const network_calls *kernel, const void *parameters)
{
    loggp *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->is = *(const loggp_parameters *)parameters;
    n->n_hosts = kernel->n_hosts(s);
    lanes_init(&n->events);
    n->of_host = calloc((size_t)n->n_hosts + 1, sizeof *n->of_host);
    if (n->of_host) return n;
    free_state(n);
    return NULL;
}

/* Bytes behind the first one, which the latency includes. */
static double further_bytes(int64_t bytes)
{
    return bytes > 1 ? (double)(bytes - 1) : 0.0;
}

static double gap_s(const loggp *n, int64_t bytes)
{
    return n->is.gap_s + further_bytes(bytes) * n->is.gap_s_per_byte;
}

static double taking_s(const loggp *n, int64_t bytes)
{
    return n->is.overhead_s + further_bytes(bytes) * larger(n->is.overhead_s_per_byte, n->is.gap_s_per_byte);
}

/* Room for the ranks and transfers below these numbers: 0, or an error. */
static int make_room(loggp *n, int ranks, int transfers)
{
    if (transfers > n->next_room) {
        int *next = realloc(n->next, 2 * (size_t)transfers * sizeof *next);
        if (!next) return SIM_OUT_OF_MEMORY;
        n->next = next;
        n->next_room = 2 * transfers;
    }
    if (ranks > n->rank_room) {
        arrivals *of_rank = realloc(n->of_rank, 2 * (size_t)ranks * sizeof *of_rank);
        if (!of_rank) return SIM_OUT_OF_MEMORY;
        n->of_rank = of_rank;
        n->rank_room = 2 * ranks;
    }
    for (; n->n_ranks < ranks; n->n_ranks++) n->of_rank[n->n_ranks] = (arrivals){NONE, NONE, INFINITY};
    return 0;
}

static int start(sim *s, void *state, int id)
{
    loggp *n = state;
    const transfer *t = transfer_at(s, id);
    interface *from = &n->of_host[t->source_host];
    const int receiver = network_receiver(s, id);
    if (make_room(n, receiver + 1, id + 1) < 0) return SIM_OUT_OF_MEMORY;
    const double sets_out_s = larger(network_clock(s)->now_s, from->sends_from_s);
    double arrives_s = sets_out_s + n->is.overhead_s + n->is.latency_s;
    if (receiver < 0) {
        interface *to = &n->of_host[t->target_host];
        arrives_s = larger(arrives_s, to->receives_from_s) + further_bytes(t->bytes) * n->is.gap_s_per_byte;
        to->receives_from_s = arrives_s + n->is.gap_s;
    }
    if (lanes_push(&n->events, arrives_s, t->order, id) < 0) return SIM_OUT_OF_MEMORY;
    from->sends_from_s = sets_out_s + gap_s(n, t->bytes);
    return 0;
}

static int next_date(sim *s, void *state, double *date_s)
{
    (void)s;
    const loggp *n = state;
    const heap_item *first = lanes_first(&n->events);
    *date_s = first ? first->date_s : INFINITY;
    return 0;
}

/* Has a rank look at what has arrived, at a date: 0, or an error. */
static int look_at(sim *s, loggp *n, int rank, double date_s)
{
    arrivals *of = &n->of_rank[rank];
    if (of->looks_s <= date_s) return 0;
    of->looks_s = date_s;
    return lanes_push(&n->events, date_s, transfer_at(s, of->first)->order, ~rank) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* From when on the first message that has arrived at a rank can be taken. */
static double takes_from_s(const sim *s, const loggp *n, int rank)
{
    const int to = transfer_at(s, n->of_rank[rank].first)->target_host;
    return larger(network_cpu_from_s(s, rank), n->of_host[to].receives_from_s);
}

static void take_first(sim *s, loggp *n, int rank)
{
    arrivals *of = &n->of_rank[rank];
    const int id = of->first;
    const transfer *t = transfer_at(s, id);
    const double taken_s = larger(network_clock(s)->now_s, takes_from_s(s, n, rank));
    n->of_host[t->target_host].receives_from_s = taken_s + gap_s(n, t->bytes);
    network_cpu_load(s, rank, taken_s + taking_s(n, t->bytes));
    of->first = n->next[id];
    if (of->first == NONE) of->last = NONE;
    transfer_end(s, id);
}

/* The rank takes messages that have arrived, while it has nothing else to do: their number, or an error. */
static int take(sim *s, loggp *n, int rank)
{
    int n_taken = 0;
    for (; n->of_rank[rank].first != NONE && network_cpu_idles(s, rank); n_taken++) {
        const double from_s = takes_from_s(s, n, rank);
        if (from_s >= clock_same_date_s(network_clock(s))) {
            const int error = look_at(s, n, rank, from_s);
            return error < 0 ? error : n_taken;
        }
        take_first(s, n, rank);
    }
    return n_taken;
}

static int take_older(sim *s, void *state, int rank, int64_t order)
{
    loggp *n = state;
    if (rank >= n->n_ranks || n->of_rank[rank].first == NONE) return 0;
    if (transfer_at(s, n->of_rank[rank].first)->order >= order) return 0;
    if (takes_from_s(s, n, rank) >= clock_same_date_s(network_clock(s))) return 0;
    take_first(s, n, rank);
    return 1;
}

static void arrive(loggp *n, int rank, int id)
{
    arrivals *of = &n->of_rank[rank];
    n->next[id] = NONE;
    if (of->first == NONE)
        of->first = id;
    else
        n->next[of->last] = id;
    of->last = id;
}

static int fire(sim *s, void *state)
{
    loggp *n = state;
    const double limit_s = clock_same_date_s(network_clock(s));
    const heap_item *first;
    int n_fired = 0;
    while ((first = lanes_first(&n->events)) && first->date_s < limit_s) {
        const int id = first->id, receiver = id < 0 ? ~id : network_receiver(s, id);
        lanes_pop(&n->events);
        n_fired++;
        if (receiver < 0) {
            transfer_end(s, id);
            continue;
        }
        if (id < 0)
            n->of_rank[receiver].looks_s = INFINITY;
        else
            arrive(n, receiver, id);
        const int n_taken = take(s, n, receiver);
        if (n_taken < 0) return n_taken;
    }
    return n_fired;
}

static double sends_from_s(const sim *s, const void *state, int host)
{
    (void)s;
    return ((const loggp *)state)->of_host[host].sends_from_s;
}

static int idles(sim *s, void *state, int rank)
{
    loggp *n = state;
    if (rank >= n->n_ranks || n->of_rank[rank].first == NONE) return 0;
    return look_at(s, n, rank, network_clock(s)->now_s);
}

static double alone_s(sim *s, void *state, int source_host, int target_host, int64_t bytes)
{
    const loggp *n = state;
    (void)s, (void)source_host, (void)target_host, (void)bytes;
    return n->is.overhead_s + n->is.latency_s;
}

static const network_parameter parameters[] = {{"latency_s", 1}, {"overhead_s", 1}, {"gap_s", 1}, {"gap_s_per_byte", 1},
                                               {"overhead_s_per_byte", 1}, {NULL, 0}};

const network_kind network_loggp = {
    .abi = {NETWORK_ABI, sizeof(network_kind)}, .name = "loggp", .parameters = parameters,
    .block_bytes = sizeof(loggp_parameters), .begin = begin, .start = start, .next_date = next_date, .fire = fire,
    .free = free_state, .alone_s = alone_s, .sends_from_s = sends_from_s, .idles = idles,
    .take_older = take_older};
