/* blame.h -- causes of waits: how much waiting each rank's delays cause at least, as far as it is known during the run.
 *
 * Let rank r wait for rank o from a date a to a date e, and b be the date at which r got out of its last wait or transfer before.
 * smpy/analysis/causes.py charges the wait to whatever o did more from b to e than r did from b to a, and to the waits of o, which
 * pass it on, in parts that are as long. Let w be the time that o waited itself from b to e. Then
 *
 *   o has a share of at least 1 - w / (e - a): what both did alike is at most a - b;
 *   the cause of a wait of o has at least its share of w' / (e - b - c): w' is the part of that wait from b to e, and c the time
 *   that both spent from b to e with the same label (call, line and kind).
 *
 * A rank keeps sums, and two of its waits: the last one and a long one. The bounds hold without the others.
 *
 * Invariants: (1) caused_s of a rank is at most what the analysis of a trace charges it with;
 *             (2) the sum of caused_s is at most the time that ranks have waited for others. */
#ifndef SMPY_BLAME_H
#define SMPY_BLAME_H
#include "world/poll_state.h"

/* Notes a time in which a rank was not blocked. Times of a rank are noted in the order of their dates. */
void blame_free(sim *s, int rank, const held_time *time);
/* Notes a time in which a rank was blocked: in a transfer, or waiting for the rank `other`; -1: not known. */
void blame_blocked(sim *s, int rank, const held_time *time, int other);
#endif
