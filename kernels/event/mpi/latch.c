#include "mpi/latch.h"

#include <stdlib.h>

#include "basics/errors.h"

int latch_new(latches *all, int n_ranks)
{
    int id = all->free;
    if (id) {
        all->free = all->at[id].next;
    } else {
        if (all->n + 1 >= all->room) {
            int room = all->room ? 2 * all->room : 8;
            latch *grown = realloc(all->at, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            all->at = grown;
            all->room = room;
        }
        id = ++all->n;
    }
    all->at[id] = (latch){.n_ranks = n_ranks, .serial = ++all->n_made,
                            .n_to_come = n_ranks, .n_missing = n_ranks, .n_users = n_ranks};
    return id;
}

void latch_leave(latches *all, int id)
{
    latch *l = &all->at[id];
    if (--l->n_users > 0) return;
    *l = (latch){.next = all->free};
    all->free = id;
}

int latch_is_for_more(const latches *all, int id)
{
    return id > 0 && id <= all->n && all->at[id].n_to_come > 0;
}
