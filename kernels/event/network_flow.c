#include "network_flow.h"

#include <math.h>
#include <stdlib.h>

#include "fair.h"
#include "heap.h"
#include "lanes.h"
#include "sort.h"

/* SMPI's flow model: a transfer is first a latency phase that loads nothing, then a flow, which gets a max-min fair share of the
 * links of its route, and loads those its acknowledgements take back a little. */

typedef struct {
    int share;                   /* number in the fair-share solver, -1 in the latency phase */
    int row;                     /* of the model's factors, -1: none */
    double rate_bytes_per_s, remaining_bytes, since_s;
    double slowdown;             /* of its bound */
    int has_latency;
} flow;

/* The flow that is handed to the solver: its links with their coefficients. */
typedef struct {
    double penalty, bound_bytes_per_s;
    int n, room;
    int *link;
    double *coefficient;
} flow_links;

typedef struct {
    int64_t order;
    int id, is_latency;          /* the transfer, and which of its phases ends */
} flow_due;

typedef struct {
    network_model model;
    flow *at;                    /* by transfer */
    int room;
    lanes latencies;             /* ends of latency phases; ids are transfers */
    heap ends;                   /* of flows */
    fair *shares;
    int shares_are_old;
    platform_path path, way_back;
    flow_links links;
    flow_due *due;
    int n_due, due_room;
    void (*ended)(void *watcher, int transfer); /* or NULL */
    void *watcher;
} flow_network;

static void free_state(void *state)
{
    flow_network *n = state;
    fair_free(n->shares);
    lanes_free(&n->latencies);
    heap_free(&n->ends);
    free(n->at);
    free(n->path.link);
    free(n->way_back.link);
    free(n->links.link);
    free(n->links.coefficient);
    free(n->due);
    free(n);
}

static void *begin(sim *s, const void *parameters)
{
    const platform *p = network_platform(s);
    flow_network *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->model = *(const network_model *)parameters;
    lanes_init(&n->latencies);
    heap_init(&n->ends, 1);
    n->shares = fair_new(platform_n_links(p), platform_bandwidth_bytes_per_s(p), platform_policy(p));
    if (n->ends.place && n->shares) return n;
    free_state(n);
    return NULL;
}

/* ---- the links of a flow ---- */

static int make_room(flow_links *f, int n)
{
    if (n <= f->room) return 0;
    int *link = realloc(f->link, (size_t)n * sizeof *link);
    if (link) f->link = link;
    double *coefficient = realloc(f->coefficient, (size_t)n * sizeof *coefficient);
    if (coefficient) f->coefficient = coefficient;
    if (!link || !coefficient) return SIM_OUT_OF_MEMORY;
    f->room = n;
    return 0;
}

/* Repeated links: loads add up; on a FATPIPE the largest counts. */
static void load_link(flow_links *f, int link, double coefficient, int is_fatpipe)
{
    for (int i = 0; i < f->n; i++) {
        if (f->link[i] != link) continue;
        if (!is_fatpipe)
            f->coefficient[i] += coefficient;
        else if (f->coefficient[i] < coefficient)
            f->coefficient[i] = coefficient;
        return;
    }
    f->link[f->n] = link;
    f->coefficient[f->n++] = coefficient;
}

/* The route between two hosts, as the model has it. */
static int find_route(sim *s, const flow_network *n, int source_host, int target_host, platform_path *path)
{
    const int error = network_route(s, source_host, target_host, path);
    if (n->model.has_no_latency) path->latency_s = 0;
    return error;
}

static double bandwidth_factor(const flow_network *n, int row)
{
    return row >= 0 ? n->model.bandwidth_factor[row] : 1.0;
}

static int plan(sim *s, flow_network *n, int source_host, int target_host, int row)
{
    const double *bandwidth = platform_bandwidth_bytes_per_s(network_platform(s));
    const uint8_t *policy = platform_policy(network_platform(s));
    const network_model *m = &n->model;
    platform_path *path = &n->path, *back = &n->way_back;
    flow_links *f = &n->links;
    back->n = 0;
    int error = find_route(s, n, source_host, target_host, path);
    if (!error && m->crosstraffic > 0) error = network_route(s, target_host, source_host, back);
    if (error < 0) return error;
    if (make_room(f, path->n + back->n) < 0) return SIM_OUT_OF_MEMORY;
    f->n = 0;
    f->penalty = path->latency_s;
    f->bound_bytes_per_s = path->n ? INFINITY : -1;
    for (int i = 0; i < path->n; i++) {
        int l = path->link[i];
        load_link(f, l, 1.0, policy[l] == LINK_FATPIPE);
        if (m->weight_bytes > 0) f->penalty += m->weight_bytes / bandwidth[l];
        if (bandwidth[l] < f->bound_bytes_per_s) f->bound_bytes_per_s = bandwidth[l];
    }
    for (int i = 0; i < back->n; i++)
        load_link(f, back->link[i], m->crosstraffic, policy[back->link[i]] == LINK_FATPIPE);
    if (path->n && m->factor_caps) f->bound_bytes_per_s *= bandwidth_factor(n, row);
    if (path->n && path->latency_s > 0 && m->tcp_gamma_bytes > 0)
        f->bound_bytes_per_s = fmin(f->bound_bytes_per_s, m->tcp_gamma_bytes / (2 * path->latency_s));
    return 0;
}

