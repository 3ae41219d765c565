#include "actions.h"
#include "elapse.h"
#include "world.h"

/* Sleeps, and overheads inside MPI: time that loads no core. */

static const double SHORTEST_S = 1e-9;

static int step(sim *s, int id, action *a)
{
    const double until_s = s->clock.now_s + a->sleep.seconds;
    const int spends = a->sleep.spent_on;
    action_end(s, id);
    return elapse_sleep_until(s, id, until_s, spends);
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

static int append_told(sim *s, int id, double seconds, int spends)
{
    const int error = append(s, id, seconds, spends);
    const int what = spends == SPENT_SLEEPING ? DID_SLEEP : DID_OVERHEAD;
    if (s->trace && !error && seconds > 0) trace_amount(s, id, what, fmax(seconds, SHORTEST_S), 0);
    return error;
}

int sleep_append_overhead(sim *s, int id, double seconds)
{
    return append(s, id, seconds, SPENT_OVERHEAD);
}

int sim_append_sleep(sim *s, int id, double seconds)
{
    return append_told(s, id, seconds, SPENT_SLEEPING);
}

int sim_append_overhead(sim *s, int id, double seconds)
{
    return append_told(s, id, seconds, SPENT_OVERHEAD);
}

int sim_extend_overhead(sim *s, int id, double seconds)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    timeline *t = &s->timelines.at[id];
    action *last = t->n ? &t->queue[(t->first + t->n - 1) & (t->room - 1)] : NULL;
    if (last && last->kind == &kind && last->sleep.spent_on == SPENT_OVERHEAD && seconds > 0) {
        if (s->trace) trace_more_overhead(s, id, fmax(seconds, SHORTEST_S));
        return lengthen(s, id, last, seconds, SPENT_OVERHEAD);
    }
    return sim_append_overhead(s, id, seconds);
}
