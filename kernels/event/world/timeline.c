#include "world/timeline.h"

#include <math.h>
#include <stdlib.h>

#include "basics/cache_lines.h"
#include "basics/reserve.h"
#include "basics/sort.h"
#include "world/cpus.h"
#include "world/performing.h"
#include "world/tell.h"

int timelines_init(timelines *all, int n_ranks)
{
    const size_t n = n_ranks > 0 ? (size_t)n_ranks : 1;
    *all = (timelines){.room = (int)n, .rank_room = (int)n};
    all->at = cache_lines_grow(&all->memory, NULL, 0, n * sizeof *all->at);
    all->rank = cache_lines_grow(&all->rank_memory, NULL, 0, n * sizeof *all->rank);
    all->turn = malloc(n * sizeof *all->turn);
    all->next_turn = malloc(n * sizeof *all->next_turn);
    return all->at && all->rank && all->turn && all->next_turn ? 0 : SIM_OUT_OF_MEMORY;
}

void timelines_free(sim *s)
{
    timelines *all = &s->timelines;
    for (int id = 0; id < all->n; id++) {
        timeline *t = &all->at[id];
        for (int i = 0; i < t->n; i++) {
            action *a = &t->queue[(t->first + i) & (t->room - 1)];
            if (a->kind->free) a->kind->free(s, a);
        }
        free(t->queue);
    }
    free(all->memory);
    free(all->rank_memory);
    free(all->sorted);
    free(all->turn);
    free(all->next_turn);
}

int timeline_rank_new(sim *s, int host)
{
    timelines *all = &s->timelines;
    if (all->n_ranks == all->rank_room) {
        const size_t used = (size_t)all->n_ranks * sizeof *all->rank;
        rank_state *grown = cache_lines_grow(&all->rank_memory, all->rank, used, 2 * used);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->rank = grown;
        all->rank_room *= 2;
    }
    all->rank[all->n_ranks] = (rank_state){.host = host, .first_timeline = -1, .finish_s = NAN, .run = {.since_s = s->clock.now_s}};
    return all->n_ranks++;
}

static int make_room(timelines *all)
{
    const size_t room = 2 * (size_t)all->room;
    timeline *at = cache_lines_grow(&all->memory, all->at, (size_t)all->n * sizeof *at, room * sizeof *at);
    if (at) all->at = at;
    int *turn = realloc(all->turn, room * sizeof *turn);
    if (turn) all->turn = turn;
    int *next_turn = realloc(all->next_turn, room * sizeof *next_turn);
    if (next_turn) all->next_turn = next_turn;
    if (!at || !turn || !next_turn) return SIM_OUT_OF_MEMORY;
    all->room = (int)room;
    return 0;
}

int timeline_new(sim *s, int rank)
{
    timelines *all = &s->timelines;
    if (all->n == all->room && make_room(all) < 0) return SIM_OUT_OF_MEMORY;
    rank_state *of = &all->rank[rank];
    host *h = &s->hosts.at[of->host];
    const double now_s = s->clock.now_s;
    all->at[all->n] = (timeline){.rank = rank, .host = of->host, .next_of_rank = of->first_timeline,
                                 .next_of_host = h->first_timeline, .since_s = now_s, .met_s = INFINITY, .tail_s = now_s,
                                 .earliest_tail_s = now_s, .spends = SPENT_OVERHEAD, .late_rank = -1, .n_sends_seen = -1};
    h->n_ranks += of->first_timeline < 0;
    h->first_timeline = of->first_timeline = all->n;
    of->n_live++;
    of->finish_s = NAN;
    return all->n++;
}

/* ---- its queue ---- */

action *action_append(sim *s, int id, const action_kind *kind)
{
    timeline *t = &s->timelines.at[id];
    if (t->n == t->room) {
        int room = t->room ? 2 * t->room : 4;
        action *queue = malloc((size_t)room * sizeof *queue);
        if (!queue) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        for (int i = 0; i < t->n; i++) queue[i] = t->queue[(t->first + i) & (t->room - 1)];
        free(t->queue);
        t->queue = queue;
        t->first = 0;
        t->room = room;
    }
    action *a = &t->queue[(t->first + t->n++) & (t->room - 1)];
    *a = (action){.kind = kind, .account = t->account_at_tail};
    if (!kind->keeps_tail) t->tail_s = NAN;
    return a;
}

void action_end(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    action *a = timeline_first(t);
    t->first = (t->first + 1) & (t->room - 1);
    t->n--;
    if (a->kind->free) a->kind->free(s, a);
}

/* ---- its state ---- */

void timeline_gets_ready(sim *s, timeline *t)
{
    if (!performing_is_ordered(s->performing)) return;
    t->ready = s->order++;
    t->ready_s = cpu_from_s(s, t->rank);
}

void timeline_is_ready_with(timeline *t, const timeline *other)
{
    t->ready = other->ready;
    t->ready_s = other->ready_s;
}

void timeline_enter(sim *s, int id, int state, int spends)
{
    timeline *t = &s->timelines.at[id];
    if (t->is_dropped) return;
    tell_entered(s, id, state);
    if (t->state == WAITING) timeline_gets_ready(s, t);
    t->state = state;
    t->spends = spends;
    if (state == ENDED) {
        rank_state *rank = &s->timelines.rank[t->rank];
        s->timelines.n_ended++;
        if (--rank->n_live == 0) rank->finish_s = s->clock.now_s;
    }
    if (s->network.kind->idles && state != AWAKE) cpu_may_idle(s, t->rank);
}

