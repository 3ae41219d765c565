/* latch.h -- latches: barriers that a number of ranks must reach before any of their started collectives is complete.
 *
 * Invariants: (1) number 0 is none; (2) a latch is open when n_missing is 0; (3) it is gone when n_users is 0. */
#ifndef SMPY_LATCH_H
#define SMPY_LATCH_H

typedef struct {
    int n_ranks, serial;         /* ranks it was made for; number of latches made before it, plus 1 */
    int n_to_come, n_missing;    /* ranks that have not called for it; of which the call was not performed */
    int n_users;                 /* started collectives that are not complete, of all it was made for */
    int first, last;             /* requests of those that came, linked by their runs' next_at_latch */
    int next;                    /* in the free list */
} latch;

typedef struct {
    latch *at;                   /* numbered from 1 */
    int n, room, free, n_made;
} latches;

int latch_new(latches *all, int n_ranks);        /* its number, or SIM_OUT_OF_MEMORY */
void latch_leave(latches *all, int id);          /* by one of its users */
int latch_is_for_more(const latches *all, int id); /* ranks than have called for it */
#endif
