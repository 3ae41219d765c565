/* network.h -- the network of a world: what carries transfers in simulated time.
 *
 * A network is a kind (network_kind.h) and its state. A kind of the kernel calls nothing but this header, transfer.h, clock.h and
 * the structures (heap.h, ...). */
#ifndef SMPY_NETWORK_H
#define SMPY_NETWORK_H
#include "basics/clock.h"
#include "machine/platform.h"
#include "networks/network_kind.h"
#include "networks/transfer.h"

enum { LINK_WATCHERS = 2 };

typedef struct {
    const network_kind *kind;
    void *state;
    link_watcher links_watcher[LINK_WATCHERS]; /* told of flows on links */
    int n_links_watchers;
    platform_path path;          /* of network_calls.route */
} network;

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
int network_lose(sim *s, int transfer, int link); /* the link that it needs is off: SIM_LINK_OFF */
void network_worked(sim *s, int n_changed, int n_solves); /* for statistics, and for law 3 of sim.h */
#endif
