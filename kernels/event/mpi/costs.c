#include "mpi/costs.h"

#include <stdlib.h>

#include "mpi/mpi_world.h"

const call_costs *costs_of(const sim *s, int rank)
{
    mpi_state *mpi = mpi_of(s);
    const int own = mpi->costs_of_host ? mpi->costs_of_host[s->timelines.rank[rank].host] : -1;
    return own < 0 ? &mpi->costs : &mpi->own_costs[own];
}

int sim_host_costs(sim *s, int n_hosts, const int *host, const call_costs *costs)
{
    mpi_state *mpi = mpi_of(s);
    for (int i = 0; i < n_hosts; i++)
        if (host[i] < 0 || host[i] >= s->hosts.n) return SIM_BAD_RANK;
    call_costs *grown = realloc(mpi->own_costs, ((size_t)mpi->n_own_costs + 1) * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    mpi->own_costs = grown;
    if (!mpi->costs_of_host) {
        mpi->costs_of_host = malloc((size_t)(s->hosts.n > 0 ? s->hosts.n : 1) * sizeof *mpi->costs_of_host);
        if (!mpi->costs_of_host) return SIM_OUT_OF_MEMORY;
        for (int h = 0; h < s->hosts.n; h++) mpi->costs_of_host[h] = -1;
    }
    mpi->own_costs[mpi->n_own_costs] = *costs;
    for (int i = 0; i < n_hosts; i++) mpi->costs_of_host[host[i]] = mpi->n_own_costs;
    mpi->n_own_costs++;
    return 0;
}
