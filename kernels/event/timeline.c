#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* The program's side of a timeline: what a rank appends. Only sends and receives cost memory beyond their action.
 *
 * tail_s is the date at which everything appended so far will have been executed, as long as that is plain arithmetic
 * (sleeps, computing on a core of one's own, posting); whatever waits makes it unknown until the rank runs again.
 * earliest_tail_s is the same sum, with a core for each computation and nothing for a wait. */

enum { MOST_ACTIONS_AHEAD = 256 };
static const int64_t MOST_BYTES_AHEAD = 4 << 20, MOST_BYTES_COPIED = 256 << 20;
static const double SHORTEST_SLEEP_S = 1e-9;

action *timeline_append(sim *s, int rank, int what)
{
    timeline *t = &s->line[rank];
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
    *a = (action){.what = what};
    return a;
}

void timeline_drop_first(timeline *t)
{
    t->first = (t->first + 1) & (t->room - 1);
    t->n--;
    t->stage = 0;
}

int sim_append_compute(sim *s, int rank, double flop)
{
    if (!is_line(s, rank)) return SIM_BAD_RANK;
    timeline *t = &s->line[rank];
    const processor *h = &s->host[t->host];
    if (!(flop > 0)) return 0;
    action *a = timeline_append(s, rank, DO_COMPUTE);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->with.amount = flop;
    t->earliest_tail_s += flop / h->speed_flop_per_s;
    t->tail_s += h->n_ranks <= h->cores ? flop / h->speed_flop_per_s : NAN;
    return 0;
}

static int pause_in(sim *s, int rank, action *a, double seconds, int spends)
{
    if (!a) return SIM_OUT_OF_MEMORY;
    if (seconds < SHORTEST_SLEEP_S) seconds = SHORTEST_SLEEP_S;
    a->id = spends;
    a->with.amount += seconds;
    s->line[rank].tail_s += seconds;
    s->line[rank].earliest_tail_s += seconds;
    return 0;
}

static int append_pause(sim *s, int rank, double seconds, int spends)
{
    if (!is_line(s, rank)) return SIM_BAD_RANK;
    return seconds > 0 ? pause_in(s, rank, timeline_append(s, rank, DO_SLEEP), seconds, spends) : 0;
}

int sim_append_sleep(sim *s, int rank, double seconds)
{
    return append_pause(s, rank, seconds, SPENT_SLEEPING);
}

int sim_append_overhead(sim *s, int rank, double seconds)
{
    return append_pause(s, rank, seconds, SPENT_OVERHEAD);
}

int sim_extend_overhead(sim *s, int rank, double seconds)
{
    if (!is_line(s, rank)) return SIM_BAD_RANK;
    const timeline *t = &s->line[rank];
    action *last = t->n ? &t->queue[(t->first + t->n - 1) & (t->room - 1)] : NULL;
    if (last && last->what == DO_SLEEP && last->id == SPENT_OVERHEAD && seconds > 0)
        return pause_in(s, rank, last, seconds, SPENT_OVERHEAD);
    return sim_append_overhead(s, rank, seconds);
}

static int append_mark(sim *s, int rank, int what, int64_t id)
{
    if (!is_line(s, rank)) return SIM_BAD_RANK;
    action *a = timeline_append(s, rank, what);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->with.note = id;
    return 0;
}

int sim_append_note(sim *s, int rank, int64_t id)
{
    return append_mark(s, rank, DO_NOTE, id);
}

int sim_append_stop(sim *s, int rank, int64_t id)
{
    return append_mark(s, rank, DO_STOP, id);
}

int sim_append_end(sim *s, int rank)
{
    return append_mark(s, rank, DO_END, 0);
}

int sim_is_far_ahead(const sim *s, int rank)
{
    const timeline *t = &s->line[rank];
    return t->n >= MOST_ACTIONS_AHEAD || t->ahead_bytes > MOST_BYTES_AHEAD ||
           (t->n > 0 && s->stats.copied_bytes > MOST_BYTES_COPIED);
}

double sim_clock_s(const sim *s, int rank)
{
    return s->line[rank].tail_s;
}

double sim_earliest_clock_s(const sim *s, int rank)
{
    return s->line[rank].earliest_tail_s;
}

double sim_speed_flop_per_s(const sim *s, int rank)
{
    return s->host[s->line[rank].host].speed_flop_per_s;
}
