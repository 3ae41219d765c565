#include <math.h>

#include "perform.h"

/* The states of a timeline, and what its time goes to (SPENT_*).
 *
 * Whether a blocked timeline waited for others or for a transfer is told by the request that ends its wait (wait.c): nothing is
 * done when a transfer begins, or when the last rank enters a collective. */

/* Adds the time in its present state. */
static void add_up(const sim *s, const timeline *t, double *spent_s)
{
    const double passed_s = s->now_s - t->since_s;
    if (t->spends != SPENT_WAITING) {
        spent_s[t->spends] += passed_s;
        return;
    }
    const double waited_s = t->met_s < s->now_s ? fmax(t->met_s - t->since_s, 0) : passed_s;
    spent_s[SPENT_WAITING] += waited_s;
    spent_s[SPENT_TRANSFER] += passed_s - waited_s;
}

void timeline_enters(sim *s, timeline *t, int state, int spends)
{
    add_up(s, t, t->spent_s);
    t->state = state;
    t->spends = spends;
    t->since_s = s->now_s;
    t->met_s = INFINITY;
}

void sim_spent_s(const sim *s, double *spent_s)
{
    for (int kind = 0; kind < SPENT_KINDS; kind++) spent_s[kind] = 0;
    for (int rank = 0; rank < s->n_ranks; rank++) {
        const timeline *t = &s->line[rank];
        for (int kind = 0; kind < SPENT_KINDS; kind++) spent_s[kind] += t->spent_s[kind];
        if (t->state != ENDED) add_up(s, t, spent_s);
    }
}
