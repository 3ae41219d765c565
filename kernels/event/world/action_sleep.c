#include "world/actions.h"
#include "world/clock_events.h"
#include "world/tell.h"

/* Sleeps, overheads inside MPI, and skipped iterations: time that loads no core. */

static const double SHORTEST_S = 1e-9;

static int step(sim *s, int id, action *a)
{
    const double until_s = s->clock.now_s + a->sleep.seconds;
    const int spends = a->sleep.spent_on;
    action_end(s, id);
    return clock_events_sleep_until(s, id, until_s, spends);
}

static const action_kind kind = {.name = "sleep", .step = step, .nature = ACTION_TIME, .keeps_tail = 1};

static int lengthen(sim *s, int id, action *a, double seconds, int spends)
{
    if (!a) return SIM_OUT_OF_MEMORY;
    if (seconds < SHORTEST_S) seconds = SHORTEST_S;
    a->sleep.spent_on = spends;
    a->sleep.seconds += seconds;
    s->timelines.at[id].tail_s += seconds;
    s->timelines.at[id].earliest_tail_s += seconds;
    return 0;
}

static int append(sim *s, int id, double seconds, int spends)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    return seconds > 0 ? lengthen(s, id, action_append(s, id, &kind), seconds, spends) : 0;
}

static int perform_sleep(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_sleep(s, id, row->amount);
}

static int perform_overhead(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return row->detail ? sim_extend_overhead(s, id, row->amount) : sim_append_overhead(s, id, row->amount);
}

static int perform_skip(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_skip(s, id, row->amount, row->amount);
}

const row_kind sleep_row = {{"sleep", "`amount` seconds", "", ROW_AMOUNT | ROW_SECONDS}, perform_sleep, 0, 0};
const row_kind overhead_row = {{"overhead", "`amount` seconds inside MPI", "1: of the overhead before it",
                                ROW_AMOUNT | ROW_SECONDS | ROW_DETAIL | ROW_ADDS}, perform_overhead, 0, 0};

const row_kind skip_row = {{"skip", "`amount` seconds, for iterations that were not performed", "", ROW_AMOUNT | ROW_SECONDS},
                           perform_skip, 0, 0};

static void tell(sim *s, int id, const row_kind *kind, double seconds, int adds)
{
    const trace_action row = {.amount = fmax(seconds, SHORTEST_S), .detail = adds};
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = kind, .row = row});
}

int sleep_append_overhead(sim *s, int id, double seconds)
{
    return append(s, id, seconds, SPENT_OVERHEAD);
}

int sim_append_sleep(sim *s, int id, double seconds)
{
    const int error = append(s, id, seconds, SPENT_SLEEPING);
    if (!error && seconds > 0) tell(s, id, &sleep_row, seconds, 0);
    return error;
}

int sim_append_skip(sim *s, int id, double whole_s, double rest_s)
{
    const int error = append(s, id, rest_s, SPENT_SKIPPED);
    if (!error && whole_s > 0) tell(s, id, &skip_row, whole_s, 0);
    return error;
}

int sim_append_overhead(sim *s, int id, double seconds)
{
    const int error = append(s, id, seconds, SPENT_OVERHEAD);
    if (!error && seconds > 0) tell(s, id, &overhead_row, seconds, 0);
    return error;
}

int sim_extend_overhead(sim *s, int id, double seconds)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    timeline *t = &s->timelines.at[id];
    action *last = t->n ? &t->queue[(t->first + t->n - 1) & (t->room - 1)] : NULL;
    if (last && last->kind == &kind && last->sleep.spent_on == SPENT_OVERHEAD && seconds > 0) {
        tell(s, id, &overhead_row, seconds, 1);
        return lengthen(s, id, last, seconds, SPENT_OVERHEAD);
    }
    return sim_append_overhead(s, id, seconds);
}
