/* host.h -- hosts, and the resources that executions on them share.
 *
 * A resource serves all users at the same rate: the speed of one unit, or a fair part of all units when there are more users than
 * units (SMPI's Cas01 for cores). So it counts the amount that one user has been served; a user ends when this count reaches its
 * own mark. Users that a limit may keep slower than a unit have a count of their own, and leave the rest to the others. An
 * execution is an amount of flop and bytes: cores serve the flop, the memory the bytes (memory.h), both at once; it ends when all
 * of both is served. The speed of a host may change (machine_change.h). If the machine says how far busy cores slow each other
 * down (host_busy_speed), all executions on a host have that part of its speed, by the number of those under way. An execution of
 * n threads is n users of each resource that it shares: each computes its flop, and moves an equal part of the bytes.
 *
 * Invariants: (1) served is what one user of a queue has received since the queue was empty, up to since_s;
 *             (2) users holds the marks of all users; its ids are timelines;
 *             (3) of a host's executions, those among no users compute at the speed of a core, or only move bytes;
 *             (4) while there are cores for all ranks, no execution shares with other ranks: none is among the users, unless the
 *                 host's speed changes or depends on the number of busy cores. */
#ifndef SMPY_HOST_H
#define SMPY_HOST_H
#include "basics/heap.h"
#include "machine/platform.h"

typedef struct {
    double served;
    heap users;                  /* by mark, of equal ones the newest first */
} resource_queue;

typedef struct {
    double per_s;
    double nominal_per_s;        /* speed of a unit while nothing changes it */
    resource_queue queue;
} resource_limit;

typedef struct {
    double unit_per_s;           /* speed of one unit */
    double n_units;
    double since_s;
    resource_queue free;
    resource_limit *limited;     /* NULL: a unit is never faster than any limit */
    const double *busy_share;    /* [n_busy]: part of its speed that a unit has while 1, 2, ... users are served; NULL: all of it */
    int n_busy;                  /* more users than that have the last part */
} resource;

typedef struct {
    double flop, bytes;
    int n_threads;
    int is_limited;              /* to the speed of a core while nothing changes it, or a part of that (hosts_limit) */
} execution;

typedef struct {
    resource cores;              /* units of flop */
    resource *memory;            /* units of bytes; NULL: its bandwidth is not known */
    double fastest_flop_per_s;   /* the highest speed of one */
    int state;                   /* of those that the platform says (host_state.h) */
    int first_timeline;          /* first timeline that may compute there, linked by next_of_host; -1: none */
    int n_ranks;                 /* ranks of these timelines, */
    int cores_per_rank;          /* and the cores of each */
    int n_under_way;             /* executions, sleeps and waits for one request */
    int n_executing;             /* threads of executions under way */
    int n_sharing;               /* those among them that share the cores of their ranks (shared_cores.h), */
    double sharing_flop_per_s;   /* and the rate at which these are served */
    int64_t rescheduled_at;      /* the date (order of creation when it began) its executions were scheduled at, or -1 */
    int64_t reschedule_order;    /* and when then, as a count */
} host;

typedef struct busy_shares {
    struct busy_shares *next;
    double share[];
} busy_shares;

typedef struct {
    host *at;
    int n;
    busy_shares *busy;           /* owned: those of all hosts */
} hosts;

int hosts_init(hosts *all, const platform *p);
void hosts_free(hosts *all);

/* Cores of n_hosts hosts from `first` on have a part of their speed while 1, 2, ..., n of them are busy; before anything executes:
 * 0, or an error. */
int host_busy_speed(hosts *all, int first, int n_hosts, int n, const double *share);

/* Speed of a core in the host's state, while no profile changes it. */
static inline double host_speed_flop_per_s(const host *h)
{
    return h->cores.limited ? h->cores.limited->nominal_per_s : h->cores.unit_per_s;
}

/* Has each rank cores of its own? Its timelines share them (shared_cores.h). */
static inline int host_has_cores_for_each(const host *h)
{
    return (double)h->n_ranks * h->cores_per_rank <= h->cores.n_units;
}

/* Is the end of an execution known when it begins? */
static inline int host_knows_ends(const host *h)
{
    return host_has_cores_for_each(h) && !h->cores.limited;
}

/* Limited executions on any host get at most this part of a core's speed: 0, or SIM_OUT_OF_MEMORY. Before any speed changes. */
int hosts_limit(hosts *all, double part);
int host_changes_speed(host *h, double highest_factor); /* from now on its executions are all users: 0, or SIM_OUT_OF_MEMORY */
double resource_rate_per_s(const resource *r);   /* at which all its users together are served */
/* Rate at which the host computes. An execution that only moves bytes any more has its core as if it computed. */
double host_load_flop_per_s(const host *h);
static inline int resource_n_users(const resource *r)
{
    return r->free.users.n + (r->limited ? r->limited->queue.users.n : 0);
}

void resource_free(resource *r);
int resource_like(resource *r, const resource *other, double n_units); /* so many units of its speeds: 0, or SIM_OUT_OF_MEMORY */
void resource_set_speed(resource *r, double unit_per_s, double now_s);
void resource_set_nominal_speed(resource *r, double nominal_per_s, double now_s); /* has a limit: all speeds in proportion */
/* Joins as n users, each of which wants the amount: 0, or SIM_OUT_OF_MEMORY. */
int resource_join(resource *r, int id, int n, double amount, int is_limited, int64_t order, double now_s);
double resource_next_s(const resource *r, double now_s);        /* date at which the first user is served; INFINITY: none */
int resource_take_served(resource *r, double now_s, double tolerance_s); /* a user that has been served, or -1 */

#ifdef SMPY_CHECK
void hosts_check(const hosts *all);
#endif
#endif