/* ---- turns ---- */

void timeline_runs_next(sim *s, int id)
{
    timeline_enter(s, id, AWAKE, SPENT_OVERHEAD);
    if (s->timelines.at[id].is_dropped) return;
    s->timelines.next_turn[s->timelines.n_next_turn++] = id;
}

int sim_drop(sim *s, int id)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    timeline *t = &s->timelines.at[id];
    if (t->state != ENDED) timeline_enter(s, id, ENDED, SPENT_OVERHEAD);
    t->is_dropped = 1;
    return 0;
}

int action_block(sim *s, int id, int spends)
{
    timeline_enter(s, id, WAITING, spends);
    return BLOCKED;
}

void action_wake(sim *s, int id)
{
    timeline_runs_next(s, id);
}

static int was_ready_first(const void *x, const void *y)
{
    const ready_turn *a = x, *b = y;
    if (a->ready != b->ready) return a->ready < b->ready ? -1 : 1;
    return a->cpu_order != b->cpu_order ? a->cpu_order - b->cpu_order : a->timeline - b->timeline;
}

/* Sorts turns by when their operations became ready; of those that did together, sends are before receives, these before work. */
static void sort_turns(sim *s)
{
    timelines *all = &s->timelines;
    void *list = all->sorted;
    const int error = reserve(&list, &all->sorted_room, all->n_turn, sizeof *all->sorted);
    all->sorted = list;
    keep_error(s, error);
    if (error) return;
    for (int i = 0; i < all->n_turn; i++) {
        const timeline *t = &all->at[all->turn[i]];
        all->sorted[i] = (ready_turn){t->ready, t->n ? t->queue[t->first].kind->cpu_order : 0, all->turn[i]};
    }
    sort_nearly(all->sorted, all->n_turn, sizeof *all->sorted, was_ready_first);
    for (int i = 0; i < all->n_turn; i++) all->turn[i] = all->sorted[i].timeline;
}

int timeline_next_turn(sim *s)
{
    timelines *all = &s->timelines;
    int *turn = all->turn;
    all->turn = all->next_turn;
    all->next_turn = turn;
    all->n_turn = all->n_next_turn;
    all->at_turn = all->n_next_turn = 0;
    if (all->n_turn > 1 && performing_is_ordered(s->performing)) sort_turns(s);
    return all->n_turn;
}

/* ---- queries from outside ---- */

int sim_rank_of(const sim *s, int id)
{
    return is_timeline(&s->timelines, id) ? s->timelines.at[id].rank : SIM_BAD_RANK;
}

int sim_host_of(const sim *s, int rank)
{
    return rank >= 0 && rank < s->timelines.n_ranks ? s->timelines.rank[rank].host : SIM_BAD_RANK;
}

int64_t sim_answer(const sim *s, int id)
{
    return s->timelines.at[id].answer;
}

double sim_clock_s(const sim *s, int id)
{
    return s->timelines.at[id].tail_s;
}

double sim_earliest_clock_s(const sim *s, int id)
{
    return s->timelines.at[id].earliest_tail_s;
}

void sim_finish_s(const sim *s, double *finish_s)
{
    for (int rank = 0; rank < s->timelines.n_ranks; rank++) finish_s[rank] = s->timelines.rank[rank].finish_s;
}

#ifdef SMPY_CHECK
#include <assert.h>

static int has_turn(const timeline *t)
{
    return t->state == AWAKE || t->is_dropped;
}

void timelines_check(const sim *s)
{
    const timelines *all = &s->timelines;
    int n_ended = 0;
    for (int id = 0; id < all->n; id++) {
        const timeline *t = &all->at[id];
        assert(t->n >= 0 && t->n <= t->room && (t->room & (t->room - 1)) == 0);
        assert(t->rank >= 0 && t->rank < all->n_ranks);
        assert(t->state != ENDED || t->n == 0 || t->is_dropped);
        assert(t->since_s <= s->clock.now_s);
        for (int i = 1; i < t->n; i++) assert(t->queue[(t->first + i) & (t->room - 1)].stage == 0);
        n_ended += t->state == ENDED;
    }
    assert(n_ended == all->n_ended);
    for (int i = all->at_turn; i < all->n_turn; i++) assert(has_turn(&all->at[all->turn[i]]));
    for (int i = 0; i < all->n_next_turn; i++) assert(has_turn(&all->at[all->next_turn[i]]));
    for (int rank = 0; rank < all->n_ranks; rank++) {
        int n_live = 0;
        for (int id = all->rank[rank].first_timeline; id >= 0; id = all->at[id].next_of_rank) {
            assert(all->at[id].rank == rank);
            n_live += all->at[id].state != ENDED;
        }
        assert(n_live == all->rank[rank].n_live);
    }
    for (int h = 0; h < s->hosts.n; h++) {
        int n_ranks = 0;
        for (int id = s->hosts.at[h].first_timeline; id >= 0; id = all->at[id].next_of_host)
            n_ranks += all->at[id].host == h && all->at[id].next_of_rank < 0;
        assert(n_ranks == s->hosts.at[h].n_ranks);
    }
}
#endif
