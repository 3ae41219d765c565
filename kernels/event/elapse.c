#include <math.h>

#include "perform.h"

/* Sleeps, and executions on a core. */

void runs_next(sim *s, int line)
{
    s->line[line].state = AWAKE;
    s->next_turn[s->n_next_turn++] = line;
}

static int until(sim *s, int line, double date_s, int64_t order)
{
    timeline *t = &s->line[line];
    t->state = ASLEEP;
    s->n_timed++;
    s->n_probing += t->n && first_action(t)->what == DO_PROBE;
    return heap_push(&s->sleeps, date_s, order, line) < 0 ? SIM_OUT_OF_MEMORY : BLOCKED;
}

/* Among what ends at one date, what began at an earlier date comes first; of what began at one date, sleeps before
 * executions, the newest sleep and the oldest execution first. */
int64_t order_of_end(sim *s, int is_sleep)
{
    const int64_t most = 1 << 20;
    int64_t age = s->order++ - s->date_order;
    if (age >= most) age = most - 1;
    return (s->date_order << 21) + (is_sleep ? most - 1 - age : most + age);
}

int sleep_until(sim *s, int line, double date_s)
{
    return until(s, line, date_s, order_of_end(s, 1));
}

int compute(sim *s, int line, double flop)
{
    timeline *t = &s->line[line];
    const processor *h = &s->host[t->host];
    if (h->n_ranks <= h->cores) return until(s, line, s->now_s + flop / h->speed_flop_per_s, order_of_end(s, 0));
    t->state = COMPUTING;
    s->n_timed++;
    s->n_probing += t->n && first_action(t)->what == DO_PROBE;
    cpu_start(s, t->host, line, flop);
    return BLOCKED;
}

void timeline_woken(sim *s, int line)
{
    timeline *t = &s->line[line];
    s->n_timed--;
    s->n_probing -= t->n && first_action(t)->what == DO_PROBE;
    if (!isnan(t->computing_since_s)) {
        s->compute_s[line] += s->now_s - t->computing_since_s;
        t->computing_since_s = NAN;
    }
    runs_next(s, line);
}
