#include "world/cpus.h"

#include "basics/dates.h"
#include "world/world.h"

int cpus_are_used(const sim *s)
{
    return s->network.kind->sends_from_s != NULL;
}

double cpu_sends_from_s(const sim *s, int rank)
{
    const network *n = &s->network;
    return larger(cpu_from_s(s, rank), n->kind->sends_from_s(s, n->state, s->timelines.rank[rank].host));
}

void cpu_may_idle(sim *s, int rank)
{
    if (!s->network.kind->idles || !cpu_idles(s, rank)) return;
    const int error = s->network.kind->idles(s, s->network.state, rank);
    if (error < 0) keep_error(s, error);
}

int cpu_takes_older(sim *s, int rank, int64_t order)
{
    const network *n = &s->network;
    return order && n->kind->take_older ? n->kind->take_older(s, n->state, rank, order) : 0;
}

/* Blocked, polling, or asleep until its host's interface takes its next message. */
static int timeline_idles(const timeline *t)
{
    if (t->state == ASLEEP) return t->waits_for_interface || t->spends == SPENT_POLLING || t->spends == SPENT_PROBING;
    return t->state == WAITING || t->state == ENDED;
}

int cpu_idles(const sim *s, int rank)
{
    for (int id = s->timelines.rank[rank].first_timeline; id >= 0; id = s->timelines.at[id].next_of_rank)
        if (!timeline_idles(&s->timelines.at[id])) return 0;
    return 1;
}

double cpu_from_s(const sim *s, int rank)
{
    return s->timelines.rank[rank].cpu_from_s;
}

void cpu_load(sim *s, int rank, double until_s)
{
    s->timelines.rank[rank].cpu_from_s = until_s;
}

const rank_cpus cpus_of_ranks = {cpu_idles, cpu_from_s, cpu_load};
