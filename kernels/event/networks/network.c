#include "networks/network.h"

#include <stdlib.h>

#include "solver/fair.h"

_Static_assert((int)NETWORK_OUT_OF_MEMORY == (int)SIM_OUT_OF_MEMORY, "models from outside know the number");

void network_free(network *n)
{
    if (n->kind) n->kind->free(n->state);
    free(n->path.link);
    n->kind = NULL;
    n->state = NULL;
    n->n_links_watchers = 0;
    n->path = (platform_path){0};
}

const sim_clock *network_clock(const sim *s)
{
    return network_of(s)->clock;
}

const platform *network_platform(const sim *s)
{
    return network_of(s)->machine;
}

const double *network_bandwidth_bytes_per_s(const sim *s)
{
    return network_of(s)->links.bandwidth_bytes_per_s;
}

const double *network_latency_s(const sim *s)
{
    return network_of(s)->links.latency_s;
}

int network_link_is_on(const sim *s, int link)
{
    const uint8_t *is_off = network_of(s)->links.is_off;
    return !is_off || !is_off[link];
}

int network_lose(sim *s, int transfer, int link)
{
    network_of(s)->lost = (loss){.host = -1, .rank = -1, .link = link, .transfer = transfer};
    return SIM_LINK_OFF;
}

/* The first link of a path that is off; -1: there is none. */
static int link_off(const network *net, const platform_path *path)
{
    for (int i = 0; net->links.is_off && i < path->n; i++)
        if (net->links.is_off[path->link[i]]) return path->link[i];
    return -1;
}

int network_route(sim *s, int source_host, int target_host, platform_path *path)
{
    network *net = network_of(s);
    path->link_latency_s = net->links.own_latency_s;
    const int error = platform_route(net->machine, source_host, target_host, path);
    const int off = error ? -1 : link_off(net, path);
    if (off >= 0) return network_lose(s, -1, off);
    if (!error) return 0;
    if (error == PLATFORM_NO_MEMORY) return SIM_OUT_OF_MEMORY;
    net->unreached_host[0] = source_host;
    net->unreached_host[1] = target_host;
    return SIM_NO_ROUTE;
}

void network_worked(sim *s, int n_changed, int n_solves)
{
    *network_of(s)->effort += (unsigned)n_changed;
    network_of(s)->counts.solves += n_solves;
}

/* ---- the CPUs of ranks ---- */

int network_receiver(const sim *s, int id)
{
    const transfer *t = transfer_at(s, id);
    return t->owner->receiver ? t->owner->receiver(s, t) : -1;
}

int network_cpu_idles(const sim *s, int rank)
{
    return network_of(s)->cpus->idles(s, rank);
}

double network_cpu_from_s(const sim *s, int rank)
{
    return network_of(s)->cpus->from_s(s, rank);
}

void network_cpu_load(sim *s, int rank, double until_s)
{
    network_of(s)->cpus->load(s, rank, until_s);
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
    network *net = network_of(s);
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
    return network_clock(s)->now_s;
}

static double same_date_s(const sim *s)
{
    return clock_same_date_s(network_clock(s));
}

static network_transfer transfer_of(const sim *s, int id)
{
    const transfer *t = transfer_at(s, id);
    return (network_transfer){t->source_host, t->target_host, t->bytes, t->order};
}

static int n_hosts(const sim *s)
{
    return platform_n_hosts(network_platform(s));
}

static int n_links(const sim *s)
{
    return platform_n_links(network_platform(s));
}

static int route(sim *s, int source_host, int target_host, const int **link, double *latency_s)
{
    platform_path *path = &network_of(s)->path;
    const int error = network_route(s, source_host, target_host, path);
    *link = path->link;
    *latency_s = path->latency_s;
    return error < 0 ? error : path->n;
}

static const network_calls calls = {now_s, same_date_s, transfer_of, transfer_end, n_hosts, n_links, network_bandwidth_bytes_per_s,
                                    route, network_lose, network_link_is_on};

int sim_use_network(sim *s, const network_kind *kind, const void *parameters)
{
    network *net = network_of(s);
    if (net->transfers.n) return SIM_TOO_LATE;
    void *state = kind->begin(s, &calls, parameters);
    if (!state) return SIM_OUT_OF_MEMORY;
    network_free(net);
    net->kind = kind;
    net->state = state;
    return 0;
}
