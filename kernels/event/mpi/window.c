#include "mpi/window.h"

#include <stdlib.h>

#include "mpi/mpi_world.h"
#include "world/tell.h"

/* ---- parts ---- */

window_part *window_part_at(sim *s, int comm, int rank)
{
    comm_table *c = &mpi_of(s)->comms.at[comm];
    if (c->window) return &c->window[rank];
    window_part *parts = calloc((size_t)c->n, sizeof *parts);
    if (!parts) return NULL;
    for (int i = 0; i < c->n; i++)
        for (int g = 0; g < GATES; g++) parts[i].gate[g] = (gate){.holder = -1, .first = -1, .last = -1};
    c->window = parts;
    return &parts[rank];
}

const window_part *window_part_of(const sim *s, int comm, int rank)
{
    const window_part *parts = comm_at(&mpi_of(s)->comms, comm)->window;
    return parts ? &parts[rank] : NULL;
}

/* ---- actions on them ---- */

action *window_append(sim *s, int id, const action_kind *kind, int comm, int rank, int *error)
{
    mpi_state *mpi = mpi_of(s);
    *error = SIM_BAD_RANK;
    if (!is_timeline(&s->timelines, id) || comm_rank(&mpi->comms, comm, s->timelines.at[id].rank) < 0) return NULL;
    if (rank < 0 || rank >= comm_size(&mpi->comms, comm)) return NULL;
    *error = SIM_OUT_OF_MEMORY;
    action *a = window_part_at(s, comm, rank) ? action_append(s, id, kind) : NULL;
    if (!a) return NULL;
    *error = 0;
    a->window.comm = comm;
    a->window.rank = rank;
    comm_use(&mpi->comms, comm);
    return a;
}

void window_action_free(sim *s, action *a)
{
    comm_leave(&mpi_of(s)->comms, a->window.comm);
}

/* ---- gates ---- */

static action *waiter(sim *s, int id)
{
    return timeline_first(&s->timelines.at[id]);
}

int gate_enter(sim *s, gate *g, int id, int is_shared)
{
    if (g->holder < 0 && g->first < 0 && (is_shared || !g->n_shared)) {
        if (is_shared)
            g->n_shared++;
        else
            g->holder = id;
        return 1;
    }
    action *a = waiter(s, id);
    a->window.next_waiting = -1;
    a->window.is_shared = is_shared != 0;
    if (g->last < 0)
        g->first = id;
    else
        waiter(s, g->last)->window.next_waiting = id;
    g->last = id;
    action_block(s, id, SPENT_WAITING);
    return 0;
}

void gate_pass_on(sim *s, gate *g, int by)
{
    const int id = g->first;
    if (id < 0 || g->holder >= 0) return;
    const action *a = waiter(s, id);
    if (a->window.is_shared)
        g->n_shared++;
    else if (g->n_shared)
        return;
    else
        g->holder = id;
    g->first = a->window.next_waiting;
    if (g->first < 0) g->last = -1;
    tell_let_in(s, id, by);
    action_wake(s, id);
}

int gate_leave(sim *s, gate *g, int id, int is_shared)
{
    if (is_shared ? !g->n_shared : g->holder != id) return SIM_BAD_REQUEST;
    if (is_shared)
        g->n_shared--;
    else
        g->holder = -1;
    gate_pass_on(s, g, id);
    return 0;
}
