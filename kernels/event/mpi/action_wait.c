#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "mpi/wait.h"
#include "world/actions.h"
#include "world/tell.h"

/* Wait and Waitall: a call for each request. */

/* Learns of one that has ended: the first, where it matters which. */
static int learn(sim *s, int id, action *a)
{
    int *list = wait_list(a);
    a->wait.n_ended--;
    const int pays = costs_of(s, s->timelines.at[id].rank)->n_recv_overhead > 0;
    for (int i = 0; i < a->wait.n && pays; i++) {
        if (list[i] <= 0 || !mpi_of(s)->requests.at[list[i]].is.is_done) continue;
        wait_pay_for(s, id, &mpi_of(s)->requests.at[list[i]]);
        list[i] = LEARNT_OF;
        break;
    }
    return wait_after_overheads(s, id);
}

static int step(sim *s, int id, action *a)
{
    if (a->stage++ == 0) wait_register(s, id, a);
    if (a->wait.n_ended > 0) return learn(s, id, a);
    if (a->wait.n_pending == 0) {
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
    wait_begin(s, id, !a->wait.list);
    return BLOCKED;
}

static void told(sim *s, int id, action *a, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    a->wait.n_pending--;
    if (s->timelines.at[id].state != WAITING) {
        a->wait.n_ended++;
        return;
    }
    wait_pay_for(s, id, x);
    wait_list(a)[x->waiter_index] = LEARNT_OF;
    wait_wake(s, id);
}

/* The first request that has not ended stands for all. */
static void describe(const sim *s, const action *a, waiting *out)
{
    mpi_state *mpi = mpi_of(s);
    const int *list = a->wait.list ? a->wait.list : &a->wait.one;
    for (int i = 0; i < a->wait.n; i++) {
        if (!is_request(&mpi->requests, list[i]) || mpi->requests.at[list[i]].is.is_done) continue;
        *out = request_describe(&mpi->requests, list[i], a->wait.n_pending);
        return;
    }
}

static const action_kind wait_kind = {.name = "wait", .step = step, .told = told, .free = wait_free, .describe = describe};
static const action_kind wait_all_kind = {.name = "waitall", .step = step, .told = told, .free = wait_free, .describe = describe};

static int perform_wait(sim *s, int id, const trace_action *row, int n)
{
    const int request = perform_request(s, id, row->request);
    const int error = request ? sim_append_wait(s, id, request) : 0;
    (void)n;
    return error < 0 || !request ? error : perform_over(s, id, row->request, request);
}

static int perform_wait_all(sim *s, int id, const trace_action *row, int n)
{
    int *list = perform_list(s, n), error = list ? 0 : SIM_OUT_OF_MEMORY, n_known = 0;
    (void)row;
    for (int i = 0; i < n && !error; i++) {
        const int name = perform_row(s, id, i)->request, request = perform_request(s, id, name);
        list[i] = request;
        n_known += request > 0;
        if (request) error = perform_over(s, id, name, request);
    }
    return error || !n_known ? error : sim_append_wait_all(s, id, n, list);
}

const row_kind wait_row = {{"wait", "waits for `request`", "", ROW_REQUEST | ROW_AWAITS}, perform_wait, 0, 0};
const row_kind wait_all_row = {{"wait_all", "waits for the requests of this and the next `detail` rows (`and`)", "how many more",
                                ROW_REQUEST | ROW_DETAIL | ROW_LIST | ROW_COUNTED}, perform_wait_all, 0, 0};

static int append_wait(sim *s, int id, int request)
{
    int error;
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (!is_own_request(&mpi_of(s)->requests, s->timelines.at[id].rank, request)) return SIM_BAD_REQUEST;
    const int is_collective = mpi_of(s)->requests.at[request].is_collective;
    action *a = wait_append(s, id, is_collective ? &wait_collective_kind : &wait_kind, request, 0, NULL, &error);
    if (a && is_collective) a->wait_collective.request = request;
    return error;
}

int sim_append_wait(sim *s, int id, int request)
{
    const int error = append_wait(s, id, request);
    if (is_watched(s) && !error) tell_appended(s, id, &(appended_action){.kind = &wait_row, .row = {.request = request}});
    return error;
}

/* The peer waits for started collectives first, for each as a whole. */
static int append_wait_all(sim *s, int id, int n, const int *list)
{
    mpi_state *mpi = mpi_of(s);
    int n_collectives = 0, error = 0;
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    for (int i = 0; i < n; i++)
        if (list[i] > 0 && !is_own_request(&mpi->requests, s->timelines.at[id].rank, list[i])) return SIM_BAD_REQUEST;
    for (int i = 0; i < n && error == 0; i++) {
        if (!is_collective_request(&mpi->requests, list[i])) continue;
        n_collectives++;
        error = append_wait(s, id, list[i]);
    }
    if (error < 0 || n_collectives == n) return error;
    action *a = wait_append(s, id, &wait_all_kind, 0, n, list, &error);
    for (int i = 0; a && i < n; i++)
        if (is_collective_request(&mpi->requests, list[i])) a->wait.list[i] = 0;
    return error;
}

int sim_append_wait_all(sim *s, int id, int n, const int *list)
{
    const int error = append_wait_all(s, id, n, list);
    if (is_watched(s) && !error)
        tell_appended(s, id, &(appended_action){&wait_all_row, {.detail = n - 1}, n, list, 0});
    return error;
}
