#include "perform.h"

#include <stdlib.h>

static int leave_note(sim *s, int64_t id)
{
    if (s->n_notes == s->note_room) {
        int room = s->note_room ? 2 * s->note_room : 64;
        int64_t *note = realloc(s->note, (size_t)room * sizeof *note);
        if (!note) return SIM_OUT_OF_MEMORY;
        s->note = note;
        s->note_room = room;
    }
    s->note[s->n_notes++] = id;
    return FREE_OF_CHARGE;
}

int perform(sim *s, int line)
{
    timeline *t = &s->line[line];
    action a = *first_action(t);
    if (!is_poll(a.what)) t->first_asked.what = DO_COMPUTE;
    if (!is_poll(a.what) && a.what != DO_COMPUTE && a.what != DO_SLEEP) {
        t->in_vain.what = DO_COMPUTE;
        s->stats.progress++;
    }
    switch (a.what) {
    case DO_COMPUTE:
        if (t->stage++ < STARTED) return MADE_A_CALL;
        timeline_drop_first(t);
        return compute(s, line, a.with.amount, SPENT_COMPUTING);
    case DO_SLEEP: timeline_drop_first(t); return sleep_until(s, line, s->now_s + a.with.amount, a.id);
    case DO_POST: {
        timeline_drop_first(t);
        int error = post(s, a.id);
        return error < 0 ? error : MADE_A_CALL;
    }
    case DO_WAIT: return wait_for(s, line, &a.id, 1);
    case DO_WAIT_ALL: return wait_for(s, line, a.with.list, a.id);
    case DO_WAIT_ANY: return wait_for_any(s, line, a.with.list, a.id);
    case DO_WAIT_GROUP: return wait_for_group(s, line, a.id);
    case DO_TEST: return test_one(s, line, a.id);
    case DO_TEST_ANY: return test_any(s, line, &a);
    case DO_TEST_GROUP: return test_group(s, line, a.id);
    case DO_IPROBE:
    case DO_PROBE:
    case DO_IMPROBE:
    case DO_MPROBE:
    case DO_GET_STATUS: return look(s, line);
    case DO_CANCEL: timeline_drop_first(t); return cancel(s, a.id);
    case DO_COLLECTIVE: return show(s, line);
    case DO_NOTE: timeline_drop_first(t); return leave_note(s, a.with.note);
    case DO_STOP:
        timeline_drop_first(t);
        s->is_stopped = 1;
        s->stop_id = a.with.note;
        return BLOCKED;
    default: /* DO_END */
        timeline_drop_first(t);
        timeline_enters(s, t, ENDED, SPENT_OVERHEAD);
        s->finish_s[line] = s->now_s;
        s->n_ended++;
        return BLOCKED;
    }
}
