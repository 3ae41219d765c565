#include <math.h>
#include <stdlib.h>

#include "world.h"

/* One message on its way: first a latency phase that loads nothing, then a max-min fair share of the links of its route, and a
 * small one of those its acknowledgements take back. Sizes, factors, weights and bounds: SMPI's flow model. */

double piecewise(const double *table, int n, int64_t bytes)
{
    const double *row = table;
    if (!n) return 0;
    for (int i = 0; i < n && table[3 * i] < (double)bytes; i++) row = table + 3 * i;
    return row[1] + row[2] * (double)bytes;
}

static int flow_new(sim *s)
{
    int id = s->free_flow;
    if (id >= 0) {
        s->free_flow = s->flow[id].share;
        return id;
    }
    if (s->n_flows == s->flow_room) {
        int room = s->flow_room ? 2 * s->flow_room : 64;
        flow *grown = realloc(s->flow, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->flow = grown;
        s->flow_room = room;
    }
    return s->n_flows++;
}

static int factor_row(const model *m, double size)
{
    int row = -1;
    while (row + 1 < m->n_factors && m->factor_above_bytes[row + 1] < size) row++;
    return row;
}

/* ---- the links of a flow, while it is handed to the solver ---- */

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

static int find_way(sim *s, int from, int to, platform_path *path)
{
    int error = platform_route(s->machine, from, to, path);
    if (error == 0) return 0;
    if (error == PLATFORM_NO_MEMORY) return SIM_OUT_OF_MEMORY;
    s->unreached_host[0] = from;
    s->unreached_host[1] = to;
    return SIM_NO_ROUTE;
}

static int host_of(const sim *s, int request)
{
    return s->line[s->requests.at[request].is.rank].host;
}

static int plan(sim *s, int source_host, int target_host)
{
    const double *bandwidth = platform_bandwidth_bytes_per_s(s->machine);
    const uint8_t *policy = platform_policy(s->machine);
    const model *m = &s->model;
    platform_path *path = &s->path, *back = &s->way_back;
    flow_links *f = &s->links;
    back->n = 0;
    int error = find_way(s, source_host, target_host, path);
    if (!error && m->crosstraffic > 0) error = find_way(s, target_host, source_host, back);
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
    if (path->n && path->latency_s > 0 && m->tcp_gamma_bytes > 0)
        f->bound_bytes_per_s = fmin(f->bound_bytes_per_s, m->tcp_gamma_bytes / (2 * path->latency_s));
    return 0;
}

/* ---- its two phases ---- */

static int start_transfer(sim *s, int id, int has_latency)
{
    flow *f = &s->flow[id];
    flow_links *l = &s->links;
    int error = plan(s, host_of(s, f->send), host_of(s, f->recv));
    if (error < 0) return error;
    f->since_s = s->now_s;
    if (!l->n) /* no link on the way: nothing left to wait for */
        return heap_push(&s->transfers, s->now_s, f->order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
    double penalty = has_latency ? l->penalty : 1.0; /* as the peer has it */
    f->share = fair_add(s->shares, penalty, l->bound_bytes_per_s, l->n, l->link, l->coefficient, id);
    s->shares_are_old = 1;
    return f->share < 0 ? SIM_OUT_OF_MEMORY : 0;
}

int flow_start(sim *s, int send, int recv)
{
    int64_t bytes = s->requests.at[send].is.bytes;
    double size = (double)bytes + s->model.envelope_bytes;
    int row = factor_row(&s->model, size);
    int error = find_way(s, host_of(s, send), host_of(s, recv), &s->path);
    if (error < 0) return error;
    double latency_s = s->path.latency_s * (row >= 0 ? s->model.latency_factor[row] : 1.0);
    int id = flow_new(s);
    if (id < 0) return id;
    s->flow[id] = (flow){.send = send, .recv = recv, .share = -1, .row = row, .remaining_bytes = size, .order = s->order++};
    s->n_live_flows++;
    s->stats.messages++;
    if (__builtin_add_overflow(s->stats.bytes, bytes, &s->stats.bytes)) s->stats.bytes = INT64_MAX;
    if (!(latency_s > 0)) return start_transfer(s, id, 0);
    return lanes_push(&s->latencies, s->now_s + latency_s, s->flow[id].order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

void flow_latency_ended(sim *s, int id)
{
    keep_error(s, start_transfer(s, id, 1));
}

static int64_t waits_since(const sim *s, int id)
{
    int line = s->requests.at[id].waiter;
    return line < 0 ? 0 : s->line[line].waits_since;
}

void flow_ended(sim *s, int id)
{
    flow *f = &s->flow[id];
    int send = f->send, recv = f->recv;
    if (f->share >= 0) {
        fair_remove(s->shares, f->share);
        s->shares_are_old = 1;
    }
    f->share = s->free_flow;
    s->free_flow = id;
    s->n_live_flows--;
    s->stats.progress++;
    int error = payload_move(s, &s->requests.at[send], &s->requests.at[recv]);
    if (error < 0) { /* neither side is done: the payload stays with the send */
        keep_error(s, error);
        return;
    }
    /* The side that began to wait first is told first. */
    if (waits_since(s, send) < waits_since(s, recv)) {
        request_done(s, send);
        request_done(s, recv);
    } else {
        request_done(s, recv);
        request_done(s, send);
    }
}

int flow_update(sim *s)
{
    int n = fair_solve(s->shares);
    if (n == FAIR_NOT_YET) return 1;
    if (n < 0) return SIM_OUT_OF_MEMORY;
    const int *changed = fair_changed(s->shares);
    for (int i = 0; i < n; i++) {
        int id = fair_owner(s->shares, changed[i]);
        flow *f = &s->flow[id];
        f->remaining_bytes -= f->rate_bytes_per_s * (s->now_s - f->since_s);
        if (f->remaining_bytes < 1e-14) f->remaining_bytes = 0;
        f->since_s = s->now_s;
        f->rate_bytes_per_s = fair_share_bytes_per_s(s->shares, changed[i]);
        if (f->row >= 0) f->rate_bytes_per_s *= s->model.bandwidth_factor[f->row];
        if (f->rate_bytes_per_s <= 0) {
            heap_remove(&s->transfers, id);
            continue;
        }
        double date_s = s->now_s + f->remaining_bytes / f->rate_bytes_per_s;
        if (heap_has(&s->transfers, id))
            heap_move(&s->transfers, id, date_s);
        else if (heap_push(&s->transfers, date_s, f->order, id) < 0)
            return SIM_OUT_OF_MEMORY;
    }
    s->shares_are_old = 0;
    s->effort += (unsigned)n;
    s->stats.solves++;
    return 0;
}
