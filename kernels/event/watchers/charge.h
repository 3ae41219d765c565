/* charge.h -- charges a timeline's time to its account, to the trace, and to the rank that kept it waiting.
 *
 * Invariant: the times of a timeline are charged in the order of their dates, each once. */
#ifndef SMPY_CHARGE_H
#define SMPY_CHARGE_H
#include "world/timeline.h"

/* `seconds` is the length of the time, `other` the rank that was waited for, or -1. */
void charge(sim *s, timeline *t, const held_time *time, double seconds, int other);
#endif
