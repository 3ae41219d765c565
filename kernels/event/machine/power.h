/* power.h -- power of hosts, by their states (DVFS), and of links.
 *
 * A platform keeps it; a world performs the states (host_state.h) and counts the Joules (energy.h). Several hosts may have one set
 * of states.
 *
 * Power of a host as SimGrid's plugin host_energy has it: idle_w while no core is loaded, else epsilon_w + load (busy_w -
 * epsilon_w), where a load of 1 is all cores at the state's speed. Power of a link: idle_w + load (busy_w - idle_w).
 *
 * Invariants: (1) a set has a state at least, and its first one is among them;
 *             (2) watts are finite and not negative; idle_w is at most busy_w. */
#ifndef SMPY_POWER_H
#define SMPY_POWER_H
#include <stdlib.h>
#include "machine/platform.h"

/* cdef */
typedef struct {
    double speed_flop_per_s;              /* of a core */
    double idle_w, epsilon_w, busy_w;
} power_state;

/* Adds a set of n > 0 states: its number, or PLATFORM_*. `has_power` 0: their watts are not known. `first`: the state in which
 * hosts begin. off_w: power of a host that is off. */
int platform_add_power_states(platform *p, int n, const power_state *state, int first, int has_power, double off_w);
/* Gives n hosts with consecutive numbers these states; their speed is then that of the first one. 0, or PLATFORM_*. */
int platform_set_power_states(platform *p, int first_host, int n, int set);
/* Power of n links with consecutive numbers: 0, or PLATFORM_*. */
int platform_set_link_power(platform *p, int first_link, int n, double idle_w, double busy_w);
/* end cdef */

typedef struct {
    int n, first, has_power;
    double off_w;
    power_state *state;
} power_states;

typedef struct {
    double idle_w, busy_w;
} link_power;

typedef struct {
    int n_sets, room;
    power_states *set;
    int *set_of_host, host_room;          /* [host_room] a set, or -1; hosts beyond have none */
    int *power_of_link, link_room;        /* likewise a place in `links` */
    int n_links, links_room;
    link_power *links;
    int n_powered_hosts;                  /* hosts whose watts are known */
    int n_powered_links;
} power_table;

const power_table *platform_power(const platform *p);
power_table *platform_power_table(platform *p);
const power_states *power_of_host(const power_table *t, int host); /* NULL: it has none */
const link_power *power_of_link(const power_table *t, int link);   /* NULL: it has none */

static inline void power_table_free(power_table *t)
{
    for (int i = 0; i < t->n_sets; i++) free(t->set[i].state);
    free(t->set);
    free(t->set_of_host);
    free(t->power_of_link);
    free(t->links);
}
#endif
