#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Rank tables. Communicators whose world ranks are consecutive (the world, one rank alone) store no table. */

int sim_comm_size(const sim *s, int comm)
{
    if (comm > 0 && comm <= s->n_ranks) return 1;
    return s->comm[comm > 0 ? comm - s->n_ranks : 0].n;
}

int sim_comm_world_rank(const sim *s, int comm, int rank)
{
    if (comm > 0 && comm <= s->n_ranks) return comm - 1;
    const comm_table *c = &s->comm[comm > 0 ? comm - s->n_ranks : 0];
    return c->world ? c->world[rank] : c->first + rank;
}

int sim_comm_rank(const sim *s, int comm, int world_rank)
{
    if (comm > 0 && comm <= s->n_ranks) return world_rank == comm - 1 ? 0 : -1;
    const comm_table *c = &s->comm[comm > 0 ? comm - s->n_ranks : 0];
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

int comm_tables_init(sim *s)
{
    s->comm_room = 8;
    s->comm = calloc((size_t)s->comm_room, sizeof *s->comm);
    if (!s->comm) return SIM_OUT_OF_MEMORY;
    s->comm[0] = (comm_table){.n = s->n_ranks};
    s->n_comms = 1;
    return 0;
}

static void table_free(comm_table *c)
{
    free(c->world);
    free(c->sorted);
    *c = (comm_table){.n = -1};
}

void comm_tables_free(sim *s)
{
    for (int c = 0; c < s->n_comms; c++) table_free(&s->comm[c]);
    free(s->comm);
}

void sim_comm_free(sim *s, int comm)
{
    if (comm > s->n_ranks) table_free(&s->comm[comm - s->n_ranks]);
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

int sim_comm_new(sim *s, int n, const int *world_rank)
{
    if (s->n_comms == s->comm_room) {
        comm_table *comm = realloc(s->comm, 2 * (size_t)s->comm_room * sizeof *comm);
        if (!comm) return SIM_OUT_OF_MEMORY;
        s->comm = comm;
        s->comm_room *= 2;
    }
    int is_range = 1;
    for (int i = 0; i < n; i++) {
        if (world_rank[i] < 0 || world_rank[i] >= s->n_ranks) return SIM_BAD_RANK;
        is_range &= world_rank[i] == world_rank[0] + i;
    }
    comm_table c = {.n = n, .first = n ? world_rank[0] : 0};
    if (!is_range) {
        int *scratch = malloc((size_t)n * sizeof *scratch);
        c.world = malloc((size_t)n * sizeof *c.world);
        c.sorted = malloc((size_t)n * sizeof *c.sorted);
        if (!scratch || !c.world || !c.sorted) {
            free(scratch);
            table_free(&c);
            return SIM_OUT_OF_MEMORY;
        }
        for (int i = 0; i < n; i++) {
            c.world[i] = world_rank[i];
            c.sorted[i] = i;
        }
        sort_by_world_rank(c.world, c.sorted, n, scratch);
        free(scratch);
    }
    s->comm[s->n_comms] = c;
    return s->n_ranks + s->n_comms++;
}
