#include <math.h>

#include "world/clock_events.h"
#include "world/tell.h"

/* Parking: a timeline stands until another one wakes it, or until a date. */

enum { NEW = 0, PARKED = 1, WOKEN = 2 };

static int answer(sim *s, int id, int is_woken)
{
    s->timelines.at[id].answer = is_woken;
    action_end(s, id);
    return FREE_OF_CHARGE;
}

static int step(sim *s, int id, action *a)
{
    const double until_s = a->park.until_s;
    if (a->stage != NEW) return answer(s, id, a->stage == WOKEN);
    if (until_s <= s->clock.now_s) return answer(s, id, 0);
    a->stage = PARKED;
    return isinf(until_s) ? action_block(s, id, a->park.spent_on) : clock_events_sleep_until_woken(s, id, until_s, SPENT_SLEEPING);
}

static void describe(const sim *s, const action *a, waiting *out)
{
    (void)s;
    if (isinf(a->park.until_s)) *out = (waiting){.kind = WAIT_PARKED};
}

static const action_kind kind = {.name = "park", .step = step, .describe = describe};

static int append(sim *s, int id, double until_s, int spends)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->park.until_s = until_s;
    a->park.spent_on = spends;
    return 0;
}

int sim_append_park(sim *s, int id, double until_s)
{
    return append(s, id, until_s, SPENT_SLEEPING);
}

int sim_append_gather(sim *s, int id)
{
    return append(s, id, INFINITY, SPENT_SKIPPED);
}

int sim_wake(sim *s, int id)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    timeline *t = &s->timelines.at[id];
    action *a = t->n ? timeline_first(t) : NULL;
    if (!a || a->kind != &kind || a->stage != PARKED || (t->state != WAITING && t->state != ASLEEP)) return SIM_BAD_REQUEST;
    a->stage = WOKEN;
    tell_woken(s, id, s->running);
    if (t->state == WAITING)
        action_wake(s, id);
    else
        clock_events_wake(s, id);
    return 0;
}

int sim_is_idle(const sim *s, int id)
{
    return !s->timelines.at[id].n;
}
