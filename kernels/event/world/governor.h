/* governor.h -- governors of hosts with several states (DVFS): each period they look at a host's load, and set its state.
 *
 * Governors decide as SimGrid's plugin host_dvfs (3.32) does under smpirun, where each host has two daemons of them. Both wake
 * at one date and read the host's state before either sets it. The first finds the load of the period, and resets it, so that the
 * second finds none; where both set a state, the second one's counts. So GOVERNOR_ONDEMAND ends at the slowest state whatever the
 * load, and GOVERNOR_CONSERVATIVE speeds up from the slowest state alone.
 *
 * A governor wakes no world that waits for nothing but messages. */
#ifndef SMPY_GOVERNOR_H
#define SMPY_GOVERNOR_H
#include "world/ranks.h"

typedef struct governor governor;

/* cdef */
enum { GOVERNOR_PERFORMANCE = 0, GOVERNOR_POWERSAVE = 1, GOVERNOR_ONDEMAND = 2, GOVERNOR_CONSERVATIVE = 3 };
/* All hosts with several states have one from now on; before the first call, and once: 0, or an error. */
int sim_govern(sim *s, int kind, double period_s);
/* end cdef */

void governor_free(governor *g);
double governor_next_s(const governor *g);
int governor_fire(sim *s, governor *g);                  /* sets states if they are due: 0, or an error */
#endif
