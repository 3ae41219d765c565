#include "networks/network_flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basics/dates.h"
#include "basics/heap.h"
#include "basics/lanes.h"
#include "basics/sort.h"
#include "machine/profile.h"
#include "networks/adaptive_routes.h"
#include "networks/flow_planner.h"
#include "networks/link_uses.h"
#include "solver/fair.h"

/* SMPI's flow model: a transfer is first a latency phase that loads nothing, then a flow, which gets a max-min fair share of the
 * links of its route, and loads those its acknowledgements take back a little.
 *
 * If links change (profiles), a transfer keeps the penalty and bound of the date when it began, and a change of a link that it
 * uses, its way back included, changes them as the peer (SMPI, Full) does:
 *   bandwidth: the penalty by S / new - S / old; not the bound;
 *   latency: the penalty by the difference, and the TCP window's bound is that of the new latency;
 *   and either ends the transfer's latency phase at once if it changes the penalty, because the peer takes a transfer whose penalty
 *   is set for a flow. */

typedef struct {
    int share;                   /* number in the fair-share solver, -1 in the latency phase */
    int row;                     /* index into the model's factors, -1: none */
    int detour;                  /* of its route */
    double rate_bytes_per_s, remaining_bytes, since_s;
    double slowdown;             /* divisor of its bound */
    int has_own_penalty;         /* else 1, like the peer: it began without latency, and no link of its has changed */
} flow;

typedef struct {
    int64_t order;
    int id, is_latency;          /* the transfer, and which of its phases ends */
} flow_due;

/* Data that a transfer keeps if links change. */
typedef struct {
    int64_t order;               /* order of the transfer, in its latency phase; -1 after */
    double latency_s;
    double penalty;              /* 0 but for rounding, or less: first_penalty holds instead (SimGrid aborts) */
    double first_penalty;
    double least_bandwidth_bytes_per_s; /* on its route, when it began; -1: it has no links */
    double bound_bytes_per_s, first_bound_bytes_per_s;
} flow_origin;

typedef struct {
    flow *at;                    /* by transfer */
    flow_origin *origin;         /* likewise; NULL: no link of the machine changes */
    link_uses uses;
    link_watcher links_watcher;  /* its functions: or NULL */
    int room;
    lanes latencies;             /* ends of latency phases; ids are transfers */
    heap ends;                   /* ends of flows */
    fair *shares;
    int shares_are_old;
    adaptive_routes routes;
    flow_planner planner;        /* it keeps no plans where links change or routes adapt */
    flow_due *due;
    int n_due, due_room;
    flow_watcher watcher;        /* its functions: or NULL */
} flow_network;

static void free_state(void *state)
{
    flow_network *n = state;
    fair_free(n->shares);
    lanes_free(&n->latencies);
    heap_free(&n->ends);
    free(n->at);
    free(n->origin);
    link_uses_free(&n->uses);
    adaptive_routes_free(&n->routes);
    flow_planner_free(&n->planner);
    free(n->due);
    free(n);
}

static void *begin(sim *s, const network_calls *kernel, const void *parameters)
{
    (void)kernel;
    const platform *p = network_platform(s);
    flow_network *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->planner.model = *(const flow_parameters *)parameters;
    lanes_init(&n->latencies);
    heap_init(&n->ends, 1);
    n->shares = fair_new(platform_n_links(p), network_bandwidth_bytes_per_s(s), platform_policy(p));
    const int has_memory = adaptive_routes_init(&n->routes, p) == 0;
    if (link_uses_init(&n->uses, p) == 0 && has_memory && n->ends.place && n->shares) return n;
    free_state(n);
    return NULL;
}

/* ---- transfers on links that change ---- */

