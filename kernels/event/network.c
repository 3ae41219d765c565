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

int network_route(sim *s, int source_host, int target_host, platform_path *path)
{
    const int error = platform_route(s->machine, source_host, target_host, path);
    if (error == 0) return 0;
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
