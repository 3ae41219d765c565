#include "networks/network.h"

#include "networks/network.h"

#include <stdlib.h>

#include "solver/fair.h"
#include "world/world.h"

_Static_assert((int)NETWORK_OUT_OF_MEMORY == (int)SIM_OUT_OF_MEMORY, "models from outside know the number");

void network_free(network *n)
{
    if (n->kind) n->kind->free(n->state);
    free(n->path.link);
    *n = (network){0};
}

const sim_clock *network_clock(const sim *s)
{
    return &s->clock;
}

const platform *network_platform(const sim *s)
{
    return s->machine;
}

const double *network_bandwidth_bytes_per_s(const sim *s)
{
    return s->changes.bandwidth_bytes_per_s;
}

const double *network_latency_s(const sim *s)
{
    return s->changes.latency_s;
}

int network_link_is_on(const sim *s, int link)
{
    return !s->changes.link_is_off || !s->changes.link_is_off[link];
}

int network_lose(sim *s, int transfer, int link)
{
    return change_lose_transfer(s, link, transfer);
}

/* The first link of a path that is off; -1: there is none. */
static int link_off(const sim *s, const platform_path *path)
{
    for (int i = 0; s->changes.link_is_off && i < path->n; i++)
        if (s->changes.link_is_off[path->link[i]]) return path->link[i];
    return -1;
}

int network_route(sim *s, int source_host, int target_host, platform_path *path)
{
    path->link_latency_s = s->changes.own_latency_s;
    const int error = platform_route(s->machine, source_host, target_host, path);
    const int off = error ? -1 : link_off(s, path);
    if (off >= 0) return change_lose_transfer(s, off, -1);
    if (!error) return 0;
    if (error == PLATFORM_NO_MEMORY) return SIM_OUT_OF_MEMORY;
    s->unreached_host[0] = source_host;
    s->unreached_host[1] = target_host;
    return SIM_NO_ROUTE;
}

void network_worked(sim *s, int n_changed, int n_solves)
{
    s->effort += (unsigned)n_changed;
    s->stats.solves += n_solves;
}

/* ---- several watchers of links: the kind tells one, which tells all ---- */

static void all_began(void *own, int n, const int *link, const double *coefficient, double bytes)
{
    const network *net = own;
    for (int i = 0; i < net->n_links_watchers; i++) {
        const link_watcher *w = &net->links_watcher[i];
        if (w->began) w->began(w->own, n, link, coefficient, bytes);
    }
}

static void all_ends(void *own, const fair *shares, int flow)
{
    const network *net = own;
    for (int i = 0; i < net->n_links_watchers; i++) {
        const link_watcher *w = &net->links_watcher[i];
        if (w->ends) w->ends(w->own, shares, flow);
    }
}

static void all_solved(void *own, const fair *shares, int n_changed)
{
    const network *net = own;
    for (int i = 0; i < net->n_links_watchers; i++) {
        const link_watcher *w = &net->links_watcher[i];
        if (w->solved) w->solved(w->own, shares, n_changed);
    }
}

static void all_set_out(void *own, int n, const int *link, const double *coefficient)
{
    const network *net = own;
    for (int i = 0; i < net->n_links_watchers; i++) {
        const link_watcher *w = &net->links_watcher[i];
        if (w->set_out) w->set_out(w->own, n, link, coefficient);
    }
}

int network_watch_links(sim *s, const link_watcher *watcher)
{
    network *net = &s->network;
    if (!net->kind->watch_links) return 0;
    if (net->n_links_watchers == LINK_WATCHERS) return SIM_OUT_OF_MEMORY;
    net->links_watcher[net->n_links_watchers++] = *watcher;
    const link_watcher all = {.began = all_began, .ends = all_ends, .solved = all_solved, .own = net, .set_out = all_set_out};
    net->kind->watch_links(net->state, net->n_links_watchers == 1 ? watcher : &all);
    return 1;
}

/* ---- for kinds that are not linked with the kernel ---- */

static double now_s(const sim *s)
{
    return s->clock.now_s;
}

static double same_date_s(const sim *s)
{
    return clock_same_date_s(&s->clock);
}

static network_transfer transfer_of(const sim *s, int id)
{
    const transfer *t = transfer_at(s, id);
    return (network_transfer){t->source_host, t->target_host, t->bytes, t->order};
}

static int n_hosts(const sim *s)
{
    return platform_n_hosts(s->machine);
}

static int n_links(const sim *s)
{
    return platform_n_links(s->machine);
}

static int route(sim *s, int source_host, int target_host, const int **link, double *latency_s)
{
    platform_path *path = &s->network.path;
    const int error = network_route(s, source_host, target_host, path);
    *link = path->link;
    *latency_s = path->latency_s;
    return error < 0 ? error : path->n;
}

static const network_calls calls = {now_s, same_date_s, transfer_of, transfer_end, n_hosts, n_links, network_bandwidth_bytes_per_s,
                                    route, network_lose, network_link_is_on};

int sim_use_network(sim *s, const network_kind *kind, const void *parameters)
{
    if (s->transfers.n) return SIM_TOO_LATE;
    void *state = kind->begin(s, &calls, parameters);
    if (!state) return SIM_OUT_OF_MEMORY;
    network_free(&s->network);
    s->network.kind = kind;
    s->network.state = state;
    return 0;
}
