/* background.h -- messages of other jobs on the links of a run's machine.
 *
 * Messages set out independently of the run, and no rank waits for them: an open loop. They are uniform random traffic (Dally and
 * Towles 2004, section 3.2: each host sends messages to others, with equal probability, at the dates of a Poisson process), or
 * those of a list, over and over. Uniform traffic of a share s sends a message of b bytes every b / (s B) seconds in the mean,
 * where B is the least bandwidth on the way of the message before.
 *
 * A source is a host, or the list. A source with BACKGROUND_QUEUE messages under way (the list: for each of its hosts) is held
 * back; when one of them ends, it sends the message that was due, and the rest of the list is delayed by as much.
 *
 * Invariants: (1) the target and the gap of a host's n-th message depend on the seed, the host, n and the machine;
 *             (2) a source is in `next` unless it is held back; it is held back only while it has as many messages under way as it
 *                 may have;
 *             (3) the background wakes no world that waits for nothing else, and ends with it: its messages are dropped. */
#ifndef SMPY_BACKGROUND_H
#define SMPY_BACKGROUND_H
#include <stdint.h>

#include "basics/errors.h"

typedef struct background background;

enum { BACKGROUND_QUEUE = 64 };

/* cdef */
typedef struct {
    double date_s;
    int64_t bytes;
    int source_host, target_host;
} background_message;

typedef struct {
    int64_t messages, bytes;          /* that have set out, and the bytes that they carry */
    double held_s;                    /* for which sources were held back, of all together */
} background_counts;

/* Uniform traffic of a share in (0, 1), of messages of so many bytes; before the run, and once. 1; 0: this network shares no links;
 * or an error, SIM_FIXED_LINKS where hosts or links are off at times. */
int sim_background_uniform(sim *s, double share, int64_t bytes, uint64_t seed);
/* Likewise messages in order of their dates, from `phase_s` on, and again after each period. */
int sim_background_list(sim *s, int n, const background_message *list, double period_s, double phase_s);
void sim_background_counts(const sim *s, background_counts *out); /* 0: there is no background */
/* end cdef */

void background_free(background *b);
double background_next_s(const background *b);
int background_fire(sim *s, background *b); /* sends what is due: number of messages, or an error */
#ifdef SMPY_CHECK
void background_check(const sim *s);
#endif
#endif
