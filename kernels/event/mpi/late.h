/* late.h -- the late side of a request: the other side of a message, or the last rank to enter a collective.
 *
 * Invariant: of a complete request, met_s is at most over_s, unless it was completed without a match. */
#ifndef SMPY_LATE_H
#define SMPY_LATE_H
#include "mpi/request.h"

/* The side that keeps a rank waiting for a request. */
typedef struct {
    int kind, rank;              /* SPENT_LATE_*, 0: nothing; the late rank, or -1 */
    double met_s, over_s;        /* arrival of the late side; end of the transfer after it. INFINITY: not yet */
} late_side;

late_side late_side_of(const sim *s, const slot *x);
void late_meets(const sim *s, collective_run *run, const slot *x); /* notes a complete request of a started collective */
#endif