/* Notes the penalty, bound and links of a new transfer: 0, or an error. */
static int keep_origin(sim *s, flow_network *n, int id)
{
    const transfer *t = transfer_at(s, id);
    const flow_plan *f = &n->planner.planned;
    const flow *g = &n->at[id];
    const int error = flow_planner_plan(s, &n->planner, t->source_host, t->target_host, g->detour, g->row);
    if (error < 0) return error;
    double least = n->planner.path.n ? INFINITY : -1;
    for (int i = 0; i < n->planner.path.n; i++) least = fmin(least, network_bandwidth_bytes_per_s(s)[n->planner.path.link[i]]);
    if (n->planner.path.n && n->planner.model.factor_caps) least *= flow_bandwidth_factor(&n->planner.model, g->row);
    n->origin[id] = (flow_origin){.order = t->order, .latency_s = n->planner.path.latency_s, .penalty = f->penalty,
                                  .first_penalty = f->penalty, .least_bandwidth_bytes_per_s = least,
                                  .bound_bytes_per_s = f->bound_bytes_per_s,
                                  .first_bound_bytes_per_s = f->bound_bytes_per_s};
    return link_uses_add(&n->uses, id, f->n, f->link) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

static const double LEAST_PENALTY_S = 1e-15; /* rounding leaves less of differences that cancel */

static double penalty_of(const flow_origin *o)
{
    if (o->penalty > LEAST_PENALTY_S) return o->penalty;
    return o->first_penalty > 0 ? o->first_penalty : 1.0;
}

/* ---- the two phases of a transfer ---- */

static double rate_for(const flow_network *n, int row, double share_bytes_per_s)
{
    return n->planner.model.factor_caps ? share_bytes_per_s : share_bytes_per_s * flow_bandwidth_factor(&n->planner.model, row);
}

/* Plans a transfer under way: links may have changed since it began, and it keeps what it was told of them. */
static int plan_again(sim *s, flow_network *n, int id)
{
    const transfer *t = transfer_at(s, id);
    const flow *f = &n->at[id];
    const int error = flow_planner_plan(s, &n->planner, t->source_host, t->target_host, f->detour, f->row);
    if (error < 0 || !n->origin) return error;
    n->planner.planned.penalty = penalty_of(&n->origin[id]);
    n->planner.planned.bound_bytes_per_s = n->origin[id].bound_bytes_per_s;
    return 0;
}

/* The bound over the slowdown; like in the peer, a flow with latency has none to slow down without a window. */
static double slowed(const flow_network *n, int id, double bound_bytes_per_s, double latency_s)
{
    const int is_bound = n->planner.model.tcp_gamma_bytes > 0 || !(latency_s > 0);
    return is_bound ? bound_bytes_per_s / n->at[id].slowdown : bound_bytes_per_s;
}

/* Adds the planned flow to those that share: 0, or an error. */
static int add_share(flow_network *n, int id)
{
    const flow_plan *f = &n->planner.planned;
    const double penalty = n->at[id].has_own_penalty ? f->penalty : 1.0;
    const double bound = slowed(n, id, f->bound_bytes_per_s, f->latency_s);
    n->at[id].share = fair_add(n->shares, penalty, bound, f->n, f->link, f->coefficient, id);
    n->shares_are_old = 1;
    return n->at[id].share < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* The planned flow is alone on its links: when it ends. */
static double end_alone_s(sim *s, flow_network *n, int id)
{
    flow *f = &n->at[id];
    f->rate_bytes_per_s = rate_for(n, f->row, flow_planner_share_alone_bytes_per_s(s, &n->planner));
    return network_clock(s)->now_s + f->remaining_bytes / f->rate_bytes_per_s;
}

static int start_flow(sim *s, flow_network *n, int id, int has_latency)
{
    const double now_s = network_clock(s)->now_s;
    flow *f = &n->at[id];
    const int error = plan_again(s, n, id);
    if (error < 0) return error;
    f->since_s = now_s;
    f->has_own_penalty = has_latency;
    if (n->origin) n->origin[id].order = -1;
    double end_s = now_s; /* no link on the way: nothing left to wait for */
    if (n->planner.planned.n && !n->planner.model.has_no_bandwidth_limit) {
        if (!n->planner.model.has_no_contention) {
            const flow_plan *p = &n->planner.planned;
            const link_watcher *w = &n->links_watcher;
            if (w->began) w->began(w->own, p->n, p->link, p->coefficient, (double)transfer_at(s, id)->bytes);
            return add_share(n, id);
        }
        end_s = end_alone_s(s, n, id);
    }
    return heap_push(&n->ends, end_s, transfer_at(s, id)->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

void flow_watch(void *state, const flow_watcher *watcher)
{
    flow_network *n = state;
    n->watcher = *watcher;
}

int flow_slow_down(sim *s, void *state, int id, double slowdown)
{
    flow_network *n = state;
    flow *f = &n->at[id];
    f->slowdown = slowdown;
    if (n->origin) n->origin[id].bound_bytes_per_s = n->origin[id].first_bound_bytes_per_s;
    if (f->share < 0) return 0; /* in its latency phase */
    const int error = plan_again(s, n, id);
    if (error < 0) return error;
    fair_remove(n->shares, f->share);
    return add_share(n, id);
}

static int factor_row(const flow_parameters *m, double size)
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
    if (!n->uses.first_of_link && !n->routes.n_on_link) plan_cache_reserve(&n->planner.plans, room);
    if (n->uses.first_of_link) {
        flow_origin *origin = realloc(n->origin, (size_t)room * sizeof *origin);
        if (!origin) return SIM_OUT_OF_MEMORY;
        n->origin = origin;
        if (link_uses_reserve(&n->uses, room) < 0) return SIM_OUT_OF_MEMORY;
    }
    n->room = room;
    return 0;
}

/* Tells of a transfer that sets out; `kept` is its plan, or NULL. 0, or an error. */
static int tell_set_out(sim *s, flow_network *n, const transfer *t, int detour, int row, const cached_plan *kept)
{
    const link_watcher *w = &n->links_watcher;
    const flow_plan *f = &n->planner.planned;
    const int error = kept ? 0 : flow_planner_plan(s, &n->planner, t->source_host, t->target_host, detour, row);
    if (kept)
        w->set_out(w->own, kept->n, kept->link, kept->coefficient);
    else if (!error)
        w->set_out(w->own, f->n, f->link, f->coefficient);
    return error;
}

static int start(sim *s, void *state, int id)
{
    flow_network *n = state;
    const transfer *t = transfer_at(s, id);
    const double size = (double)t->bytes + (t->is_bare ? 0 : n->planner.model.envelope_bytes);
    const int row = factor_row(&n->planner.model, size);
    const cached_plan *kept = plan_cache_find(&n->planner.plans, t->source_host, t->target_host);
    const int detour = n->routes.n_on_link
                     ? adaptive_routes_come(s, &n->routes, t->source_host, t->target_host, t->order) : 0;
    if (detour < 0) return detour;
    int error = kept ? 0 : flow_planner_route(s, &n->planner, t->source_host, t->target_host, detour);
    const double route_s = kept ? kept->latency_s : n->planner.path.latency_s;
    if (!error && n->links_watcher.set_out) error = tell_set_out(s, n, t, detour, row, kept);
    if (!error) error = flow_for(n, id); /* it may move what is kept */
    if (error < 0) return error;
    const double latency_s = route_s * (row >= 0 ? n->planner.model.latency_factor[row] : 1.0);
    n->at[id] = (flow){.share = -1, .row = row, .detour = detour, .remaining_bytes = size, .slowdown = 1};
    if (n->origin) error = keep_origin(s, n, id);
    if (error < 0) return error;
    if (!(latency_s > 0))
        error = start_flow(s, n, id, 0);
    else if (lanes_push(&n->latencies, network_clock(s)->now_s + latency_s, t->order, id) < 0)
        error = SIM_OUT_OF_MEMORY;
    if (error < 0 && n->origin) link_uses_leave(&n->uses, id);
    return error;
}

/* ---- a link that changes ---- */

/* The penalty, and maybe the bound, of a transfer are others now. */
static int take_change(sim *s, flow_network *n, int id)
{
    const flow_origin *o = &n->origin[id];
    flow *f = &n->at[id];
    if (o->order >= 0) return start_flow(s, n, id, 1);
    if (f->share >= 0) {
        f->has_own_penalty = 1;
        fair_change(n->shares, f->share, penalty_of(o), slowed(n, id, o->bound_bytes_per_s, o->latency_s));
        n->shares_are_old = 1;
    } else if (f->rate_bytes_per_s > 0) { /* alone */
        const double now_s = network_clock(s)->now_s;
        const int error = plan_again(s, n, id);
        if (error < 0) return error;
        f->remaining_bytes = larger(0, f->remaining_bytes - f->rate_bytes_per_s * (now_s - f->since_s));
        f->since_s = now_s;
        heap_move(&n->ends, id, end_alone_s(s, n, id));
    }
    return 0;
}

static int change_bandwidth(sim *s, flow_network *n, int link, double before)
{
    const double now = network_bandwidth_bytes_per_s(s)[link], weight = n->planner.model.weight_bytes;
    int error = 0;
    fair_set_capacity(n->shares, link, now);
    n->shares_are_old = 1;
    const int is_felt = weight > 0 || n->planner.model.has_no_contention;
    for (int u = n->uses.first_of_link[link]; u >= 0 && is_felt && !error; u = n->uses.at[u].next) {
        const int id = n->uses.at[u].transfer;
        n->origin[id].penalty += weight > 0 ? weight / now - weight / before : 0;
        if (weight > 0 || n->origin[id].order < 0) error = take_change(s, n, id);
    }
    return error;
}

static int change_latency(sim *s, flow_network *n, int link, double before)
{
    const double more_s = network_latency_s(s)[link] - before, gamma = n->planner.model.tcp_gamma_bytes;
    int error = 0;
    for (int u = n->uses.first_of_link[link]; u >= 0 && !n->planner.model.has_no_latency && !error; u = n->uses.at[u].next) {
        const int id = n->uses.at[u].transfer;
        flow_origin *o = &n->origin[id];
        o->latency_s += more_s;
        o->penalty += more_s;
        o->bound_bytes_per_s = o->least_bandwidth_bytes_per_s;
        if (gamma > 0 && o->latency_s != 0) /* no bound follows from a negative latency */
            o->bound_bytes_per_s = fmin(o->bound_bytes_per_s, gamma / (2 * o->latency_s));
        n->at[id].slowdown = 1; /* like the peer */
        if (n->watcher.rebounded) n->watcher.rebounded(n->watcher.watcher, id);
        error = take_change(s, n, id);
    }
    return error;
}

/* The first transfer on it is lost. */
static int turn_off(sim *s, const flow_network *n, int link)
{
    int first = -1;
    for (int u = n->uses.first_of_link[link]; u >= 0; u = n->uses.at[u].next) {
        const int id = n->uses.at[u].transfer;
        if (first < 0 || transfer_at(s, id)->order < transfer_at(s, first)->order) first = id;
    }
    return first < 0 ? 0 : network_lose(s, first, link);
}

static int link_changed(sim *s, void *state, int kind, int link, double before)
{
    flow_network *n = state;
    switch (kind) {
    case PROFILE_BANDWIDTH: return change_bandwidth(s, n, link, before);
    case PROFILE_LATENCY: return change_latency(s, n, link, before);
    default: return network_link_is_on(s, link) ? 0 : turn_off(s, n, link);
    }
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
    if (n->links_watcher.solved) n->links_watcher.solved(n->links_watcher.own, n->shares, n_changed);
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

/* ---- ends at one date ---- */

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
    if (n->ends.n && heap_all_before(&n->ends, end_limit_s)) {
        for (int i = 0; i < n->ends.n; i++)
            if (add_due(n, &n->ends.item[i], 0) < 0) return SIM_OUT_OF_MEMORY;
        heap_clear(&n->ends);
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
    if (n->origin) link_uses_leave(&n->uses, id);
    if (n->at[id].share >= 0) {
        if (n->links_watcher.ends) n->links_watcher.ends(n->links_watcher.own, n->shares, n->at[id].share);
        fair_remove(n->shares, n->at[id].share);
        n->shares_are_old = 1;
    }
    if (n->watcher.ended) n->watcher.ended(n->watcher.watcher, id);
    if (n->routes.n_on_link) {
        const transfer *t = transfer_at(s, id);
        adaptive_routes_leave(s, &n->routes, t->source_host, t->target_host, n->at[id].detour);
    }
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
        const int id = n->due[i].id;
        if (!n->due[i].is_latency) {
            end_flow(s, n, id);
        } else if (!n->origin || n->origin[id].order == n->due[i].order) {
            const int error = start_flow(s, n, id, 1);
            if (error < 0) return error;
        }
    }
    return n_due;
}

static void watch_links(void *state, const link_watcher *watcher)
{
    ((flow_network *)state)->links_watcher = *watcher;
}

static double alone_s(sim *s, void *state, int source_host, int target_host, int64_t bytes)
{
    flow_network *n = state;
    const double size = (double)bytes + n->planner.model.envelope_bytes;
    const int row = factor_row(&n->planner.model, size);
    if (flow_planner_plan(s, &n->planner, source_host, target_host, 0, row) < 0) return NAN;
    const double latency_s = n->planner.planned.latency_s * (row >= 0 ? n->planner.model.latency_factor[row] : 1.0);
    if (!n->planner.planned.n || n->planner.model.has_no_bandwidth_limit) return latency_s;
    return latency_s + size / rate_for(n, row, flow_planner_share_alone_bytes_per_s(s, &n->planner));
}

static void check(const sim *s, const void *state)
{
#ifdef SMPY_CHECK
    const flow_network *n = state;
    if (!heap_check(&n->ends)) abort();
    link_uses_check(&n->uses, platform_n_links(network_platform(s)));
    for (int i = 0; i < n->ends.n; i++)
        if (n->ends.item[i].order != transfer_at(s, n->ends.item[i].id)->order) abort();
#else
    (void)s;
    (void)state;
#endif
}

static const network_parameter parameters[] = {
    {"n_factors", 1}, {"factor_above_bytes", FLOW_FACTORS}, {"latency_factor", FLOW_FACTORS}, {"bandwidth_factor", FLOW_FACTORS},
    {"weight_bytes", 1}, {"tcp_gamma_bytes", 1}, {"crosstraffic", 1}, {"envelope_bytes", 1}, {"factor_caps", 1},
    {"has_no_latency", 1}, {"has_no_contention", 1}, {"has_no_bandwidth_limit", 1}, {NULL, 0}};

const network_kind network_flow = {
    .abi = {NETWORK_ABI, sizeof(network_kind)}, .name = "flow", .parameters = parameters,
    .block_bytes = sizeof(flow_parameters), .begin = begin, .start = start, .next_date = next_date, .fire = fire,
    .free = free_state, .check = check,
    .link_changed = link_changed, .watch_links = watch_links, .alone_s = alone_s};
