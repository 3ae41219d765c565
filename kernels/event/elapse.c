#include "perform.h"

/* Sleeps, and executions on a core.
 *
 * The peer's order of those that end at one date: first what was scheduled at an earlier date; of one date, sleeps before
 * executions, the newest sleep first. A host's executions are scheduled again whenever something begins or ends on it (an
 * execution, a sleep, the wait for one request), all at once and the newest first; hosts in the order this first happened,
 * where a host on which nothing is left under way has lost its place. (The end of a sleep or of a wait changes no shares: it
 * is not a reason for a place.) */

void runs_next(sim *s, int line)
{
    timeline_enters(s, &s->line[line], AWAKE, SPENT_OVERHEAD);
    s->next_turn[s->n_next_turn++] = line;
}

static void touch(sim *s, processor *h)
{
    if (h->touched == s->date_order) return;
    h->touched = s->date_order;
    h->mark = s->order++;
}

void host_entered(sim *s, int host)
{
    touch(s, &s->host[host]);
    s->host[host].n_under_way++;
}

void host_left(sim *s, int host, int is_execution)
{
    processor *h = &s->host[host];
    if (--h->n_under_way == 0)
        h->touched = -1;
    else if (is_execution)
        touch(s, h);
}

static void begin(sim *s, int line, int is_computing)
{
    timeline *t = &s->line[line];
    host_entered(s, t->host);
    t->is_computing = is_computing;
    t->began = s->order++;
    t->began_at_date = s->date_order;
    s->n_timed++;
    s->n_probing += probes_on(t);
}

static int until(sim *s, int line, double date_s, int spends)
{
    timeline *t = &s->line[line];
    timeline_enters(s, t, ASLEEP, spends);
    return heap_push(&s->sleeps, date_s, t->began, line) < 0 ? SIM_OUT_OF_MEMORY : BLOCKED;
}

int sleep_until(sim *s, int line, double date_s, int spends)
{
    begin(s, line, 0);
    return until(s, line, date_s, spends);
}

int compute(sim *s, int line, double flop, int spends)
{
    timeline *t = &s->line[line];
    const processor *h = &s->host[t->host];
    begin(s, line, 1);
    if (h->n_ranks <= h->cores) return until(s, line, s->now_s + flop / h->speed_flop_per_s, spends);
    timeline_enters(s, t, COMPUTING, spends);
    int error = cpu_start(s, t->host, line, flop);
    return error < 0 ? error : BLOCKED;
}

void timeline_woken(sim *s, int line)
{
    timeline *t = &s->line[line];
    host_left(s, t->host, t->is_computing);
    s->n_timed--;
    s->n_probing -= probes_on(t);
    runs_next(s, line);
}
