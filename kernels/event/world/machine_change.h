/* machine_change.h -- changes of a world's machine while it runs (profile.h): speeds of hosts, bandwidths and latencies of links,
 * and which of them are on.
 *
 * A change comes before whatever else happens at its date; those of one date come in the order the platform was told of them.
 * No change wakes a world that waits for nothing but messages. A host that goes off while a rank lives on it breaks the world
 * (SIM_HOST_OFF), and so does a link that a transfer needs (SIM_LINK_OFF): then `lost` of its network says which.
 *
 * Invariants: (1) `next` has each profile that is not over, with the date of its next value;
 *             (2) the links of the network are those of the present date: the platform's own arrays where no profile changes
 *                 them. */
#ifndef SMPY_MACHINE_CHANGE_H
#define SMPY_MACHINE_CHANGE_H
#include "basics/heap.h"
#include "machine/profile.h"
#include "basics/errors.h"

typedef struct {
    const profile_table *table;
    heap next;                           /* ids are profiles */
    int *at;                             /* [profile] the next value of its series */
    double *since_s;                     /* [profile] what to add to the dates of its series */
    int n_of_links;                      /* profiles of links */
    uint8_t *host_is_off;                /* [host]; NULL: all are on */
} changes;

int changes_init(sim *s);                /* hosts are there; 0, or SIM_OUT_OF_MEMORY */
void changes_free(sim *s);
double change_next_s(const sim *s);      /* INFINITY: none */
int change_may_wake(const sim *s);       /* will a host that has stopped go on? */
int change_cannot_wake(sim *s);          /* SIM_HOST_STOPPED if a rank computes on one that will not, or 0 */
int change_fire(sim *s);                 /* makes the changes that are due: their number, or an error */
int change_lose_rank(sim *s, int host, int rank);      /* SIM_HOST_OFF */

#ifdef SMPY_CHECK
void changes_check(const sim *s);
#endif
#endif
