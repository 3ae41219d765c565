#include "completion.h"

#include "poll.h"
#include "world.h"

static void tell(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    const int waiter = request_waiter(&s->requests, id);
    timeline *t = &s->timelines.at[waiter];
    if (t->state == WAITING) account_wait(s, t, x);
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
    x->date_s = s->clock.now_s;
    if (s->paths) path_reaches(s, id);
    poll_notice(s, x->is.rank);
    if (x->waiter >= 0) tell(s, id);
    request_let_go(s, id);
}
