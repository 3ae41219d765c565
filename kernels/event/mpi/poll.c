#include "mpi/poll.h"

#include <math.h>

#include "mpi/mpi_world.h"
#include "world/clock_events.h"
#include "world/tell.h"

enum { ROUNDS_MAX = 1000, ROUND_MAX = 256 };

/* Number of polls that the next one stands for. A poll that is asked only once does not delay the rounds of the next ones. */
static double stands_for(poll_state *p, const poll_question *asked)
{
    if (!p->first_asked.kind || ++p->n_in_round > ROUND_MAX) {
        p->first_asked = *asked;
        p->n_rounds = p->n_in_round = 0;
    } else if (poll_is_same(asked, &p->first_asked)) {
        p->n_rounds += p->n_rounds < ROUNDS_MAX;
        p->n_in_round = 0;
    }
    return (1.0 + p->n_rounds) * (1.0 + p->n_rounds);
}

int poll_spends(timeline *t)
{
    return timeline_probes_on(t) && t->n_sends_seen >= 0 ? SPENT_PROBING : SPENT_POLLING;
}

int poll_begin(sim *s, int id, const poll_question *asked, double each_s, int in_a_row)
{
    timeline *t = &s->timelines.at[id];
    const double now_s = s->clock.now_s;
    if (!mpi_of(s)->poll_costs.notice) return clock_events_sleep_until(s, id, now_s + in_a_row * each_s, poll_spends(t));
    t->has_polled = 1;
    t->poll.each_s = each_s;
    t->poll.since_s = now_s;
    return clock_events_sleep_until(s, id, now_s + each_s * stands_for(&t->poll, asked), poll_spends(t));
}

void poll_end(sim *s, int id, const poll_question *asked, int *in_a_row, int is_success, int grows)
{
    timeline *t = &s->timelines.at[id];
    poll_state *p = &t->poll;
    t->has_polled = 1;
    tell_polled(s, id, asked, is_success);
    *in_a_row = is_success ? 1 : *in_a_row + grows;
    p->in_vain = is_success ? (poll_question){0} : *asked;
    if (is_success) p->first_asked.kind = NULL;
}

void poll_forget(sim *s, int id, int is_progress)
{
    timeline *t = &s->timelines.at[id];
    t->poll.first_asked.kind = NULL;
    if (!is_progress) return;
    tell_polled(s, id, NULL, 0);
    t->poll.in_vain.kind = NULL;
    t->has_polled = 0;
}

int poll_await(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    t->poll.is_awaiting = 1;
    mpi_of(s)->polling.n_awaiting++;
    return action_block(s, id, poll_spends(t));
}

void poll_notice(sim *s, int rank)
{
    if (!mpi_of(s)->poll_costs.notice && !mpi_of(s)->polling.n_awaiting) return;
    for (int id = s->timelines.rank[rank].first_timeline; id >= 0; id = s->timelines.at[id].next_of_rank) {
        poll_state *p = &s->timelines.at[id].poll;
        if (p->is_awaiting && s->timelines.at[id].state == WAITING) {
            p->is_awaiting = 0;
            mpi_of(s)->polling.n_awaiting--;
            action_wake(s, id);
        }
        if (!s->timelines.at[id].has_polled) continue;
        p->first_asked.kind = NULL;
        if (p->each_s <= 0) continue;
        const double n_over = ceil((s->clock.now_s - p->since_s) / p->each_s - 1e-9); /* one that ends now sees it */
        clock_events_end_by(s, id, p->since_s + fmax(n_over, 1) * p->each_s);
    }
}
