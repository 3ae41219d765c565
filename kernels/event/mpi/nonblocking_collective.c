#include "mpi/nonblocking_collective.h"

#include "mpi/completion.h"
#include "mpi/late.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "mpi/wait.h"

static collective_run *run_of(const sim *s, int request)
{
    return mpi_of(s)->requests.at[request].run;
}

static void complete_if_over(sim *s, int request)
{
    collective_run *run = run_of(s, request);
    if (!run->is_halted || run->n_background || (run->latch && mpi_of(s)->latches.at[run->latch].n_missing)) return;
    if (run->latch) latch_leave(&mpi_of(s)->latches, run->latch);
    run->latch = 0;
    request_complete(s, request);
}

/* ---- latches ---- */

int sim_latch_new(sim *s, int n_ranks)
{
    return latch_new(&mpi_of(s)->latches, n_ranks);
}

static void open_latch(sim *s, int first)
{
    for (int request = first, next; request; request = next) {
        next = run_of(s, request)->next_at_latch;
        complete_if_over(s, request);
    }
}

static void come_to_latch(sim *s, const collective_run *run)
{
    latch *l = &mpi_of(s)->latches.at[run->latch];
    if (l->last)
        run_of(s, l->last)->next_at_latch = run->request;
    else
        l->first = run->request;
    l->last = run->request;
    if (--l->n_missing == 0) open_latch(s, l->first);
}

/* ---- its requests ---- */

void nonblocking_halts(sim *s, collective_run *run)
{
    run->is_halted = 1;
    if (run->latch)
        come_to_latch(s, run);
    else
        complete_if_over(s, run->request);
}

static void told(sim *s, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    const int started = x->made_by, timeline = run_of(s, started)->timeline;
    collective_run *run = run_of(s, started);
    run->n_background--;
    late_meets(s, run, x);
    if (run->is_waited_for) {
        run->is_waited_for = 0;
        run->made[x->waiter_index] = LEARNT;
        wait_pay_for(s, timeline, x);
        wait_wake(s, timeline);
    } else {
        run->made[x->waiter_index] = OVER;
        run->n_ended++;
        if (x->waiter_index < run->first_over) run->first_over = x->waiter_index;
        if (run->owed_of_s) run->owed_of_s[x->waiter_index] = protocol_receive_overhead_s(s, x->is.rank, x);
    }
    complete_if_over(s, started);
}

int nonblocking_made(const sim *s, collective_run *run, slot *made)
{
    const int pays = costs_of(s, s->timelines.at[run->timeline].rank)->n_recv_overhead > 0;
    made->made_by = run->request;
    made->told = told;
    return collective_run_made(run, made->is.is_detached, pays);
}

int nonblocking_learn(sim *s, int id, collective_run *run, int index)
{
    run->n_ended--;
    run->made[index] = LEARNT;
    if (run->owed_of_s) wait_pay(s, id, run->owed_of_s[index]);
    return wait_after_overheads(s, id);
}

int nonblocking_learn_first(sim *s, int id, collective_run *run)
{
    while (run->made[run->first_over] != OVER) run->first_over++;
    return nonblocking_learn(s, id, run, run->first_over);
}
