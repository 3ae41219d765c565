#include "watchers/blame.h"

#include <math.h>

#include "basics/dates.h"
#include "watchers/account.h"

static int has_one_timeline(const sim *s, const rank_state *r)
{
    return r->first_timeline >= 0 && s->timelines.at[r->first_timeline].next_of_rank < 0;
}

static double overlap_s(double start_s, double end_s, double since_s, double until_s)
{
    return larger(smaller(end_s, until_s) - larger(start_s, since_s), 0);
}

/* Upper bound of the time that the rank waited for others from since_s to until_s. */
static double waited_at_most_s(const sim *s, const rank_state *r, double since_s, double until_s)
{
    const timeline *t = &s->timelines.at[r->first_timeline];
    const double open_s = t->row.n ? t->row.held[0].start_s : t->spends == SPENT_WAITING ? t->since_s : INFINITY;
    double before_s = 0, after_s = 0;
    for (int i = 0; i < 2; i++) {
        const past_wait *w = &r->waited[i];
        after_s += overlap_s(w->start_s, w->end_s, until_s, INFINITY);
        if (w->start_s <= since_s) before_s = larger(before_s, w->earlier_s + overlap_s(w->start_s, w->end_s, 0, since_s));
    }
    return larger(r->waited_s - before_s - after_s, 0) + larger(until_s - open_s, 0);
}

/* Lower bound of the time with a label from since_s to until_s, in a run of the other rank that ended at end_s. */
static double label_s(const own_run *run, double end_s, uint64_t label, double since_s, double until_s)
{
    if (run->label != label) return 0;
    return larger(run->label_s - larger(since_s - run->since_s, 0) - larger(end_s - until_s, 0), 0);
}

/* Lower bound of the share of a wait that the other rank's own delays cause. */
static double own_share(const sim *s, const rank_state *mine, const rank_state *other, const past_wait *wait)
{
    const double waited_s = waited_at_most_s(s, other, mine->run.since_s, wait->end_s);
    return larger(1 - waited_s / (wait->end_s - wait->start_s), 0);
}

/* Sets the cause of a wait to that of the other rank's own waits, and the share to a lower bound; else changes nothing. */
static void pass_on(const sim *s, const rank_state *mine, const rank_state *other, past_wait *wait)
{
    const double since_s = mine->run.since_s, until_s = wait->end_s;
    double late_s = 0;
    for (int i = 0; i < 2; i++) {
        const past_wait *w = &other->waited[i];
        const double length_s = (double)w->share * overlap_s(w->start_s, w->end_s, since_s, until_s);
        if (!(length_s > 0) || (late_s > 0 && w->cause != wait->cause)) continue;
        wait->cause = w->cause;
        late_s += length_s;
    }
    if (!(late_s > 0)) return;
    double alike_s = label_s(&other->run, s->clock.now_s, mine->run.label, since_s, until_s);
    for (int i = 0; i < 2; i++)
        alike_s += label_s(&other->waited[i].before, other->waited[i].start_s, mine->run.label, since_s, until_s);
    wait->share = (float)smaller(late_s / (until_s - since_s - smaller(mine->run.label_s, alike_s)), 1);
}

static void add_share(sim *s, int rank, double share, const past_wait *wait)
{
    if (share > 0) s->timelines.rank[rank].caused_s += share * (wait->end_s - wait->start_s);
}

/* Finds the rank that a wait is due to. */
static void blame_wait(sim *s, const rank_state *mine, int other, past_wait *wait)
{
    const rank_state *o = other < 0 ? NULL : &s->timelines.rank[other];
    if (!o || o == mine || !has_one_timeline(s, mine) || !has_one_timeline(s, o)) return;
    const double own = own_share(s, mine, o, wait);
    pass_on(s, mine, o, wait);
    add_share(s, other, own, wait);
    if (wait->cause >= 0) add_share(s, wait->cause, smaller((double)wait->share, 1 - own), wait);
    if (own < (double)wait->share) return;
    wait->cause = other;
    wait->share = (float)own;
}

/* Remembers a wait; one that begins where the last one ended, as in a row of polls, makes that longer. */
static void keep(rank_state *r, const past_wait *wait)
{
    past_wait *last = &r->waited[0];
    if (last->end_s == wait->start_s && last->end_s > 0 && last->cause == wait->cause) {
        last->end_s = wait->end_s;
        last->share = last->share < wait->share ? last->share : wait->share;
        return;
    }
    const double length_s = last->end_s - last->start_s;
    r->fading_s *= 0.5;
    if (length_s >= r->fading_s) {
        r->fading_s = length_s;
        r->waited[1] = *last;
    }
    *last = *wait;
}

void blame_free(sim *s, int rank, const held_time *time)
{
    own_run *run = &s->timelines.rank[rank].run;
    if (!time->account) return;
    const call_account *a = &accounts_of(s)->at[time->account];
    const double seconds = time->end_s - time->start_s;
    const uint64_t label = ((uint64_t)(uint32_t)a->line << 32 | (uint32_t)a->call << 4 | (uint32_t)time->kind) + 1;
    if (label == run->label) {
        run->label_s += seconds;
    } else if (seconds > run->label_s) {
        run->label = label;
        run->label_s = seconds;
    }
}

void blame_blocked(sim *s, int rank, const held_time *time, int other)
{
    rank_state *r = &s->timelines.rank[rank];
    if (time->kind >= SPENT_LATE_SENDER) {
        past_wait wait = {.start_s = time->start_s, .end_s = time->end_s, .earlier_s = r->waited_s, .before = r->run, .cause = -1};
        blame_wait(s, r, other, &wait);
        keep(r, &wait);
        r->waited_s += wait.end_s - wait.start_s;
    }
    r->run = (own_run){.since_s = time->end_s};
}
