/* poll_row.h -- rows of polls: holds a timeline's time from a failed poll on, and charges it once it is known what the polls waited
 * for.
 *
 * A successful poll tells what its row waited for. Time of polls counts as late until the message was sent, its receive was posted,
 * or the last rank had entered the collective; then as transfer until the arrival; the rest as polling. Computing and sleeping in
 * between stay what they are. A row without a success is polling. Any action but polls, computing and sleeping ends a row.
 *
 * A row is bounded. One that repeats polls, with computing or sleeping in between, is charged after a hundred such rounds: up to a
 * failed poll, as waiting, by what is known then, whether a poll will succeed or not. One whose polls ask for several things, in
 * turn or at once, waits for the rank that all of them ask for, or for no known rank.
 *
 * Invariants: (1) held times follow the charged ones without a gap, up to the timeline's `since_s`;
 *             (2) a row is empty, or begins with a poll. */
#ifndef SMPY_POLL_ROW_H
#define SMPY_POLL_ROW_H
#include "mpi/request.h"
#include "world/timeline.h"

/* Holds a time that is of a poll, or follows one. Returns whether it does. */
int poll_row_hold(sim *s, timeline *t, const held_time *time);
/* Charges the row whose last poll has succeeded: it found the request complete, or this send. */
void poll_row_finds(sim *s, timeline *t, int request);
void poll_row_mixes(sim *s, timeline *t, const poll_question *asked);   /* notes a failed poll for something else than the last */
void poll_row_in_vain(sim *s, timeline *t, const poll_question *asked); /* notes a failed poll */
void poll_row_end(sim *s, timeline *t);          /* charges the row as polling: no poll has succeeded */
void poll_row_add_up(const timeline *t, double *spent_s); /* adds the times that are held: [SPENT_KINDS] */

#ifdef SMPY_CHECK
void poll_row_check(const timeline *t);
#endif
#endif
