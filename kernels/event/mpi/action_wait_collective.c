#include "mpi/mpi_world.h"
#include "mpi/nonblocking_collective.h"
#include "mpi/wait.h"
#include "world/actions.h"

/* Waiting for a collective that was started: a call for each of its requests. */

static int step(sim *s, int id, action *a)
{
    const int request = a->wait_collective.request;
    slot *x = &mpi_of(s)->requests.at[request];
    collective_run *run = x->run;
    if (a->stage++ == 0) s->timelines.at[id].busy_until_s = 0;
    if (run->n_ended > 0) return nonblocking_learn_first(s, id, run);
    if (x->is.is_done) {
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
    run->timeline = id;
    run->is_waited_for = 1;
    if (!run->n_background) x->waiter = id; /* the latch is shut */
    wait_begin(s, id, 0);
    return BLOCKED;
}

static void told(sim *s, int id, action *a, int request)
{
    (void)a;
    if (s->timelines.at[id].state != WAITING) return; /* it has just learnt of the last request, and looks again */
    mpi_of(s)->requests.at[request].run->is_waited_for = 0;
    wait_wake(s, id);
}

static void describe(const sim *s, const action *a, waiting *out)
{
    const slot *x = &mpi_of(s)->requests.at[a->wait_collective.request];
    *out = request_describe(&mpi_of(s)->requests, a->wait_collective.request, 0);
    out->n_requests = x->run->n_background;
}

const action_kind wait_collective_kind = {.name = "wait for a collective", .step = step, .told = told, .describe = describe};
