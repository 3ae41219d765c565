/* collective_run.h -- one rank's run of a collective's schedule.
 *
 * A blocking one belongs to its action, a started one to its request. A strand of a blocking one (CALL_FORK) is a run of its own,
 * in a ring with the other strands under way; the run itself is the ring's strand 0.
 *
 * Invariants: (1) n_awaited and n_background count the requests of the run that are under way: of the call that waits, and
 *                 outstanding ones;
 *             (2) of a started one, made[i] is the state of the i-th request its calls made, none before first_over is OVER;
 *             (3) of a blocking one whose schedule waits for single ones, made[i] is that of the i-th outstanding request since
 *                 all were waited for, and each before `oldest` was waited for as the oldest;
 *             (4) a strand that is not blocked can make a call, or is making one; its rank waits while all are blocked. */
#ifndef SMPY_COLLECTIVE_RUN_H
#define SMPY_COLLECTIVE_RUN_H
#include "mpi/comm.h"
#include "mpi/schedule.h"

enum { UNDER_WAY, DETACHED, OVER, LEARNT };      /* state of a request that a run has made */

typedef struct collective_run {
    schedule_frame frame;
    schedule_call call;
    int comm;
    int instance;                /* number of the collective's instance (instance.h), or 0 */
    int n_awaited, n_background;
    int n_ended, n_background_ended; /* ended ones of either that it has not learnt of */
    double owed_s;               /* receive overheads of outstanding ones that ended before they were waited for */
    int request;                 /* request of a started one; or 0 */
    int timeline;                /* timeline that performs it, or waits for it */
    double met_s;                /* started one: date of the last match among its complete requests; INFINITY: none is complete */
    int met_rank;                /* the other rank of that match */
    int latch, next_at_latch;    /* or 0; the request that came to it next */
    uint8_t is_halted;           /* all its calls are made */
    uint8_t has_met;             /* it has come to its meeting */
    uint8_t is_waited_for;       /* its rank is blocked in a wait for it */
    uint8_t strand;              /* number of the strand, or 0 */
    uint8_t is_blocked;          /* its next call has to wait */
    int n_made, made_room;
    uint8_t *made;               /* UNDER_WAY ..., of its requests in order */
    double *owed_of_s;           /* receive overhead of each, in models that have some */
    int first_over, oldest;
    struct collective_run *next; /* in the free list, or in the ring of its action */
} collective_run;

typedef struct {
    collective_run *free;
} collective_runs;

collective_run *collective_run_new(collective_runs *all, comms *c, int comm); /* uses the communicator; NULL without memory */
void collective_run_free(collective_runs *all, comms *c, collective_run *run);
void collective_runs_free(collective_runs *all);
/* Lists one more request in `made`: its index, or SIM_OUT_OF_MEMORY. */
int collective_run_made(collective_run *run, int is_detached, int has_overheads);
#endif
