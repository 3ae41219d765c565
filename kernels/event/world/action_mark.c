#include <stdlib.h>

#include "world/tell.h"

/* Marks that a rank leaves at a date: a note for the outside, the end of the run, its own end. */

static int leave_note(sim *s, int id, action *a)
{
    const int64_t note = a->mark.id;
    action_end(s, id);
    if (s->n_notes == s->note_room) {
        int room = s->note_room ? 2 * s->note_room : 64;
        int64_t *grown = realloc(s->note, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->note = grown;
        s->note_room = room;
    }
    s->note[s->n_notes++] = note;
    return FREE_OF_CHARGE;
}

static int stop(sim *s, int id, action *a)
{
    s->stop_id = a->mark.id;
    s->is_stopped = 1;
    action_end(s, id);
    return BLOCKED;
}

static int end(sim *s, int id, action *a)
{
    (void)a;
    action_end(s, id);
    timeline_enter(s, id, ENDED, SPENT_OVERHEAD);
    return BLOCKED;
}

static const action_kind note_kind = {.name = "note", .step = leave_note, .keeps_tail = 1};
static const action_kind stop_kind = {.name = "stop", .step = stop, .keeps_tail = 1};
static const action_kind end_kind = {.name = "end", .step = end, .keeps_tail = 1};

static int perform_end(sim *s, int id, const trace_action *row, int n)
{
    (void)row, (void)n;
    return sim_append_end(s, id);
}

const row_kind end_row = {{"end", "the rank has ended", "", 0}, perform_end, 0, 0};

static int append(sim *s, int timeline, const action_kind *kind, int64_t id)
{
    if (!is_timeline(&s->timelines, timeline)) return SIM_BAD_RANK;
    action *a = action_append(s, timeline, kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->mark.id = id;
    return 0;
}

int sim_append_marker(sim *s, int timeline, int64_t id)
{
    return append(s, timeline, &note_kind, id);
}

int sim_append_stop(sim *s, int timeline, int64_t id)
{
    return append(s, timeline, &stop_kind, id);
}

int sim_append_end(sim *s, int timeline)
{
    const int error = append(s, timeline, &end_kind, 0);
    if (is_watched(s) && !error) tell_appended(s, timeline, &(appended_action){.kind = &end_row});
    return error;
}

int sim_notes(const sim *s, const int64_t **ids)
{
    *ids = s->note;
    return s->n_notes;
}

void sim_notes_done(sim *s)
{
    s->n_notes = 0;
}

int64_t sim_stop_id(const sim *s)
{
    return s->stop_id;
}
