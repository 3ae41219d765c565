/* blame.h -- whose delays the ranks' waits are due to, as far as that is certain while the run goes on.
 *
 * Let rank r wait for rank o from a date a to a date e, and b be the date at which r got out of its last wait or transfer before.
 * smpy/analysis/causes.py charges the wait to whatever o did more from b to e than r did from b to a, and to the waits of o, which
 * pass it on, in parts that are as long. With w, how long o waited itself from b to e:
 *
 *   o has a share of at least 1 - w / (e - a): what both did alike is at most a - b;
 *   the cause of a wait of o's has at least its share of w' / (e - b - c): w' is how long that wait lasted from b to e, and c what
 *   both spent there with the same label (call, line and kind).
 *
 * A rank keeps two of its waits, the last one and a long one, and sums; bounds hold whatever it has forgotten.
 *
 * Invariants: (1) caused_s of a rank is at most what the analysis of a trace charges it with;
 *             (2) the sum of all is at most what ranks have waited for others. */
#ifndef SMPY_BLAME_H
#define SMPY_BLAME_H
#include "poll_state.h"

/* Note a time of a rank, in the order of its dates: it was not blocked; */
void blame_free(sim *s, int rank, const held_time *time);
/* it was blocked in a transfer, or waited for another one, or -1. */
void blame_blocked(sim *s, int rank, const held_time *time, int other);
#endif
