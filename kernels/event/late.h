/* late.h -- who was late for a request: the other side of a message, or the last rank to enter a collective.
 *
 * Invariant: met_s is at most over_s of a request that is complete, but for the completion of one that nothing has matched. */
#ifndef SMPY_LATE_H
#define SMPY_LATE_H
#include "request.h"

/* The side that keeps a rank waiting for a request. */
typedef struct {
    int kind, rank;              /* SPENT_LATE_*, 0: nothing; who was late, or -1 */
    double met_s, over_s;        /* from when on nobody was; the end of the transfer that followed. INFINITY: not yet */
} late_side;

late_side late_side_of(const sim *s, const slot *x);
void late_meets(const sim *s, collective_run *run, const slot *x); /* a request of a started collective is complete */
#endif
