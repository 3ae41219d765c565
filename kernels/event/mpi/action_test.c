#include "mpi/mpi_world.h"
#include "mpi/poll.h"
#include "mpi/wait.h"
#include "world/actions.h"
#include "world/tell.h"

/* Test and Testany: a poll, a call that looks, and the answer in the next turn. */

enum { ASK, LOOK, LEARN, PAID };

static int begin(sim *s, int id, action *a, const poll_question *asked, int in_a_row)
{
    a->stage = LOOK;
    return poll_begin(s, id, asked, mpi_of(s)->poll_costs.test_s, in_a_row);
}

/* `found` is the request that was complete: 0 for none that has a number, -1 for no answer. */
static int end(sim *s, int id, action *a, int found, const poll_question *asked, int *in_a_row, int grows)
{
    if (a->stage == LEARN && found > 0) {
        tell_looked(s, id, found);
        s->timelines.at[id].busy_until_s = 0;
        a->stage = PAID;
        wait_pay_for(s, id, &mpi_of(s)->requests.at[found]);
        const int result = wait_after_overheads(s, id);
        if (result != MADE_A_CALL) return result;
    }
    poll_end(s, id, asked, in_a_row, found >= 0, grows);
    action_end(s, id);
    return FREE_OF_CHARGE;
}

static int step_test(sim *s, int id, action *a)
{
    mpi_state *mpi = mpi_of(s);
    timeline *t = &s->timelines.at[id];
    const int request = a->wait.one;
    const poll_question asked = {.kind = a->kind, .request = request};
    if (a->stage == ASK && mpi->poll_costs.test_s > 0) return begin(s, id, a, &asked, mpi->polling.tests_in_a_row);
    t->poll.each_s = 0;
    if (a->stage >= LEARN)
        return end(s, id, a, t->answer ? request : -1, &asked, &mpi->polling.tests_in_a_row, mpi->poll_costs.grow);
    t->answer = request <= 0 || mpi->requests.at[request].is.is_done;
    a->stage = LEARN;
    return request > 0 ? MADE_A_CALL : FREE_OF_CHARGE;
}

static int step_test_any(sim *s, int id, action *a)
{
    mpi_state *mpi = mpi_of(s);
    timeline *t = &s->timelines.at[id];
    const int *list = a->wait.list;
    const poll_question asked = {.kind = a->kind, .request = -1, .n_requests = a->wait.n, .first = a->wait.n > 0 ? list[0] : 0};
    if (a->stage == ASK && mpi->poll_costs.test_s > 0) return begin(s, id, a, &asked, mpi->polling.test_anys_in_a_row);
    t->poll.each_s = 0;
    if (a->stage >= LEARN) { /* the peer lets this poll grow, whatever the model says */
        const int found = t->answer < 0 ? -1 : list[t->answer];
        return end(s, id, a, found, &asked, &mpi->polling.test_anys_in_a_row, 1);
    }
    t->answer = -1;
    for (int i = 0; i < a->wait.n && t->answer < 0; i++)
        if (list[i] == 0 || (list[i] > 0 && mpi->requests.at[list[i]].is.is_done)) t->answer = i;
    a->stage = LEARN;
    return MADE_A_CALL;
}

static int perform_test(sim *s, int id, const trace_action *row, int n)
{
    const int request = perform_request(s, id, row->request), is_gone = row->request && !request;
    const int error = is_gone ? 0 : sim_append_test(s, id, request);
    (void)n;
    return error < 0 || is_gone ? error : ROW_ASKS;
}

static int found_test(sim *s, int id, const trace_action *row, int64_t answer)
{
    const int request = perform_request(s, id, row->request);
    (void)answer;
    return request ? perform_over(s, id, row->request, request) : 0;
}

/* Tests several requests: the one that was found complete in the trace, until it is; or all, once. */
static int perform_test_any(sim *s, int id, const trace_action *row, int n)
{
    int *list = perform_list(s, n);
    if (!list) return SIM_OUT_OF_MEMORY;
    for (int i = 0; i < n; i++) {
        const int name = perform_row(s, id, i)->request, request = perform_request(s, id, name);
        list[i] = (row->detail && row->detail != i + 1) || name < 0 || (name && !request) ? -1 : request;
    }
    if (row->detail && list[row->detail - 1] < 0) return 0;
    const int error = sim_append_test_any(s, id, n, list);
    return error < 0 ? error : ROW_ASKS;
}

static int found_test_any(sim *s, int id, const trace_action *row, int64_t answer)
{
    return row->detail ? found_test(s, id, perform_row(s, id, (int)answer), answer) : 0;
}

const row_kind test_row = {
    {"test", "polls `request` `amount` times in vain, then, with `detail` 1, until it is complete", "0 or 1",
     ROW_REQUEST | ROW_AMOUNT | ROW_DETAIL | ROW_POLL}, perform_test, found_test, 0};
const row_kind test_any_row = {
    {"test_any", "polls the requests of this and the following `and` rows; with `detail` > 0, until that one is complete",
     "0, or which one, from 1", ROW_REQUEST | ROW_DETAIL | ROW_LIST}, perform_test_any, found_test_any, 0};

static const action_kind test_collective_kind = {.name = "test of a collective", .step = test_collective_step,
                                                 .nature = ACTION_POLL, .row = &test_row};
static const action_kind test_kind = {.name = "test", .step = step_test, .free = wait_free, .nature = ACTION_POLL,
                                      .row = &test_row};
static const action_kind test_any_kind = {.name = "testany", .step = step_test_any, .free = wait_free, .nature = ACTION_POLL,
                                          .row = &test_any_row};

int sim_append_test(sim *s, int id, int request)
{
    int error;
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (request != 0 && !is_own_request(&mpi_of(s)->requests, s->timelines.at[id].rank, request)) return SIM_BAD_REQUEST;
    const int is_collective = is_collective_request(&mpi_of(s)->requests, request);
    action *a = wait_append(s, id, is_collective ? &test_collective_kind : &test_kind, request, 0, NULL, &error);
    if (a && is_collective) a->test_collective.request = request;
    return error;
}

int sim_append_test_any(sim *s, int id, int n, const int *list)
{
    int error;
    wait_append(s, id, &test_any_kind, 0, n, list, &error);
    return error;
}
