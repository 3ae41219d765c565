#include "mpi/instance.h"

#include <math.h>
#include <stdlib.h>

#include "basics/errors.h"

static int instance_new(instances *all, int n_ranks)
{
    int id = all->free;
    if (id) {
        all->free = all->at[id].next;
    } else {
        if (all->n + 1 >= all->room) {
            int room = all->room ? 2 * all->room : 16;
            instance *grown = realloc(all->at, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            all->at = grown;
            all->room = room;
        }
        id = ++all->n;
    }
    all->at[id] = (instance){.n_missing = n_ranks, .n_users = n_ranks, .complete_s = INFINITY, .n_to_meet = n_ranks};
    return id;
}

int *instance_begin(instances *all, int n_ranks)
{
    int *entered = malloc((size_t)n_ranks * sizeof *entered);
    const int id = entered ? instance_new(all, n_ranks) : SIM_OUT_OF_MEMORY;
    if (id < 0) {
        free(entered);
        return NULL;
    }
    for (int rank = 0; rank < n_ranks; rank++) entered[rank] = id;
    return entered;
}

void instance_leave(instances *all, int id)
{
    if (id <= 0 || --all->at[id].n_users > 0) return;
    all->at[id].next = all->free;
    all->free = id;
}

int instance_enter(instances *all, int *entered, int n_ranks, int rank, int timeline, double now_s)
{
    const int last = entered[rank];
    int id = all->at[last].next;
    if (!id) {
        if ((id = instance_new(all, n_ranks)) < 0) return id;
        all->at[last].next = id;
    }
    instance_leave(all, last);
    entered[rank] = id;
    all->at[id].n_users++;
    if (--all->at[id].n_missing == 0) {
        all->at[id].complete_s = now_s;
        all->at[id].last = rank;
        all->at[id].last_timeline = timeline;
    }
    return id;
}

void instance_end(instances *all, int *entered, int n_ranks)
{
    for (int rank = 0; rank < n_ranks; rank++) {
        for (int id = entered[rank], next; id; id = next) {
            next = all->at[id].next;
            instance_leave(all, id);
        }
    }
    free(entered);
}