/* ---- the two phases of a transfer ---- */

static double rate_for(const flow_network *n, int row, double share_bytes_per_s)
{
    return n->model.factor_caps ? share_bytes_per_s : share_bytes_per_s * bandwidth_factor(n, row);
}

/* The share of the planned flow if there were no other. */
static double share_alone_bytes_per_s(sim *s, const flow_network *n)
{
    const double *bandwidth = platform_bandwidth_bytes_per_s(network_platform(s));
    const flow_links *f = &n->links;
    double share = f->bound_bytes_per_s > 0 ? f->bound_bytes_per_s : INFINITY;
    for (int i = 0; i < f->n; i++)
        if (f->coefficient[i] > 0 && bandwidth[f->link[i]] > 0) share = fmin(share, bandwidth[f->link[i]] / f->coefficient[i]);
    return share;
}

/* Adds the planned flow to those that share: 0, or an error. */
static int add_share(flow_network *n, int id)
{
    const flow_links *f = &n->links;
    const double penalty = n->at[id].has_latency ? f->penalty : 1.0; /* as the peer has it */
    /* As the peer has it: without a window, a flow with latency has no bound to slow down. */
    const int is_bound = n->model.tcp_gamma_bytes > 0 || !(n->path.latency_s > 0);
    const double bound = is_bound ? f->bound_bytes_per_s / n->at[id].slowdown : f->bound_bytes_per_s;
    n->at[id].share = fair_add(n->shares, penalty, bound, f->n, f->link, f->coefficient, id);
    n->shares_are_old = 1;
    return n->at[id].share < 0 ? SIM_OUT_OF_MEMORY : 0;
}

