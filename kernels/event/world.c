
#include <stdlib.h>

#include "mpi/mpi_world.h"
#include "sim.h"
#include "world/cpus.h"
#include "world/tell.h"
#include "watchers/account.h"

/* Creation, growth and end of a world. */

static int init(sim *s, const model *m, int n_ranks, const int *host_of_rank)
{
    int error = accounts_begin(s);
    const double part = m->polling.iprobe_part;
    if (!error) error = timelines_init(&s->timelines, n_ranks);
    if (!error) error = hosts_init(&s->hosts, s->machine);
    if (!error && part > 0 && part != 1) error = hosts_limit(&s->hosts, part);
    if (!error) error = clock_events_init(&s->clock_events, m->polling.notice);
    if (!error) error = memories_init(&s->memories);
    if (!error) error = storage_init(&s->storage);
    if (!error) error = devices_init(&s->devices);
    if (!error) error = changes_init(s);
    if (!error) error = mpi_begin(s, &m->calls, &m->polling, n_ranks);
    if (!error) error = sim_use_network(s, m->network.kind, m->network.parameters);
    for (int rank = 0; rank < n_ranks && !error; rank++) {
        const int host = host_of_rank[rank];
        if (host < 0 || host >= s->hosts.n) return SIM_BAD_RANK;
        const int made = timeline_rank_new(s, host), timeline = made < 0 ? made : timeline_new(s, made);
        s->timelines.turn[rank] = rank;
        error = timeline < 0 ? timeline : 0;
    }
    s->timelines.n_turn = n_ranks;
    if (!error) keep_error(s, change_fire(s));
    return s->error == SIM_OUT_OF_MEMORY ? s->error : error;
}

int sim_host_busy_speed(sim *s, int first, int n_hosts, int n, const double *share)
{
    return host_busy_speed(&s->hosts, first, n_hosts, n, share);
}

sim *sim_new(const platform *p, const model *m, int n_ranks, const int *host_of_rank)
{
    mpi_world *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    sim *s = &made->world;
    s->machine = p;
    s->cores_per_rank = 1;
    s->running = -1;
    row_kinds_begin(&s->row_kinds);
    s->network = (network){.transfers.free = -1, .machine = p, .clock = &s->clock, .order = &s->order, .effort = &s->effort,
                           .cpus = &cpus_of_ranks};
    if (init(s, m, n_ranks, host_of_rank) == 0) return s;
    sim_free(s);
    return NULL;
}

void sim_free(sim *s)
{
    if (!s) return;
    watch_free(s);
    timelines_free(s);
    mpi_end(s);
    network_free(&s->network);
    clock_events_free(&s->clock_events);
    shared_cores_free(&s->shared_cores);
    memories_free(&s->memories);
    storage_free(&s->storage);
    devices_free(&s->devices);
    performing_free(s->performing);
    changes_free(s);
    governor_free(s->governor);
    noise_free(s->noise);
    background_free(s->background);
    hosts_free(&s->hosts);
    free(s->network.transfers.at);
    free(s->note);
    free(s);
}

int sim_rank_new(sim *s, int host)
{
    if (host < 0 || host >= s->hosts.n) return SIM_BAD_RANK;
    const int rank = timeline_rank_new(s, host);
    if (rank < 0) return rank;
    if (mpi_add_rank(s, rank) < 0) {
        s->timelines.n_ranks--; /* the world goes on without it */
        return SIM_OUT_OF_MEMORY;
    }
    tell_added(s, rank);
    return rank;
}

int sim_timeline_new(sim *s, int rank)
{
    if (rank < 0 || rank >= s->timelines.n_ranks) return SIM_BAD_RANK;
    const int id = timeline_new(s, rank), at = id < 0 ? -1 : s->timelines.at[id].host;
    if (id < 0) return id;
    if (s->changes.host_is_off && s->changes.host_is_off[at]) keep_error(s, change_lose_rank(s, at, rank));
    tell_woken(s, id, s->running);
    timeline_runs_next(s, id);
    const int is_first = s->timelines.at[id].next_of_rank < 0;
    const int error = is_first ? clock_events_crowd(s, at) : shared_cores_begin(s, rank);
    keep_error(s, error);
    return error < 0 ? error : id;
}

void sim_cores_per_rank(sim *s, int n)
{
    s->cores_per_rank = n;
    for (int h = 0; h < s->hosts.n; h++) s->hosts.at[h].cores_per_rank = n;
}

int sim_rank_has_one_core(const sim *s)
{
    return s->cores_per_rank == 1;
}
