#include "perform.h"

/* Taking back a request. Only one without a match can be: it ends at once, and its payload stays where it is. */

int cancel(sim *s, int id)
{
    if (id <= 0 || !match_withdraw(&s->match, &s->requests, id)) return FREE_OF_CHARGE;
    int error = courier_drop(s, id);
    s->requests.at[id].is.is_cancelled = 1;
    request_done(s, id);
    return error < 0 ? error : FREE_OF_CHARGE;
}
