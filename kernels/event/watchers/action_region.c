#include "watchers/trace.h"
#include "world/tell.h"

/* Regions of the program, which only a trace knows. */

static int step(sim *s, int id, action *a)
{
    const int64_t mark = a->mark.id;
    action_end(s, id);
    trace_region(s, id, (int)(mark >> 1), (int)(mark & 1));
    return FREE_OF_CHARGE;
}

static const action_kind kind = {.name = "region", .step = step, .nature = ACTION_NOTHING, .keeps_tail = 1};

static int perform_begin(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_region(s, id, row->detail, 1);
}

static int perform_end(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_region(s, id, row->detail, 0);
}

static const char WHICH[] = "row of `names` in run.json";

const row_kind begin_region_row = {{"begin_region", "begins a region", WHICH, ROW_DETAIL}, perform_begin, 0, 0};
const row_kind end_region_row = {{"end_region", "ends it", WHICH, ROW_DETAIL}, perform_end, 0, 0};

int sim_append_region(sim *s, int id, int region, int is_begin)
{
    if (region < 0) return SIM_BAD_SIZE;
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->mark.id = 2 * (int64_t)region + !!is_begin;
    const row_kind *row = is_begin ? &begin_region_row : &end_region_row;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = row, .row = {.detail = region}});
    return 0;
}
