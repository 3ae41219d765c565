#include "actions.h"
#include "poll.h"
#include "poll_row.h"
#include "wait.h"
#include "world.h"

/* Test and Testany: a poll, a call that looks, and the answer in the next turn. */

enum { ASK, LOOK, LEARN, PAID };

static const action_kind test_any_kind;

static int begin(sim *s, int id, action *a, const poll_question *asked, int in_a_row)
{
    a->stage = LOOK;
    return poll_begin(s, id, asked, s->model.polling.test_s, in_a_row);
}

static void write_poll(sim *s, int id, const action *a)
{
    const int64_t answer = s->timelines.at[id].answer;
    const trace_action poll = {.action = DID_TEST, .request = trace_name(s, a->wait.one), .comm = -1};
    if (a->kind == &test_any_kind)
        trace_list(s, id, DID_TEST_ANY, a->wait.n, a->wait.list, (int)answer + 1);
    else
        trace_polled(s, id, &poll, answer != 0);
}

/* `found` is the request that was complete: 0 for none that has a number, -1 for no answer. */
static int end(sim *s, int id, action *a, int found, const poll_question *asked, int *in_a_row, int grows)
{
    if (s->paths && a->stage == LEARN && found > 0) path_finds(s, id, found);
    if (a->stage == LEARN && found > 0) {
        poll_row_finds(s, &s->timelines.at[id], found);
        s->timelines.at[id].busy_until_s = 0;
        a->stage = PAID;
        wait_pay_for(s, id, &s->requests.at[found]);
        const int result = wait_after_overheads(s, id);
        if (result != MADE_A_CALL) return result;
    }
    poll_end(s, id, asked, in_a_row, found >= 0, grows);
    if (s->trace) write_poll(s, id, a);
    action_end(s, id);
    return FREE_OF_CHARGE;
}

static int step_test(sim *s, int id, action *a)
{
    timeline *t = &s->timelines.at[id];
    const int request = a->wait.one;
    const poll_question asked = {.kind = a->kind, .request = request};
    if (a->stage == ASK && s->model.polling.test_s > 0) return begin(s, id, a, &asked, s->polling.tests_in_a_row);
    t->poll.each_s = 0;
    if (a->stage >= LEARN)
        return end(s, id, a, t->answer ? request : -1, &asked, &s->polling.tests_in_a_row, s->model.polling.grow);
    t->answer = request <= 0 || s->requests.at[request].is.is_done;
    a->stage = LEARN;
    return request > 0 ? MADE_A_CALL : FREE_OF_CHARGE;
}

static int step_test_any(sim *s, int id, action *a)
{
    timeline *t = &s->timelines.at[id];
    const int *list = a->wait.list;
    const poll_question asked = {.kind = a->kind, .request = -1, .n_requests = a->wait.n, .first = a->wait.n > 0 ? list[0] : 0};
    if (a->stage == ASK && s->model.polling.test_s > 0) return begin(s, id, a, &asked, s->polling.test_anys_in_a_row);
    t->poll.each_s = 0;
    if (a->stage >= LEARN) { /* the peer lets this poll grow, whatever the model says */
        const int found = t->answer < 0 ? -1 : list[t->answer];
        return end(s, id, a, found, &asked, &s->polling.test_anys_in_a_row, 1);
    }
    t->answer = -1;
    for (int i = 0; i < a->wait.n && t->answer < 0; i++)
        if (list[i] == 0 || (list[i] > 0 && s->requests.at[list[i]].is.is_done)) t->answer = i;
    a->stage = LEARN;
    return MADE_A_CALL;
}

static const action_kind test_kind = {.name = "test", .step = step_test, .free = wait_free, .nature = ACTION_POLL};
static const action_kind test_any_kind = {.name = "testany", .step = step_test_any, .free = wait_free, .nature = ACTION_POLL};

int sim_append_test(sim *s, int id, int request)
{
    int error;
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (request != 0 && !is_own_request(&s->requests, s->timelines.at[id].rank, request)) return SIM_BAD_REQUEST;
    const int is_collective = is_collective_request(&s->requests, request);
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
