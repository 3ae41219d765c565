#include "mpi/late.h"

#include <math.h>

#include "basics/dates.h"
#include "mpi/mpi_world.h"

/* The other side of a message, or -1. */
static int other_side(const sim *s, const slot *x)
{
    const int source = x->has_matched ? x->is.matched_source : x->is.is_done ? SIM_ANY : x->is.peer;
    if (x->is_collective) return -1;
    if (x->is.is_send) return x->target;
    return source == SIM_ANY ? -1 : comm_world_rank(&mpi_of(s)->comms, comm_other(&mpi_of(s)->comms, x->is.comm), source);
}

void late_meets(const sim *s, collective_run *run, const slot *x)
{
    if (!x->has_matched || (isfinite(run->met_s) && x->matched_s < run->met_s)) return;
    run->met_s = x->matched_s;
    run->met_rank = other_side(s, x);
}

/* Date at which both sides were there; of a started collective that ends before all ranks have entered it, of its last match. */
static double matched_s_of(const slot *x, double complete_s)
{
    if (x->is_collective) return isfinite(complete_s) ? INFINITY : x->run->met_s;
    return x->has_matched ? x->matched_s : INFINITY;
}

late_side late_side_of(const sim *s, const slot *x)
{
    const int id = x->is_collective ? x->run->instance : x->instance;
    const instance *all_of = id ? &mpi_of(s)->comms.instances.at[id] : NULL;
    const double over_s = x->is.is_done ? x->date_s : INFINITY;
    const int kind = x->access == ACCESSES_FILE ? SPENT_IO : SPENT_DEVICE;
    if (x->access) return (late_side){.kind = kind, .rank = -1, .met_s = INFINITY, .over_s = over_s};
    const double complete_s = all_of && all_of->complete_s <= over_s ? all_of->complete_s : INFINITY;
    const double matched_s = matched_s_of(x, complete_s);
    late_side side = {.met_s = smaller(matched_s, complete_s), .over_s = over_s, .rank = -1};
    side.kind = all_of || x->is_collective ? SPENT_LATE_MEMBERS : x->is.is_send ? SPENT_LATE_RECEIVER : SPENT_LATE_SENDER;
    if (complete_s <= matched_s && isfinite(complete_s))
        side.rank = comm_world_rank(&mpi_of(s)->comms, x->is.comm, all_of->last);
    else
        side.rank = x->is_collective ? x->run->met_rank : other_side(s, x);
    return side;
}
