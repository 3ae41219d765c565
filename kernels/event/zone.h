/* zone.h -- what a kind of zone can do, and what platform.c lends to it. Private to platform.c and the route_*.c files.
 *
 * A new topology is a file route_<kind>.c: its state, a `zone_kind`, and the function of platform.h that adds one.
 * Invariants:
 *   (1) members of a zone have the local indices 0, 1, ... in order of creation;
 *   (2) a zone's point lies in its parent, one level up; the root's point lies in no zone (-1). */
#ifndef SMPY_ZONE_H
#define SMPY_ZONE_H
#include "platform.h"

typedef struct zone zone;

typedef struct {
    int source, target;         /* local indices */
    int gateway[2];             /* points inside source and target, or -1 */
    int n;
    const int *link;
} declared_route;

typedef struct {
    /* Appends the links between two members to the path. 0, or a negative error. */
    int (*route)(const platform *p, const void *state, int source, int target, platform_path *path);
    /* The points by which the route between two members leaves the one and enters the other (-1 for a host or router).
     * NULL: no zones inside. */
    int (*gateways)(const void *state, int source, int target, int gateway[2]);
    /* NULL: all members and routes follow from the topology, nothing can be added. */
    int (*add_route)(void *state, const declared_route *route);
    void (*free)(void *state);
} zone_kind;

struct zone {
    const zone_kind *kind;
    void *state;                /* owned */
    int point, depth, n_members;
};

/* Takes `state` over, also when it fails. The zone's point, or a negative error. */
int zone_add(platform *p, int parent_zone, const zone_kind *kind, void *state);
/* `n` hosts in a row; the first one's point, or a negative error. */
int zone_add_hosts(platform *p, int zone_point, int n, double speed_flop_per_s, int cores);
int zone_add_router(platform *p, int zone_point);
/* `n` equal links in a row; the first one's number, or a negative error. n = 0 is allowed. */
int platform_add_links(platform *p, int n, double bandwidth_bytes_per_s, double latency_s, int policy);
int path_append(const platform *p, platform_path *path, int link); /* 0, or a negative error */

/* The links of a cluster, by what they are for; -1 where there are none. */
typedef struct {
    int wires, wire_stride;     /* wire i goes up by link wires + i * stride, down by the last link of that stride */
    int loopbacks, limiters, backbone;
} cluster_links;
int cluster_is_valid(const cluster *c);
int cluster_add_links(platform *p, const cluster *c, int n_wires, int n_switches, cluster_links *out);

static inline int wire_up(const cluster_links *l, int wire) { return l->wires + wire * l->wire_stride; }
static inline int wire_down(const cluster_links *l, int wire) { return wire_up(l, wire) + l->wire_stride - 1; }
#endif
