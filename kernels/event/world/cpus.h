/* cpus.h -- the CPUs of ranks, for networks whose messages need them (network_kind.sends_from_s).
 *
 * A rank's CPU does what its timelines do. Messages load it beside that: it has a date from which on what they cost it is paid. A
 * timeline that was blocked goes on no earlier. */
#ifndef SMPY_CPUS_H
#define SMPY_CPUS_H
#include "networks/network.h"

int cpus_are_used(const sim *s);
double cpu_sends_from_s(const sim *s, int rank);    /* its next message can set out then */
void cpu_may_idle(sim *s, int rank);                /* to be called when a timeline of the rank has changed its state */

/* An operation that became ready when so many things had been created begins: it waits for a message that is older. 1: one is taken
 * first; 0, or an error. */
int cpu_takes_older(sim *s, int rank, int64_t order);

int cpu_idles(const sim *s, int rank);              /* it has nothing to do now but to take messages */
double cpu_from_s(const sim *s, int rank);
void cpu_load(sim *s, int rank, double until_s);
extern const rank_cpus cpus_of_ranks;
#endif
