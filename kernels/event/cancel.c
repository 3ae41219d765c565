#include "perform.h"

/* Taking back a request. Only one without a match can be: it ends at once, and its payload stays where it is. One that has
 * been released ends with the last action that names it. */

int cancel(sim *s, int id)
{
    s->requests.at[id].n_cancels--;
    if (!match_withdraw(&s->match, &s->requests, id)) {
        request_let_go(s, id);
        return FREE_OF_CHARGE;
    }
    int error = payload_drop(s, id);
    if (error < 0) return error;
    s->requests.at[id].is.is_cancelled = 1;
    request_done(s, id);
    return FREE_OF_CHARGE;
}
