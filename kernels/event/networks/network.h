/* network.h -- the network of a world: what carries transfers in simulated time.
 *
 * A network is a kind (network_kind.h) and its state. A kind of the kernel calls nothing but this header, transfer.h, clock.h and
 * the structures (heap.h, ...). This room knows nothing else of a world: a world's record begins with its network, which has all
 * that the network needs of the world, and what it counts. */
#ifndef SMPY_NETWORK_H
#define SMPY_NETWORK_H
#include "basics/clock.h"
#include "machine/platform.h"
#include "networks/network_kind.h"
#include "networks/transfer.h"

enum { LINK_WATCHERS = 2 };

/* Present numbers of the links. */
typedef struct {
    const double *bandwidth_bytes_per_s; /* [link] */
    const double *latency_s;             /* [link] */
    double *own_bandwidth_bytes_per_s, *own_latency_s; /* NULL: they are the platform's, and do not change */
    uint8_t *is_off;                     /* [link]; NULL: all are on */
} present_links;

/* Rank or transfer that was lost because a host or link is off, or a device lacks something; -1: nothing of that kind. */
typedef struct {
    int host, rank;
    int link, transfer;
} loss;

/* The CPUs of ranks, for kinds whose messages need them (network_kind.sends_from_s). */
typedef struct {
    int (*idles)(const sim *s, int rank);
    double (*from_s)(const sim *s, int rank);
    void (*load)(sim *s, int rank, double until_s);
} rank_cpus;

/* Told of transfers. */
typedef struct {
    void (*set_out)(sim *s, int transfer);
    void (*arrived)(sim *s, int transfer);
} transfer_listener;

typedef struct {
    int64_t messages, bytes;     /* transfers that started as messages, and their bytes */
    int64_t solves;
    int64_t ended;               /* transfers */
} network_counts;

typedef struct network {
    const network_kind *kind;
    void *state;
    transfers transfers;
    link_watcher links_watcher[LINK_WATCHERS]; /* told of flows on links */
    int n_links_watchers;
    platform_path path;          /* of network_calls.route */

    /* of the world */
    const platform *machine;
    const sim_clock *clock;
    int64_t *order;              /* counts creations of everything that fires */
    unsigned *effort;            /* counts work, to look at the clock now and then */
    const rank_cpus *cpus;
    const transfer_listener *listener; /* NULL: nobody listens */
    present_links links;         /* changed by the world */

    loss lost;
    int unreached_host[2];       /* by the last route that there is not */
    network_counts counts;
} network;

/* A world's record begins with its network. */
static inline network *network_of(const sim *s)
{
    return (network *)s;
}

/* Before the first transfer: 0, or an error. The block of parameters is the kind's own, and read before it returns. */
int sim_use_network(sim *s, const network_kind *kind, const void *parameters);
void network_free(network *n);
/* Before the first transfer: tells one more of flows on links. 0: links are not shared, or SIM_OUT_OF_MEMORY: too many; 1: it will
 * be told. */
int network_watch_links(sim *s, const link_watcher *watcher);

/* For networks: */
const sim_clock *network_clock(const sim *s);
const platform *network_platform(const sim *s);
/* Present values of the links. If profiles change them, another world of the same platform has other arrays. */
const double *network_bandwidth_bytes_per_s(const sim *s);
const double *network_latency_s(const sim *s);
int network_link_is_on(const sim *s, int link);
/* The route between two hosts with its present latency, into `path`, which the caller keeps for reuse: 0, SIM_NO_ROUTE (the user is
 * told between which hosts), SIM_LINK_OFF, or SIM_OUT_OF_MEMORY. */
int network_route(sim *s, int source_host, int target_host, platform_path *path);
int network_lose(sim *s, int transfer, int link); /* the link that it needs is off: SIM_LINK_OFF; -1: one that is to start */
void network_worked(sim *s, int n_changed, int n_solves); /* for statistics, and for law 3 of sim.h */
/* CPUs of ranks: */
int network_receiver(const sim *s, int transfer);         /* the rank whose CPU takes it, or -1 */
int network_cpu_idles(const sim *s, int rank);            /* it has nothing to do now but to take messages */
double network_cpu_from_s(const sim *s, int rank);        /* from then on messages cost it time */
void network_cpu_load(sim *s, int rank, double until_s);
#endif
