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

/* A route as the platform has it becomes that of the present date. Its latency is added up as the platform does, so that links
 * without any make none; what it has beside its links' stays. */
static int bring_up_to_date(sim *s, platform_path *path)
{
    const double *nominal_s = platform_latency_s(s->machine), *now_s = s->changes.latency_s;
    double of_links_s = 0, nominal_of_links_s = 0;
    for (int i = 0; i < path->n; i++) {
        const int link = path->link[i];
        if (!network_link_is_on(s, link)) return change_lose_transfer(s, link, -1);
        nominal_of_links_s += nominal_s[link];
        of_links_s += now_s[link];
    }
    path->latency_s = of_links_s + (path->latency_s - nominal_of_links_s);
    return 0;
}

int network_route(sim *s, int source_host, int target_host, platform_path *path)
{
    const int error = platform_route(s->machine, source_host, target_host, path);
    if (error == 0) return s->changes.n_of_links ? bring_up_to_date(s, path) : 0;
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
