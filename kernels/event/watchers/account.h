/* account.h -- accounts of time and messages: each rank's, call site by call site.
 *
 * A call site is a call of the program's: which one, in which line, on which communicator, as numbers of whoever names them. What
 * is appended while a call is open belongs to it, however much later it is executed: a timeline's time goes to the account of the
 * action that it is in, a message to that of the call that posted it.
 *
 * A rank that waits was kept waiting by another one: that of the other side, or the last one to enter the collective.
 *
 * Invariants: (1) an account's number, from 1, is its rank's and its site's for good; 0 is none;
 *             (2) the times of a rank's accounts, and what `row` of its timelines holds, add up to the time up to their `since_s`;
 *             (3) of a timeline, n_open is 0 exactly while no call of its rank's is open there. */
#ifndef SMPY_ACCOUNT_H
#define SMPY_ACCOUNT_H
#include "watchers/records.h"
#include "world/world.h"

typedef struct {
    call_account *at;            /* numbered from 1, in `memory` */
    void *memory;
    int n, room;
    int *follower;               /* [room]: account of the call that last followed it, or 0 */
    int *bucket;                 /* numbers by hash of rank and site, open addressing: two for each that there is room for */
    struct trace *trace;         /* to which each time is told as it is charged; or NULL */
} accounts;

int accounts_begin(sim *s);                      /* the first watcher of a world: 0, or SIM_OUT_OF_MEMORY */

static inline accounts *accounts_of(const sim *s)
{
    return s->watching.at[0].own;
}

/* The account of n_calls calls of something else, counted at the line of the open call: its number, or 0 without memory. */
int account_beside(sim *s, int timeline, int call, int n_calls);
#endif