static int start_flow(sim *s, flow_network *n, int id, int has_latency)
{
    const transfer *t = transfer_at(s, id);
    const double now_s = network_clock(s)->now_s;
    flow *f = &n->at[id];
    int error = plan(s, n, t->source_host, t->target_host, f->row);
    if (error < 0) return error;
    f->since_s = now_s;
    f->has_latency = has_latency;
    double takes_s = 0; /* no link on the way: nothing left to wait for */
    if (n->links.n && !n->model.has_no_bandwidth_limit) {
        if (!n->model.has_no_contention) return add_share(n, id);
        takes_s = f->remaining_bytes / rate_for(n, f->row, share_alone_bytes_per_s(s, n));
    }
    return heap_push(&n->ends, now_s + takes_s, t->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

void flow_watch(void *state, void (*ended)(void *watcher, int transfer), void *watcher)
{
    flow_network *n = state;
    n->ended = ended;
    n->watcher = watcher;
}

int flow_slow_down(sim *s, void *state, int id, double slowdown)
{
    flow_network *n = state;
    flow *f = &n->at[id];
    const transfer *t = transfer_at(s, id);
    f->slowdown = slowdown;
    if (f->share < 0) return 0; /* in its latency phase */
    const int error = plan(s, n, t->source_host, t->target_host, f->row);
    if (error < 0) return error;
    fair_remove(n->shares, f->share);
    return add_share(n, id);
}

static int factor_row(const network_model *m, double size)
{
    int row = -1;
    while (row + 1 < m->n_factors && m->factor_above_bytes[row + 1] < size) row++;
    return row;
}

static int flow_for(flow_network *n, int id)
{
    if (id < n->room) return 0;
    int room = n->room ? 2 * n->room : 64;
    while (room <= id) room *= 2;
    flow *grown = realloc(n->at, (size_t)room * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    n->at = grown;
    n->room = room;
    return 0;
}

static int start(sim *s, void *state, int id)
{
    flow_network *n = state;
    const transfer *t = transfer_at(s, id);
    const double size = (double)t->bytes + n->model.envelope_bytes;
    const int row = factor_row(&n->model, size);
    int error = find_route(s, n, t->source_host, t->target_host, &n->path);
    if (!error) error = flow_for(n, id);
    if (error < 0) return error;
    const double latency_s = n->path.latency_s * (row >= 0 ? n->model.latency_factor[row] : 1.0);
    n->at[id] = (flow){.share = -1, .row = row, .remaining_bytes = size, .slowdown = 1};
    if (!(latency_s > 0)) return start_flow(s, n, id, 0);
    return lanes_push(&n->latencies, network_clock(s)->now_s + latency_s, t->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* Gives the flows whose shares have changed their dates: 0; 1: not yet, call again; or an error. */
static int update_shares(sim *s, flow_network *n)
{
    const int n_changed = fair_solve(n->shares);
    const double now_s = network_clock(s)->now_s;
    if (n_changed == FAIR_NOT_YET) return 1;
    if (n_changed < 0) return SIM_OUT_OF_MEMORY;
    const int *changed = fair_changed(n->shares);
    for (int i = 0; i < n_changed; i++) {
        const int id = fair_owner(n->shares, changed[i]);
        flow *f = &n->at[id];
        f->remaining_bytes -= f->rate_bytes_per_s * (now_s - f->since_s);
        if (f->remaining_bytes < 1e-14) f->remaining_bytes = 0;
        f->since_s = now_s;
        f->rate_bytes_per_s = rate_for(n, f->row, fair_share_bytes_per_s(n->shares, changed[i]));
        if (f->rate_bytes_per_s <= 0) {
            heap_remove(&n->ends, id);
            continue;
        }
        const double date_s = now_s + f->remaining_bytes / f->rate_bytes_per_s;
        if (heap_has(&n->ends, id))
            heap_move(&n->ends, id, date_s);
        else if (heap_push(&n->ends, date_s, transfer_at(s, id)->order, id) < 0)
            return SIM_OUT_OF_MEMORY;
    }
    n->shares_are_old = 0;
    network_worked(s, n_changed, 1);
    return 0;
}

static int next_date(sim *s, void *state, double *date_s)
{
    flow_network *n = state;
    if (n->shares_are_old) {
        const int error = update_shares(s, n);
        if (error) return error;
    }
    const heap_item *latency = lanes_first(&n->latencies);
    *date_s = latency ? latency->date_s : INFINITY;
    if (n->ends.n && n->ends.item[0].date_s < *date_s) *date_s = n->ends.item[0].date_s;
    return 0;
}

/* ---- what ends at one date ---- */

static int add_due(flow_network *n, const heap_item *it, int is_latency)
{
    if (n->n_due == n->due_room) {
        int room = n->due_room ? 2 * n->due_room : 64;
        flow_due *grown = realloc(n->due, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        n->due = grown;
        n->due_room = room;
    }
    n->due[n->n_due++] = (flow_due){it->order, it->id, is_latency};
    return 0;
}

static int find_due(flow_network *n, double latency_limit_s, double end_limit_s)
{
    const heap_item *it;
    n->n_due = 0;
    while ((it = lanes_first(&n->latencies)) && it->date_s < latency_limit_s) {
        if (add_due(n, it, 1) < 0) return SIM_OUT_OF_MEMORY;
        lanes_pop(&n->latencies);
    }
    while (n->ends.n && n->ends.item[0].date_s < end_limit_s) {
        if (add_due(n, &n->ends.item[0], 0) < 0) return SIM_OUT_OF_MEMORY;
        heap_pop(&n->ends);
    }
    return 0;
}

static int in_order_of_creation(const void *a, const void *b)
{
    const flow_due *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void end_flow(sim *s, flow_network *n, int id)
{
    if (n->at[id].share >= 0) {
        fair_remove(n->shares, n->at[id].share);
        n->shares_are_old = 1;
    }
    if (n->ended) n->ended(n->watcher, id);
    transfer_end(s, id);
}

/* Latencies end together when they are close, flows only when rounding alone keeps them apart. */
static int fire(sim *s, void *state)
{
    flow_network *n = state;
    const sim_clock *c = network_clock(s);
    if (find_due(n, clock_same_date_s(c), clock_rounded_date_s(c)) < 0) return SIM_OUT_OF_MEMORY;
    sort_nearly(n->due, n->n_due, sizeof *n->due, in_order_of_creation);
    const int n_due = n->n_due;
    for (int i = 0; i < n_due; i++) {
        if (!n->due[i].is_latency) {
            end_flow(s, n, n->due[i].id);
        } else {
            const int error = start_flow(s, n, n->due[i].id, 1);
            if (error < 0) return error;
        }
    }
    return n_due;
}

static void check(const sim *s, const void *state)
{
#ifdef SMPY_CHECK
    const flow_network *n = state;
    if (!heap_check(&n->ends)) abort();
    for (int i = 0; i < n->ends.n; i++)
        if (n->ends.item[i].order != transfer_at(s, n->ends.item[i].id)->order) abort();
#else
    (void)s;
    (void)state;
#endif
}

const network_kind network_flow = {"flow", begin, start, next_date, fire, free_state, check};
