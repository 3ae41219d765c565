#include "mpi/completion.h"

#include "mpi/mpi_world.h"
#include "mpi/poll.h"
#include "world/tell.h"

static void tell(sim *s, int id)
{
    slot *x = &mpi_of(s)->requests.at[id];
    const int waiter = request_waiter(&mpi_of(s)->requests, id);
    x->waiter = -1;
    if (x->told) {
        x->told(s, id);
    } else {
        action *a = timeline_first(&s->timelines.at[waiter]);
        a->kind->told(s, waiter, a, id);
    }
}

void request_complete(sim *s, int id)
{
    slot *x = &mpi_of(s)->requests.at[id];
    x->is.is_done = 1;
    x->date_s = s->clock.now_s;
    tell_completed(s, id);
    poll_notice(s, x->is.rank);
    if (x->waiter >= 0) tell(s, id);
    request_let_go(s, id);
}
