#include "mpi/comm.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_world.h"


int comm_world_rank(const comms *all, int comm, int rank)
{
    const comm_table *c = comm_at(all, comm);
    if (rank < 0 || rank >= c->n) return -1;
    return c->world ? c->world[rank] : c->first + rank;
}

int comm_rank(const comms *all, int comm, int world_rank)
{
    const comm_table *c = comm_at(all, comm);
    if (!c->world) {
        int rank = world_rank - c->first;
        return rank >= 0 && rank < c->n ? rank : -1;
    }
    int low = 0, high = c->n - 1;
    while (low <= high) {
        int middle = (low + high) / 2, found = c->world[c->sorted[middle]];
        if (found == world_rank) return c->sorted[middle];
        if (found < world_rank)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

/* ---- life ---- */

int comms_init(comms *all, int n_ranks)
{
    const size_t n = n_ranks > 0 ? (size_t)n_ranks : 1;
    *all = (comms){.room = 8, .n_ranks = n_ranks, .nobody = {.other = -1}};
    all->at = malloc((size_t)all->room * sizeof *all->at);
    all->self = calloc(n, sizeof *all->self);
    if (!all->at || !all->self) return SIM_OUT_OF_MEMORY;
    all->at[SIM_COMM_WORLD] = (comm_table){.n = n_ranks};
    all->n = all->n_made = 1;
    return 0;
}

int comms_add_rank(comms *all, int n_ranks)
{
    int *grown = realloc(all->self, ((size_t)n_ranks + 1) * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    grown[n_ranks] = 0;
    all->self = grown;
    all->n_ranks = n_ranks + 1;
    return 0;
}

static void table_free(comm_table *c)
{
    free(c->world);
    free(c->sorted);
    free(c->window);
    c->world = c->sorted = NULL;
    c->window = NULL;
}

void comms_free(comms *all)
{
    for (int c = 0; all->at && c < all->n; c++) {
        free(all->at[c].entered);
        table_free(&all->at[c]);
    }
    free(all->instances.at);
    free(all->self);
    free(all->at);
}

static void recycle(comms *all, int comm)
{
    comm_table *c = &all->at[comm], *other = &all->at[c->other];
    if (!c->is_freed || !other->is_freed || c->n_uses || other->n_uses) return;
    const int number[2] = {comm, c->other};
    for (int side = 0; side < 1 + (c != other); side++) {
        comm_table *t = &all->at[number[side]];
        if (t->entered) instance_end(&all->instances, t->entered, t->n);
        table_free(t);
        t->entered = NULL;
        t->n = 0;
        t->next = all->free;
        all->free = number[side];
    }
}

void comm_use(comms *all, int comm)
{
    all->at[comm].n_uses++;
}

void comm_leave(comms *all, int comm)
{
    if (--all->at[comm].n_uses == 0) recycle(all, comm);
}

int comm_enter_collective(comms *all, int comm, int rank, int timeline, double now_s)
{
    comm_table *c = &all->at[comm];
    if (c->n == 1 || c->other != comm) return 0;
    if (!c->entered && !(c->entered = instance_begin(&all->instances, c->n))) return SIM_OUT_OF_MEMORY;
    return instance_enter(&all->instances, c->entered, c->n, rank, timeline, now_s);
}

static void sort_by_world_rank(const int *world, int *sorted, int n, int *scratch)
{
    for (int width = 1; width < n; width *= 2) {
        for (int low = 0; low < n; low += 2 * width) {
            int middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
            int a = low, b = middle;
            for (int to = low; to < high; to++)
                scratch[to] = a < middle && (b >= high || world[sorted[a]] <= world[sorted[b]]) ? sorted[a++] : sorted[b++];
        }
        memcpy(sorted, scratch, (size_t)n * sizeof *sorted);
    }
}

static int table_fill(const comms *all, comm_table *c, int n, const int *world_rank)
{
    int is_range = 1;
    for (int i = 0; i < n; i++) {
        if (world_rank[i] < 0 || world_rank[i] >= all->n_ranks) return SIM_BAD_RANK;
        is_range &= world_rank[i] == world_rank[0] + i;
    }
    *c = (comm_table){.n = n, .first = n ? world_rank[0] : 0};
    if (is_range) return 0;
    int *scratch = malloc((size_t)n * sizeof *scratch);
    c->world = malloc((size_t)n * sizeof *c->world);
    c->sorted = malloc((size_t)n * sizeof *c->sorted);
    if (!scratch || !c->world || !c->sorted) {
        free(scratch);
        table_free(c);
        return SIM_OUT_OF_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        c->world[i] = world_rank[i];
        c->sorted[i] = i;
    }
    sort_by_world_rank(c->world, c->sorted, n, scratch);
    free(scratch);
    return 0;
}

/* Takes the table over: the number, or an error. */
static int table_add(comms *all, comm_table c)
{
    int comm = all->free;
    if (comm) {
        all->free = all->at[comm].next;
    } else {
        if (all->n == all->room) {
            comm_table *grown = realloc(all->at, 2 * (size_t)all->room * sizeof *grown);
            if (!grown) {
                table_free(&c);
                return SIM_OUT_OF_MEMORY;
            }
            all->at = grown;
            all->room *= 2;
        }
        comm = all->n++;
    }
    all->at[comm] = c;
    all->at[comm].serial = all->n_made++;
    return all->at[comm].other = comm;
}

/* ---- functions for the outside ---- */

int sim_comm_size(const sim *s, int comm)
{
    return comm_size(&mpi_of(s)->comms, comm);
}

int sim_comm_other(const sim *s, int comm)
{
    return comm_other(&mpi_of(s)->comms, comm);
}

int sim_comm_peers(const sim *s, int comm)
{
    return comm_peers(&mpi_of(s)->comms, comm);
}

int sim_comm_rank(const sim *s, int comm, int world_rank)
{
    return comm_rank(&mpi_of(s)->comms, comm, world_rank);
}

int sim_comm_world_rank(const sim *s, int comm, int rank)
{
    return comm_world_rank(&mpi_of(s)->comms, comm, rank);
}

int sim_comm_new(sim *s, int n, const int *world_rank)
{
    comm_table c;
    int error = table_fill(&mpi_of(s)->comms, &c, n, world_rank);
    return error < 0 ? error : table_add(&mpi_of(s)->comms, c);
}

int sim_comm_new_inter(sim *s, int n, const int *world_rank, int n_remote, const int *remote_world_rank)
{
    int mine = sim_comm_new(s, n, world_rank);
    if (mine < 0) return mine;
    int remote = sim_comm_new(s, n_remote, remote_world_rank);
    if (remote < 0) {
        sim_comm_free(s, mine);
        return remote;
    }
    mpi_of(s)->comms.at[mine].other = remote;
    mpi_of(s)->comms.at[remote].other = mine;
    return mine;
}

int sim_comm_self(sim *s, int rank)
{
    comms *all = &mpi_of(s)->comms;
    if (rank < 0 || rank >= all->n_ranks) return SIM_BAD_RANK;
    if (all->self[rank]) return all->self[rank];
    const int comm = sim_comm_new(s, 1, &rank);
    if (comm > 0) all->self[rank] = comm;
    return comm;
}

int sim_comm_is_self(const sim *s, int comm)
{
    mpi_state *mpi = mpi_of(s);
    const comm_table *c = comm_at(&mpi->comms, comm);
    return c->n == 1 && comm > SIM_COMM_WORLD && mpi->comms.self[comm_world_rank(&mpi->comms, comm, 0)] == comm;
}

void sim_comm_free(sim *s, int comm)
{
    comms *all = &mpi_of(s)->comms;
    if (comm <= SIM_COMM_WORLD || comm >= all->n) return;
    comm_table *c = &all->at[comm];
    if (c->n == 0 || c->is_freed || sim_comm_is_self(s, comm)) return;
    c->is_freed = 1;
    recycle(all, comm);
}

#ifdef SMPY_CHECK
#include <assert.h>

void comms_check(const comms *all)
{
    for (int comm = 0; comm < all->n; comm++) {
        const comm_table *c = &all->at[comm];
        if (!c->n) continue;
        assert(c->n_uses >= 0 && c->other >= 0 && c->other < all->n && all->at[c->other].other == comm);
        for (int i = 1; c->world && i < c->n; i++) assert(c->world[c->sorted[i - 1]] <= c->world[c->sorted[i]]);
    }
}
#endif
