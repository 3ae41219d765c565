#include "mpi/mpi_world.h"
#include "mpi/poll.h"
#include "mpi/nonblocking_collective.h"
#include "world/actions.h"
#include "world/tell.h"

/* Testing a collective that was started: a poll, then one of each of its requests in turn; those it has learnt of before cost
 * their sleep again. */

enum { ASK, NEXT, LOOK, LEARN, PAID };

static int end(sim *s, int id, action *a)
{
    mpi_state *mpi = mpi_of(s);
    timeline *t = &s->timelines.at[id];
    const poll_question asked = {.kind = a->kind, .request = a->test_collective.request};
    t->answer &= mpi->requests.at[a->test_collective.request].is.is_done; /* or the latch is shut */
    if (t->answer) tell_looked(s, id, a->test_collective.request);
    poll_end(s, id, &asked, &mpi->polling.tests_in_a_row, t->answer != 0, mpi->poll_costs.grow);
    action_end(s, id);
    return FREE_OF_CHARGE;
}

/* Polls before a stage; in worlds whose polls notice arrivals, one poll looks at all requests. */
static int poll_before(sim *s, int id, action *a, int stage)
{
    const poll_costs *polls = &mpi_of(s)->poll_costs;
    const poll_question asked = {.kind = a->kind, .request = a->test_collective.request};
    const int is_free = polls->test_s <= 0 || (polls->notice && stage != NEXT);
    a->stage = stage;
    return is_free ? FREE_OF_CHARGE : poll_begin(s, id, &asked, polls->test_s, mpi_of(s)->polling.tests_in_a_row);
}

int test_collective_step(sim *s, int id, action *a)
{
    mpi_state *mpi = mpi_of(s);
    timeline *t = &s->timelines.at[id];
    collective_run *run = mpi->requests.at[a->test_collective.request].run;
    struct collective_test *test = &a->test_collective;
    t->poll.each_s = 0;
    switch (a->stage) {
    case ASK:
        test->under_test = 0;
        t->answer = 1;
        return poll_before(s, id, a, NEXT);
    case NEXT:
        if (test->under_test == run->n_made) return end(s, id, a);
        return poll_before(s, id, a, LOOK);
    case LOOK:
        test->is_found = run->made[test->under_test] == OVER;
        if (run->made[test->under_test] == LEARNT) {
            test->under_test++;
            a->stage = NEXT;
            return FREE_OF_CHARGE;
        }
        a->stage = run->made[test->under_test] == DETACHED ? PAID : LEARN;
        return a->stage == PAID ? FREE_OF_CHARGE : MADE_A_CALL;
    case LEARN:
        if (test->is_found) {
            a->stage = PAID;
            t->busy_until_s = 0;
            const int result = nonblocking_learn(s, id, run, test->under_test);
            return result == MADE_A_CALL ? FREE_OF_CHARGE : result;
        }
        mpi->polling.tests_in_a_row += mpi->poll_costs.grow;
        if (t->answer) tell_looked(s, id, 0);
        t->answer = 0;
        test->under_test++;
        a->stage = NEXT;
        return FREE_OF_CHARGE;
    default: /* PAID */
        mpi->polling.tests_in_a_row = 1;
        run->made[test->under_test++] = LEARNT; /* a detached one, too */
        a->stage = NEXT;
        return FREE_OF_CHARGE;
    }
}
