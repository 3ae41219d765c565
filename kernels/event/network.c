#include "network.h"

#include "world.h"

int sim_use_network(sim *s, const network_kind *kind, const void *parameters)
{
    if (s->transfers.n) return SIM_TOO_LATE;
    void *state = kind->begin(s, parameters);
    if (!state) return SIM_OUT_OF_MEMORY;
    if (s->network.kind) s->network.kind->free(s->network.state);
    s->network = (network){kind, state};
    return 0;
}

const sim_clock *network_clock(const sim *s)
{
    return &s->clock;
}

const platform *network_platform(const sim *s)
{
    return s->machine;
}

int network_counts_links(const sim *s)
{
    return s->counts_links;
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
