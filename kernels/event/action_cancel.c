#include "protocol.h"
#include "world.h"

/* Taking back a request. Only one without a match can be: it ends at once, and its payload stays where it is. One that has
 * been released ends with the last action that names it. */

static int step(sim *s, int id, action *a)
{
    const int request = a->cancel.request;
    action_end(s, id);
    s->requests.at[request].n_cancels--;
    const int is_withdrawn = protocol_withdraw(s, request);
    if (is_withdrawn < 0) return is_withdrawn;
    if (!is_withdrawn) request_let_go(s, request);
    return FREE_OF_CHARGE;
}

static const action_kind kind = {.name = "cancel", .step = step, .keeps_tail = 1};

int sim_append_cancel(sim *s, int id, int request)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (!is_own_request(&s->requests, s->timelines.at[id].rank, request)) return SIM_BAD_REQUEST;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->cancel.request = request;
    s->requests.at[request].n_cancels++;
    if (s->trace) trace_list(s, id, DID_CANCEL, 1, &request, 0);
    return 0;
}
