/* wait.h -- common parts of all waits: blocking, receive overheads that are paid one after the other, waking up.
 *
 * A wait for several requests is a call for each: it learns of a request that has ended, or blocks until one does. */
#ifndef SMPY_WAIT_H
#define SMPY_WAIT_H
#include "mpi/request.h"
#include "world/timeline.h"

enum { LEARNT_OF = -1 };                                  /* in the list of a wait: a request that ended, and was learnt of */

/* The requests of an action that waits; zeros and negative numbers are none. */
static inline int *wait_list(action *a)
{
    return a->wait.list ? a->wait.list : &a->wait.one;
}

/* Appends an action that waits for a request, or polls it, or for a list of them (the request is 0). NULL: `error` says why. */
action *wait_append(sim *s, int timeline, const action_kind *kind, int request, int n, const int *list, int *error);
void wait_register(sim *s, int timeline, action *a);     /* makes it the waiter of its requests that are not done; counts them */
void wait_free(sim *s, action *a);                       /* frees the list of an action's `wait` */
void wait_begin(sim *s, int timeline, int is_for_one);   /* is_for_one: request that is no started collective */
void wait_pay(sim *s, int timeline, double seconds);     /* an overhead, after those it has to pay already */
void wait_pay_for(sim *s, int timeline, const slot *recv);
int wait_after_overheads(sim *s, int timeline);          /* MADE_A_CALL when none is left to pay; BLOCKED, or an error */
void wait_wake(sim *s, int timeline);                    /* from a wait, once overheads are paid */
#endif
