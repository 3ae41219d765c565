/* perform.h -- one call of one timeline at the present date, and what it takes.
 *
 * An action that takes several calls or waits for time keeps its place at the head of the queue and counts its stages; a
 * blocked timeline is woken by request_done or by time, in the order the events fire. Costs of polling and overheads are
 * the peer's (SMPI). So is the number of calls each MPI call takes, which decides who comes first at one date. */
#ifndef SMPY_PERFORM_H
#define SMPY_PERFORM_H
#include "world.h"

enum { AWAITED = -1, BACKGROUND = -2 };          /* waiter_index of a collective's own requests */
enum { MADE = 0, BOUND = 1, STARTED = 2 };       /* an execution takes three calls */

static inline action *first_action(timeline *t)
{
    return &t->queue[t->first];
}

/* Is it a probe that looks until it finds something? */
static inline int probes_on(timeline *t)
{
    return t->n && (first_action(t)->what == DO_PROBE || first_action(t)->what == DO_MPROBE);
}

/* elapse.c: a timeline lets time pass; BLOCKED, or an error */
void runs_next(sim *s, int line);
void host_entered(sim *s, int host);             /* by an execution, a sleep or the wait for one request */
void host_left(sim *s, int host, int is_execution);
int sleep_until(sim *s, int line, double date_s, int spends);
int compute(sim *s, int line, double flop, int spends);

/* poll.c */
int poll_begins(sim *s, int line, double poll_s, int in_a_row);
void poll_ends(sim *s, int line, int *in_a_row, int is_success, int grows);
void polls_notice(sim *s, int line);             /* something has come to it or is complete */

/* wait.c */
int post(sim *s, int id);
double receive_overhead_s(const sim *s, const slot *x);
void pay(const sim *s, timeline *t, double seconds);
void pay_overhead(const sim *s, timeline *t, const slot *x);
int after_overheads(sim *s, int line);           /* MADE_A_CALL once they are paid */
void wait_begins(sim *s, timeline *t, int is_for_one); /* request, and not a group */
int wait_for(sim *s, int line, int *list, int n);
int wait_for_any(sim *s, int line, const int *list, int n);
void wake(sim *s, int line);                     /* from a wait, once overheads are paid */

/* poll.c */
int test_one(sim *s, int line, int id);
int test_any(sim *s, int line, const action *a);
int look(sim *s, int line);

/* cancel.c */
int cancel(sim *s, int id);

/* collective.c */
int show(sim *s, int line);

/* group.c */
int wait_for_group(sim *s, int line, int id);
int test_group(sim *s, int line, int id);
#endif
