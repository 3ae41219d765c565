#include "world/tell.h"

/* Launching: a rank starts further ranks of the world. In the run they are added at that date. A replay has them from the
 * beginning, and they wait until they are launched. */

enum { NEW = 0, WAITS = 1 };

/* ---- the rank that launches ---- */

static int step(sim *s, int id, action *a)
{
    const int first = a->launch.first, n = a->launch.n;
    action_end(s, id);
    for (int rank = first; rank < first + n; rank++) {
        rank_state *of = &s->timelines.rank[rank];
        of->is_launched = 1;
        of->run.since_s = s->clock.now_s;
        if (!of->waits_for_launch) continue;
        of->waits_for_launch = 0;
        tell_woken(s, of->first_timeline, id);
        action_wake(s, of->first_timeline);
    }
    return FREE_OF_CHARGE;
}

static const action_kind kind = {.name = "launch", .step = step};

static int perform_launch(sim *s, int id, const trace_action *row, int n);

const row_kind launch_row = {{"launch", "ranks start, from world rank `peer` on", "their number", ROW_PEER | ROW_DETAIL},
                             perform_launch, 0, 0};

static int perform_launch(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    if (row->peer < 0 || row->detail < 0 || row->detail > s->timelines.n_ranks - row->peer) return SIM_BAD_RANK;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->launch.first = row->peer;
    a->launch.n = row->detail;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &launch_row, .row = *row});
    return 0;
}

/* ---- a rank that is launched ---- */

static int step_launched(sim *s, int id, action *a)
{
    rank_state *of = &s->timelines.rank[s->timelines.at[id].rank];
    if (a->stage == NEW && !of->is_launched) {
        a->stage = WAITS;
        of->waits_for_launch = 1;
        return action_block(s, id, SPENT_NOTHING);
    }
    action_end(s, id);
    return FREE_OF_CHARGE;
}

static void describe(const sim *s, const action *a, waiting *out)
{
    (void)s;
    if (a->stage == WAITS) *out = (waiting){.kind = WAIT_PARKED};
}

static const action_kind launched_kind = {.name = "launched", .step = step_launched, .describe = describe};

static int perform_launched(sim *s, int id, const trace_action *row, int n);

const row_kind launched_row = {{"launched", "its rank starts, when another one launches it", "", 0}, perform_launched, 0, 0};

static int perform_launched(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    if (!action_append(s, id, &launched_kind)) return SIM_OUT_OF_MEMORY;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &launched_row, .row = *row});
    return 0;
}

int sim_tell_launch(sim *s, int id, int first, int n)
{
    if (!is_timeline(&s->timelines, id) || first < 0 || n < 0 || n > s->timelines.n_ranks - first) return SIM_BAD_RANK;
    if (!is_watched(s)) return 0;
    tell_appended(s, id, &(appended_action){.kind = &launch_row, .row = {.peer = first, .detail = n}});
    for (int rank = first; rank < first + n; rank++)
        tell_appended(s, s->timelines.rank[rank].first_timeline, &(appended_action){.kind = &launched_row});
    return 0;
}
