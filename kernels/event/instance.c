#include <math.h>
#include <stdlib.h>

#include "world.h"

/* Which collective of its communicator a rank is in, and when all ranks have entered it.
 *
 * The n-th collective of every rank of an intracommunicator is one instance. A rank enters the one that follows the one it
 * entered last, whoever comes first makes it: so a rank costs one number a communicator, and entering costs the same for any
 * number of ranks. Between groups not every rank takes part: there are none there. */

static int instance_new(sim *s, int n_ranks)
{
    int id = s->free_instance;
    if (id) {
        s->free_instance = s->instance[id].next;
    } else {
        if (s->n_instances + 1 >= s->instance_room) {
            int room = s->instance_room ? 2 * s->instance_room : 16;
            instance *grown = realloc(s->instance, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            s->instance = grown;
            s->instance_room = room;
        }
        id = ++s->n_instances;
    }
    s->instance[id] = (instance){.n_missing = n_ranks, .n_users = n_ranks, .complete_s = INFINITY};
    return id;
}

void instance_leave(sim *s, int id)
{
    if (id <= 0 || --s->instance[id].n_users > 0) return;
    s->instance[id].next = s->free_instance;
    s->free_instance = id;
}

/* Where all ranks stand before the first collective. */
static int begin(sim *s, comm_table *c)
{
    int *entered = malloc((size_t)c->n * sizeof *entered);
    const int id = entered ? instance_new(s, c->n) : SIM_OUT_OF_MEMORY;
    if (id < 0) {
        free(entered);
        return id;
    }
    for (int rank = 0; rank < c->n; rank++) entered[rank] = id;
    c->entered = entered;
    return 0;
}

int instance_enter(sim *s, int comm, int rank)
{
    if (sim_comm_size(s, comm) == 1 || sim_comm_other(s, comm) != comm) return 0;
    comm_table *c = table_of(s, comm);
    if (!c->entered && begin(s, c) < 0) return SIM_OUT_OF_MEMORY;
    const int last = c->entered[rank];
    int id = s->instance[last].next;
    if (!id) {
        if ((id = instance_new(s, c->n)) < 0) return id;
        s->instance[last].next = id;
    }
    instance_leave(s, last);
    c->entered[rank] = id;
    s->instance[id].n_users++;
    if (--s->instance[id].n_missing == 0) s->instance[id].complete_s = s->now_s;
    return id;
}

void instances_free(sim *s, comm_table *c)
{
    for (int rank = 0; c->entered && rank < c->n; rank++) {
        for (int id = c->entered[rank], next; id; id = next) {
            next = s->instance[id].next;
            instance_leave(s, id);
        }
    }
    free(c->entered);
    c->entered = NULL;
}
