/* poll_row.h -- a row of polls: what a timeline did since its first poll in vain, not charged before it is known what the polls
 * waited for.
 *
 * The poll that succeeds tells: until the message was sent, its receive was posted or the last rank had entered the collective,
 * all polls of the row waited for that; from then to its arrival for a transfer; only what is left was polling. Computing and
 * sleeping in between stay what they are. A row without a success is polling. It ends with any other action than these.
 *
 * A row is bounded. One that asks the same again and again, computing or sleeping in between, waits: from a hundred such rounds on
 * it is charged, up to a failed poll, with what is known by then, whether a poll will succeed or not. One that asks several things
 * in turn is given up, as polling.
 *
 * Invariants: (1) what is held follows what was charged, without a gap, up to the timeline's `since_s`;
 *             (2) a row is empty, or begins with a poll. */
#ifndef SMPY_POLL_ROW_H
#define SMPY_POLL_ROW_H
#include "request.h"
#include "timeline.h"

/* Holds this time, if it is a poll or follows one: whether it does. */
int poll_row_hold(sim *s, timeline *t, const held_time *time);
/* A poll has found the request complete, or the send: what its row waited for is known. */
void poll_row_finds(sim *s, timeline *t, int request);
void poll_row_in_vain(sim *s, timeline *t, const poll_question *asked); /* the last poll has found nothing */
void poll_row_end(sim *s, timeline *t);          /* nothing was found */
void poll_row_add_up(const timeline *t, double *spent_s); /* adds what is held: [SPENT_KINDS] */

#ifdef SMPY_CHECK
void poll_row_check(const timeline *t);
#endif
#endif
