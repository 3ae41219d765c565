#include "watchers/account.h"
#include "watchers/trace.h"
#include "world/noise.h"
#include "world/tell.h"

/* Computing of something that is called while another call is open: it has an account of its own, in that one's line. */

int sim_append_compute_of(sim *s, int id, int call, int n_calls, int n_threads, double flop, double bytes)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    const int open = s->timelines.at[id].account_at_tail;
    s->timelines.at[id].account_at_tail = account_beside(s, id, call, n_calls);
    const int error = sim_append_threads(s, id, n_threads, flop, bytes);
    s->timelines.at[id].account_at_tail = open;
    return error;
}

void sim_trace_noise_free(sim *s, int id, int call, double flop, int has_noisy)
{
    const trace *t = accounts_of(s)->trace;
    if (!t || !t->has_actions || !is_timeline(&s->timelines, id)) return;
    const int open = s->timelines.at[id].account_at_tail;
    s->timelines.at[id].account_at_tail = account_beside(s, id, call, 0);
    tell_appended(s, id, &(appended_action){&noise_free_row, {.amount = flop, .detail = has_noisy}, 0, 0, 0});
    s->timelines.at[id].account_at_tail = open;
}
