#include "mpi/mpi_world.h"
#include "mpi/wait.h"
#include "world/actions.h"
#include "world/tell.h"

/* Waitany: the answer is the index of the request that has ended first. */

/* Waits for the one of several requests that was over first in the trace. */
static int perform(sim *s, int id, const trace_action *row, int n)
{
    const int chosen = row->detail ? perform_row(s, id, row->detail - 1)->request : -1, request = perform_request(s, id, chosen);
    const int list = !row->detail ? -1 : chosen == 0 ? 0 : request;
    (void)n;
    if (row->detail && chosen && !request) return 0;
    const int error = sim_append_wait_any(s, id, 1, &list);
    return error < 0 || !request ? error : perform_over(s, id, chosen, request);
}

const row_kind wait_any_row = {
    {"wait_any", "waits for one of the requests of this and the following `and` rows: the `detail`-th was over first",
     "which one, from 1; 0: none was left", ROW_REQUEST | ROW_DETAIL | ROW_LIST}, perform, 0, 0};

/* The wait is known as an action once it has its answer: index + 1, or 0. */
static void tell_answer(sim *s, int id, const action *a, int answer)
{
    const appended_action did = {&wait_any_row, {.detail = answer}, a->wait.n, a->wait.list, 0};
    if (is_watched(s)) tell_appended(s, id, &did);
}

/* The wait has its answer. When that is a started collective, what is left of it is a wait for the collective. */
static void choose(sim *s, int id, action *a, int index)
{
    const int request = a->wait.list[index];
    s->timelines.at[id].answer = index;
    tell_answer(s, id, a, index + 1);
    if (!is_collective_request(&mpi_of(s)->requests, request)) {
        action_end(s, id);
        return;
    }
    wait_free(s, a);
    *a = (action){.kind = &wait_collective_kind, .wait_collective = {request}};
}

/* Index of the first that is complete: as the peer has it, of those that cost no call of their own (detached sends, started
 * collectives), wherever they stand, then of the others; or -1. */
static int first_complete(const sim *s, const int *list, int n)
{
    int first = -1;
    for (int i = 0; i < n; i++) {
        const int is_done = list[i] == 0 || (list[i] > 0 && mpi_of(s)->requests.at[list[i]].is.is_done);
        if (is_done && (list[i] == 0 || is_collective_request(&mpi_of(s)->requests, list[i]))) return i;
        if (is_done && first < 0) first = i;
    }
    return first;
}

static int step(sim *s, int id, action *a)
{
    timeline *t = &s->timelines.at[id];
    t->busy_until_s = 0;
    t->answer = -1;
    const int index = first_complete(s, a->wait.list, a->wait.n);
    if (index >= 0) {
        const int request = a->wait.list[index];
        const int is_call = request && !is_collective_request(&mpi_of(s)->requests, request);
        if (is_call) wait_pay_for(s, id, &mpi_of(s)->requests.at[request]);
        choose(s, id, a, index);
        return is_call ? wait_after_overheads(s, id) : FREE_OF_CHARGE;
    }
    wait_register(s, id, a);
    if (a->wait.n_pending == 0) {
        tell_answer(s, id, a, 0);
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
    wait_begin(s, id, 0);
    return BLOCKED;
}

static void told(sim *s, int id, action *a, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    const int index = x->waiter_index;
    a->wait.n_pending--;
    if (s->timelines.at[id].state != WAITING) return;
    wait_pay_for(s, id, x);
    for (int i = 0; i < a->wait.n; i++)
        if (a->wait.list[i] > 0) mpi_of(s)->requests.at[a->wait.list[i]].waiter = -1;
    choose(s, id, a, index);
    wait_wake(s, id);
}

static void describe(const sim *s, const action *a, waiting *out)
{
    (void)s;
    *out = (waiting){.kind = WAIT_SEVERAL, .n_requests = a->wait.n_pending};
}

static const action_kind kind = {.name = "waitany", .step = step, .told = told, .free = wait_free, .describe = describe};

int sim_append_wait_any(sim *s, int id, int n, const int *list)
{
    int error;
    wait_append(s, id, &kind, 0, n, list, &error);
    return error;
}
