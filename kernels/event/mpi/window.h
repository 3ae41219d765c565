/* window.h -- windows of one-sided communication: a part for each rank, and the gates that ranks pass there.
 *
 * A window is named by its communicator, which lives as long as it does, and comes with its first access or lock. The rank that
 * accesses makes both the send and the receive of an access; the receive stays in the receiver's part until somebody completes it.
 *
 * Invariants: (1) a gate has one holder, or n_shared others, or neither; timelines that wait for it are linked by their first
 *                 actions, and pass in the order they came;
 *             (2) the receives of a part are linked by `next` in the order they were posted; each has a match. */
#ifndef SMPY_WINDOW_H
#define SMPY_WINDOW_H
#include "mpi/accesses.h"
#include "mpi/request.h"
#include "world/action.h"

typedef struct {
    int holder;                  /* timeline that is in alone, or -1 */
    int n_shared;
    int first, last;             /* timelines that wait for it, or -1 */
} gate;

enum {
    GATE_LOCK,                   /* of the program's locks */
    GATE_ATOMIC,                 /* around what is atomic */
    GATE_PENDING,                /* of the list of receives: one timeline at a time completes some of them */
    GATE_MAILBOX,                /* of the rank's incoming messages */
    GATES
};

typedef struct window_part {
    gate gate[GATES];
    int first, last;             /* receives that are not completed, or 0 */
} window_part;

window_part *window_part_at(sim *s, int comm, int rank); /* NULL without memory */
const window_part *window_part_of(const sim *s, int comm, int rank); /* NULL: there is none yet */

/* Appends an action on a rank's part: NULL, and an error < 0. The action uses the communicator, until window_action_free. */
action *window_append(sim *s, int timeline, const action_kind *kind, int comm, int rank, int *error);
void window_action_free(sim *s, action *a);

/* The first action of the timeline passes a gate: 1, or 0 and it is blocked until it is woken, inside. */
int gate_enter(sim *s, gate *g, int timeline, int is_shared);
int gate_leave(sim *s, gate *g, int timeline, int is_shared); /* 0, or SIM_BAD_REQUEST: it is not inside */
void gate_pass_on(sim *s, gate *g, int by);      /* lets the next one in, when it may: timeline `by` has left, or is in with it */
#endif
