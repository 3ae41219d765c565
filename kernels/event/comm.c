#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Rank tables. Communicators whose world ranks are consecutive (the world, one rank alone) store no table.
 *
 * A communicator speaks to its other side: itself, or the remote group of an intercommunicator, whose number the ranks over
 * there use. A number is used again when both sides are free and nothing under way names either. */

comm_table *table_of(const sim *s, int comm)
{
    const int at = comm > 0 ? comm - s->n_ranks : comm;
    return at >= 0 && at < s->n_comms ? &s->comm[at] : (comm_table *)&s->no_comm;
}

static inline int is_alone(const sim *s, int comm)
{
    return comm > 0 && comm <= s->n_ranks;
}

int sim_comm_size(const sim *s, int comm)
{
    return is_alone(s, comm) ? 1 : table_of(s, comm)->n;
}

int sim_comm_other(const sim *s, int comm)
{
    return is_alone(s, comm) ? comm : table_of(s, comm)->other;
}

int sim_comm_peers(const sim *s, int comm)
{
    return sim_comm_size(s, sim_comm_other(s, comm));
}

int sim_comm_world_rank(const sim *s, int comm, int rank)
{
    if (is_alone(s, comm)) return comm - 1;
    const comm_table *c = table_of(s, comm);
    if (rank < 0 || rank >= c->n) return -1;
    return c->world ? c->world[rank] : c->first + rank;
}

int sim_comm_rank(const sim *s, int comm, int world_rank)
{
    if (is_alone(s, comm)) return world_rank == comm - 1 ? 0 : -1;
    const comm_table *c = table_of(s, comm);
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

int comm_tables_init(sim *s)
{
    s->comm_room = 8;
    s->comm = calloc((size_t)s->comm_room, sizeof *s->comm);
    if (!s->comm) return SIM_OUT_OF_MEMORY;
    s->comm[0] = (comm_table){.n = s->n_ranks};
    s->no_comm = (comm_table){.other = -1};
    s->n_comms = 1;
    return 0;
}

static void table_free(comm_table *c)
{
    free(c->world);
    free(c->sorted);
    c->world = c->sorted = NULL;
}

void comm_tables_free(sim *s)
{
    for (int c = 0; c < s->n_comms; c++) {
        free(s->comm[c].entered);
        table_free(&s->comm[c]);
    }
    free(s->comm);
}

static void recycle(sim *s, int comm)
{
    comm_table *c = table_of(s, comm), *other = table_of(s, c->other);
    if (!c->is_freed || !other->is_freed || c->n_uses || other->n_uses) return;
    int number[2] = {comm, c->other};
    for (int side = 0; side < 1 + (c != other); side++) {
        comm_table *t = table_of(s, number[side]);
        instances_free(s, t);
        table_free(t);
        t->n = 0;
        t->next = s->free_comm;
        s->free_comm = number[side] - s->n_ranks;
    }
}

void comm_use(sim *s, int comm)
{
    if (comm > s->n_ranks) table_of(s, comm)->n_uses++;
}

void comm_leave(sim *s, int comm)
{
    if (comm > s->n_ranks && --table_of(s, comm)->n_uses == 0) recycle(s, comm);
}

void sim_comm_free(sim *s, int comm)
{
    if (comm <= s->n_ranks || table_of(s, comm)->n == 0 || table_of(s, comm)->is_freed) return;
    table_of(s, comm)->is_freed = 1;
    recycle(s, comm);
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

static int table_fill(const sim *s, comm_table *c, int n, const int *world_rank)
{
    int is_range = 1;
    for (int i = 0; i < n; i++) {
        if (world_rank[i] < 0 || world_rank[i] >= s->n_ranks) return SIM_BAD_RANK;
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
static int table_add(sim *s, comm_table c)
{
    int at = s->free_comm;
    if (at) {
        s->free_comm = s->comm[at].next;
    } else {
        if (s->n_comms == s->comm_room) {
            comm_table *grown = realloc(s->comm, 2 * (size_t)s->comm_room * sizeof *grown);
            if (!grown) {
                table_free(&c);
                return SIM_OUT_OF_MEMORY;
            }
            s->comm = grown;
            s->comm_room *= 2;
        }
        at = s->n_comms++;
    }
    s->comm[at] = c;
    return s->comm[at].other = s->n_ranks + at;
}

int sim_comm_new(sim *s, int n, const int *world_rank)
{
    comm_table c;
    int error = table_fill(s, &c, n, world_rank);
    return error < 0 ? error : table_add(s, c);
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
    table_of(s, mine)->other = remote;
    table_of(s, remote)->other = mine;
    return mine;
}
