#include "mpi/meeting.h"

#include <stdlib.h>

#include "mpi/completion.h"
#include "mpi/mpi_world.h"

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Counts the hosts of a communicator, once: 0, or SIM_OUT_OF_MEMORY. */
static int count_hosts(const sim *s, comm_table *c, int comm)
{
    if (c->n_hosts) return 0;
    int *host = malloc((size_t)c->n * sizeof *host);
    if (!host) return SIM_OUT_OF_MEMORY;
    for (int rank = 0; rank < c->n; rank++)
        host[rank] = s->timelines.rank[comm_world_rank(&mpi_of(s)->comms, comm, rank)].host;
    qsort(host, (size_t)c->n, sizeof *host, compare);
    for (int rank = 0, first = 0; rank < c->n; rank++) {
        if (rank == 0 || host[rank] != host[first]) {
            first = rank;
            c->n_hosts++;
        }
        if (rank - first + 1 > c->ranks_on_host_max) c->ranks_on_host_max = rank - first + 1;
    }
    free(host);
    return 0;
}

static void ended(sim *s, const transfer *t)
{
    const slot_pool *pool = &mpi_of(s)->requests;
    for (int request = mpi_of(s)->comms.instances.at[t->number[0]].first_met, next; request; request = next) {
        next = pool->at[request].next;
        request_complete(s, request);
    }
}

static const transfer_owner owner = {.ended = ended};

int meeting_join(sim *s, int id, int comm, int request, int64_t sent_bytes, int64_t received_bytes)
{
    mpi_state *mpi = mpi_of(s);
    instance *meets = &mpi->comms.instances.at[id];
    comm_table *c = &mpi->comms.at[comm];
    if (!id) return SIM_BAD_SCHEDULE;
    mpi->requests.at[request].next = 0;
    if (meets->last_met)
        mpi->requests.at[meets->last_met].next = request;
    else
        meets->first_met = request;
    meets->last_met = request;
    if (sent_bytes > meets->sent_bytes) meets->sent_bytes = sent_bytes;
    if (received_bytes > meets->received_bytes) meets->received_bytes = received_bytes;
    if (--meets->n_to_meet > 0) return 0;
    const int error = count_hosts(s, c, comm);
    if (error < 0) return error;
    const network_collective is = {c->n_hosts, c->ranks_on_host_max, meets->sent_bytes, meets->received_bytes};
    return transfer_start_collective(s, &is, &owner, id);
}
