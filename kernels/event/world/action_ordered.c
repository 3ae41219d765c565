#include <stdlib.h>

#include "basics/dates.h"
#include "world/cpus.h"
#include "world/actions.h"
#include "world/clock_events.h"
#include "world/performing.h"
#include "world/tell.h"

/* Operations of a rank that are ordered by what they require, on several timelines: work of the rank's one CPU, points that a
 * timeline reaches, and timelines that go on after another one has reached such a point. */

/* ---- work ---- */

/* Pieces of work, and the overheads of messages where these need the CPU, follow each other as they become ready. */
static int step_work(sim *s, int id, action *a)
{
    timeline *t = &s->timelines.at[id];
    const int rank = t->rank;
    int taken;
    if (cpu_from_s(s, rank) >= clock_same_date_s(&s->clock))
        return clock_events_sleep_until(s, id, cpu_from_s(s, rank), SPENT_OVERHEAD);
    while ((taken = cpu_takes_older(s, rank, t->ready)) > 0)
        if (cpu_from_s(s, rank) > s->clock.now_s) return clock_events_sleep_until(s, id, cpu_from_s(s, rank), SPENT_OVERHEAD);
    if (taken < 0) return taken;
    const double until_s = larger(s->clock.now_s, cpu_from_s(s, rank)) + a->sleep.seconds;
    action_end(s, id);
    cpu_load(s, rank, until_s);
    timeline_gets_ready(s, t);
    return until_s > s->clock.now_s ? clock_events_sleep_until(s, id, until_s, SPENT_COMPUTING) : FREE_OF_CHARGE;
}

static const action_kind work_kind = {.name = "work", .step = step_work, .nature = ACTION_TIME, .cpu_order = 3};

static int perform_work(sim *s, int id, const trace_action *row, int n);

const row_kind work_row = {
    {"work", "`amount` seconds of the one CPU of its rank, after what that has to do already; only in replays of GOAL", "",
     ROW_AMOUNT | ROW_SECONDS}, perform_work, 0, 0};

static int perform_work(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    action *a = action_append(s, id, &work_kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->sleep.seconds = row->amount;
    s->performing->is_ordered = 1;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = &work_row, .row = *row});
    return 0;
}

/* ---- order ---- */

enum { REACHED = -1 };           /* else 1 + a timeline that waits, or 0 */

/* Place of a point; NULL without memory. */
static int *point_at(sim *s, int64_t number)
{
    performing *p = s->performing;
    if (number >= p->point_room) {
        const size_t room = 2 * (size_t)number + 16;
        int *grown = realloc(p->point, room * sizeof *grown);
        if (!grown) return NULL;
        for (size_t i = (size_t)p->point_room; i < room; i++) grown[i] = 0;
        p->point = grown;
        p->point_room = (int)room;
    }
    return &p->point[number];
}

static int step_reach(sim *s, int id, action *a)
{
    int *point = point_at(s, a->mark.id);
    if (!point) return SIM_OUT_OF_MEMORY;
    int waiting = *point;
    *point = REACHED;
    action_end(s, id);
    while (waiting > 0) {
        const int next = s->performing->rank[waiting - 1].next_at_point;
        action_wake(s, waiting - 1);
        timeline_is_ready_with(&s->timelines.at[waiting - 1], &s->timelines.at[id]);
        waiting = next;
    }
    return FREE_OF_CHARGE;
}

static int step_after(sim *s, int id, action *a)
{
    int *point = point_at(s, a->mark.id);
    if (!point) return SIM_OUT_OF_MEMORY;
    if (*point == REACHED) {
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
    s->performing->rank[id].next_at_point = *point;
    *point = 1 + id;
    return action_block(s, id, SPENT_SLEEPING);
}

static void describe_after(const sim *s, const action *a, waiting *out)
{
    (void)s, (void)a;
    *out = (waiting){.kind = WAIT_PARKED};
}

static const action_kind reach_kind = {.name = "reach", .step = step_reach};
static const action_kind after_kind = {.name = "after", .step = step_after, .describe = describe_after};

static int append_point(sim *s, int id, const action_kind *kind, int number)
{
    if (number <= 0 || number > 1 << 29) return SIM_BAD_REQUEST;
    action *a = action_append(s, id, kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->mark.id = number;
    return 0;
}

static int perform_reach(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return append_point(s, id, &reach_kind, row->detail);
}

static int perform_after(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return append_point(s, id, &after_kind, row->detail);
}

const row_kind reach_row = {{"reach", "reaches a point, for timelines of any rank; only in replays of GOAL", "number of the point",
                             ROW_DETAIL}, perform_reach, 0, 0};
const row_kind after_row = {{"after", "goes on once a point is reached; only in replays of GOAL", "number of the point",
                             ROW_DETAIL}, perform_after, 0, 0};
