/* instance.h -- one collective of a communicator: when all its ranks have entered it.
 *
 * The n-th collective of every rank of an intracommunicator is one instance. A rank enters the one that follows the one it
 * entered last, whoever comes first makes it: so a rank costs one number a communicator, and entering costs the same for any
 * number of ranks.
 *
 * Invariants: (1) number 0 is none;
 *             (2) an instance lives while it has users;
 *             (3) complete_s is infinite while a rank is missing;
 *             (4) n_to_meet ranks have not come to its meeting (meeting.h); the others are listed. */
#ifndef SMPY_INSTANCE_H
#define SMPY_INSTANCE_H
#include <stdint.h>

typedef struct {
    int n_missing;               /* ranks that have not entered */
    int n_users;                 /* ranks that have not entered the next one, and runs of it */
    int next;                    /* the one that follows it, or 0; or in the free list */
    int last, last_timeline;     /* rank that entered last, by which of its timelines, */
    double complete_s;           /* and its date */
    int n_to_meet;
    int first_met, last_met;     /* requests of those that came, linked by their `next` */
    int64_t sent_bytes, received_bytes; /* the most that one of them said */
} instance;

typedef struct {
    instance *at;                /* numbered from 1 */
    int n, room, free;
} instances;

/* The instances that ranks of a communicator are in before its first collective: [n_ranks], or NULL without memory. */
int *instance_begin(instances *all, int n_ranks);
/* `rank` enters the next collective by a timeline, and uses it: its number, or SIM_OUT_OF_MEMORY. */
int instance_enter(instances *all, int *entered, int n_ranks, int rank, int timeline, double now_s);
void instance_leave(instances *all, int id);     /* by one of its users */
void instance_end(instances *all, int *entered, int n_ranks); /* the communicator is gone; frees `entered` */
#endif
