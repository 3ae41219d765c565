#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "world/tell.h"

/* Taking back a request. Only one without a match can be: it ends at once, and its payload stays where it is. One that has
 * been released ends with the last action that names it. */

static int step(sim *s, int id, action *a)
{
    const int request = a->cancel.request;
    action_end(s, id);
    mpi_of(s)->requests.at[request].n_cancels--;
    const int is_withdrawn = protocol_withdraw(s, request);
    if (is_withdrawn < 0) return is_withdrawn;
    if (!is_withdrawn) request_let_go(s, request);
    return FREE_OF_CHARGE;
}

static const action_kind kind = {.name = "cancel", .step = step, .keeps_tail = 1};

static int perform(sim *s, int id, const trace_action *row, int n)
{
    const int request = perform_request(s, id, row->request);
    (void)n;
    return request ? sim_append_cancel(s, id, request) : 0;
}

const row_kind cancel_row = {{"cancel", "cancels `request`", "", ROW_REQUEST}, perform, 0, 0};

int sim_append_cancel(sim *s, int id, int request)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (!is_own_request(&mpi_of(s)->requests, s->timelines.at[id].rank, request)) return SIM_BAD_REQUEST;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->cancel.request = request;
    mpi_of(s)->requests.at[request].n_cancels++;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &cancel_row, .row = {.request = request}});
    return 0;
}
