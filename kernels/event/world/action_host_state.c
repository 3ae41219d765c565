#include "world/host_state.h"
#include "world/tell.h"

/* A rank sets the state of its host: one call, which takes no time. */

static int step(sim *s, int id, action *a)
{
    const int state = (int)a->mark.id;
    action_end(s, id);
    const int error = host_set_state(s, s->timelines.at[id].host, state);
    return error < 0 ? error : MADE_A_CALL;
}

static const action_kind kind = {.name = "host_state", .step = step, .keeps_tail = 1};

static int perform(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    const int most = sim_n_host_states(s, s->timelines.at[id].host) - 1; /* the machine may be another one */
    return row->detail < 0 ? SIM_BAD_SIZE : sim_append_host_state(s, id, row->detail < most ? row->detail : most);
}

const row_kind host_state_row = {
    {"host_state", "sets the state of its host; the last one where there are fewer", "the state, from 0", ROW_DETAIL},
    perform, 0, 0};

int sim_append_host_state(sim *s, int id, int state)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (state < 0 || state >= sim_n_host_states(s, s->timelines.at[id].host)) return SIM_BAD_SIZE;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->mark.id = state;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &host_state_row, .row = {.detail = state}});
    return 0;
}
