#include "watchers/charge.h"

#include "watchers/account.h"
#include "watchers/blame.h"
#include "watchers/trace.h"

void charge(sim *s, timeline *t, const held_time *time, double seconds, int other)
{
    accounts *all = accounts_of(s);
    if (time->kind == SPENT_SKIPPED) {
        s->timelines.rank[t->rank].skipped_s += seconds;
        if (all->trace) trace_interval_of(s, t, time, -1);
        return;
    }
    if (time->account) all->at[time->account].spent_s[time->kind] += seconds;
    if (other >= 0) s->timelines.rank[other].kept_waiting_s += seconds;
    if (all->trace) trace_interval_of(s, t, time, other);
    if (!timeline_is_first(t)) return; /* a rank's own time has no gaps and no overlaps */
    if (time->kind >= SPENT_TRANSFER)
        blame_blocked(s, t->rank, time, other);
    else
        blame_free(s, t->rank, time);
}
