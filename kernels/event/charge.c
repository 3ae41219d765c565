#include "charge.h"

#include "blame.h"
#include "world.h"

void charge(sim *s, timeline *t, const held_time *time, double seconds, int other)
{
    if (time->account) s->accounts.at[time->account].spent_s[time->kind] += seconds;
    if (s->trace) trace_interval_of(s, t->rank, time, other);
    if (time->kind >= SPENT_TRANSFER)
        blame_blocked(s, t->rank, time, other);
    else
        blame_free(s, t->rank, time);
    if (other >= 0) s->timelines.rank[other].kept_waiting_s += seconds;
}
