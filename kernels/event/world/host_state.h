/* host_state.h -- states of hosts (DVFS): the speed and power of each is in the platform's table (power.h).
 *
 * A host with several states has their speeds one at a time; executions under way go on at the new one. Invariant: the state of a
 * host with states is one of them; that of any other is 0. */
#ifndef SMPY_HOST_STATE_H
#define SMPY_HOST_STATE_H
#include "machine/power.h"
#include "world/ranks.h"

/* cdef */
int sim_n_host_states(const sim *s, int host);           /* 1: it has no others */
int sim_host_state(const sim *s, int host);              /* its present state */
/* The timeline's host is in the state from that date on: 0, or an error; SIM_BAD_SIZE: it has no such state. */
int sim_append_host_state(sim *s, int timeline, int state);
/* end cdef */

int host_set_state(sim *s, int host, int state);         /* of those that it has: 0, or SIM_OUT_OF_MEMORY */
#endif
