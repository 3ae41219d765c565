/* energy.h -- Joules of hosts and links whose power the platform says (power.h).
 *
 * A host: its power holds from one change of its load, speed or state to the next. The part above idle is shared equally by the
 * threads that execute, and charged to their accounts.
 *
 * A link, as SimGrid 3.32 has it: when a transfer starts or ends whose route has the link, its power at that instant counts for all
 * the time since it was last counted. The load of the instant is that of the last date at which shares were solved, less the flows
 * that have ended since. So a transfer alone is charged with the power of its flow from its start on, latency phase included.
 *
 * Invariants: (1) joules of a host are those up to since_s; power_w holds since then;
 *             (2) `load` of a link is the sum of coefficient x share of its flows, on a FATPIPE the largest: 0 without flows. */
#ifndef SMPY_ENERGY_H
#define SMPY_ENERGY_H
#include <stdint.h>

#include "world/ranks.h"

/* cdef */
/* Keeps Joules from now on, if a host or link of the platform says its power: before the first call. 1: it does; 0: none says any;
 * or an error. Links have an idle power alone where the network shares none. */
int sim_keep_energy(sim *s);
/* [hosts] Joules up to now, NaN where the power is not known; and whether the host has computed. */
void sim_host_energy_j(const sim *s, double *joules, uint8_t *is_used);
void sim_link_energy_j(const sim *s, double *joules);    /* [links] likewise */
/* [n as sim_accounts answers] Joules above the idle power of hosts, of each account. */
void sim_account_energy_j(const sim *s, int n, double *joules);
double sim_energy_of_host_j(const sim *s, int host);     /* up to now; NaN: not known */
double sim_power_of_host_w(const sim *s, int host);      /* likewise */
/* end cdef */

/* Joules above the idle power of its host that a timeline's computing has had since the last call; NaN: not known. */
double energy_take_j(sim *s, int timeline);

typedef struct link_energy link_energy;

link_energy *link_energy_begin(sim *s, int *error);      /* NULL: no link says its power, or an error */
void link_energy_free(link_energy *all);
void link_energy_write(const sim *s, const link_energy *all, double *joules);
#ifdef SMPY_CHECK
void link_energy_check(const link_energy *all);
#endif
#endif
