#include <stdlib.h>

#include "world.h"

/* The pool of requests, and of what collectives under way remember. */

int request_new(sim *s, request is)
{
    slot_pool *pool = &s->requests;
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
    pool->at[id] = (slot){.is = is, .waiter = -1};
    comm_use(s, is.comm);
    return id;
}

void request_free(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    if (x->show) performance_free(s, x->show);
    x->show = NULL;
    x->next = s->requests.free;
    s->requests.free = id;
    comm_leave(s, x->is.comm);
}

void performance_free(sim *s, performance *p)
{
    comm_leave(s, p->comm);
    free((void *)p->frame.tables);
    free(p->made);
    p->next = s->free_show;
    s->free_show = p;
}
