#include <stdlib.h>

#include "world.h"

int slot_new(slot_pool *pool)
{
    int id = pool->free;
    if (id) {
        pool->free = pool->at[id].next;
    } else {
        if (pool->n + 1 >= pool->room) {
            int room = pool->room ? 2 * pool->room : 256;
            slot *at = realloc(pool->at, (size_t)room * sizeof *at);
            if (!at) return SIM_OUT_OF_MEMORY;
            pool->at = at;
            pool->room = room;
        }
        id = ++pool->n;
    }
    pool->at[id] = (slot){.waiter = -1};
    return id;
}

void slot_free(slot_pool *pool, int id)
{
    pool->at[id].next = pool->free;
    pool->free = id;
}
