#include "completion.h"

#include <math.h>

#include "poll.h"
#include "world.h"

/* From when on the timeline that waits for a request waits for its transfer, and for nobody. */
static double met_s(const sim *s, const slot *x)
{
    const int instance = x->is_collective ? x->run->instance : x->instance;
    const double matched_s = x->has_matched ? x->matched_s : INFINITY;
    return instance ? fmin(matched_s, s->comms.instances.at[instance].complete_s) : matched_s;
}

static void tell(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    const int waiter = request_waiter(&s->requests, id);
    timeline *t = &s->timelines.at[waiter];
    if (t->state == WAITING) t->met_s = met_s(s, x);
    x->waiter = -1;
    if (x->told) {
        x->told(s, id);
    } else {
        action *a = timeline_first(t);
        a->kind->told(s, waiter, a, id);
    }
}

void request_complete(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    x->is.is_done = 1;
    if (s->paths) path_reaches(s, id);
    poll_notice(s, x->is.rank);
    if (x->waiter >= 0) tell(s, id);
    request_let_go(s, id);
}
