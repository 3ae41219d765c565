/* shared_cores.h -- the cores of one rank, which its timelines share once it has several.
 *
 * A rank has so many cores of its host as each rank (sim_cores_per_rank), one by default. Alone, a timeline has as many of them as
 * threads for itself. As soon as the rank gets a second one, all executions of its timelines are served by a resource of the rank's
 * (host.h): each thread as fast as a core, or by a fair part of the rank's cores. On a host without cores for all its ranks they
 * share the host's cores instead, each like a rank's.
 *
 * Invariant: `next` has the date of the first end on each resource that has users. */
#ifndef SMPY_SHARED_CORES_H
#define SMPY_SHARED_CORES_H
#include "basics/heap.h"
#include "world/host.h"
#include "world/timeline.h"

typedef struct {
    resource cores;
    int rank;
    int n_users;                 /* as the host has counted them, */
    double rate_flop_per_s;      /* with this rate */
} rank_cores;

typedef struct {
    rank_cores *at;              /* numbered from 1 */
    int n, room;
    heap next;                   /* ids are their numbers */
} shared_cores;

void shared_cores_free(shared_cores *all);

/* The timelines of the rank share its cores from now on: 0, or SIM_OUT_OF_MEMORY. */
int shared_cores_begin(sim *s, int rank);

/* The number of the cores that a timeline shares with those of its rank, or 0: it computes on its host's. */
int shared_cores_of(const sim *s, const timeline *t);
int shared_cores_date(sim *s, int number);               /* users came or went, or the speed changed: 0, or SIM_OUT_OF_MEMORY */
int shared_cores_n_users(const sim *s, int host);        /* executions on a host that share the cores of their ranks */
int shared_cores_set_speed(sim *s, int host);            /* the host's has changed: 0, or SIM_OUT_OF_MEMORY */
#endif
