/* zone.h -- the interface between a platform and its topologies; private to platform*.c, path.c and the route_*.c files.
 *
 * A new topology is a file route_<kind>.c with its state, its `zone_kind`, and the function of platform.h that adds such a zone.
 * Invariants, which platform_check() checks in a debug build:
 *   (1) the members of a zone have the local indices 0, 1, ... in order of creation;
 *   (2) the point of a zone is a member of its parent, whose depth is less by 1; the point of the root is a member of none (-1). */
#ifndef SMPY_ZONE_H
#define SMPY_ZONE_H
#include "machine/platform.h"

typedef struct zone zone;
typedef struct route_table route_table; /* route_table.h */

typedef struct {
    int source, target;         /* local indices of members */
    int gateway[2];             /* points inside source and target; -1 for a member that is no zone */
    int n;
    const int *link;
} declared_route;

typedef struct zone_kind zone_kind;

struct zone_kind {
    /* Appends the links between two members to the path. 0, or a negative error. */
    int (*route)(const platform *p, const void *state, int source, int target, platform_path *path);
    /* The gateways of the route between two members, as in declared_route. NULL: no member can be a zone. */
    int (*gateways)(const void *state, int source, int target, int gateway[2]);
    int takes_members; /* 0: all follow from the topology, and none can be added */
    /* NULL: routes cannot be declared. */
    int (*add_route)(void *state, const declared_route *route);
    /* The route declared as the i-th; 0: there are not so many. NULL if add_route is. */
    int (*declared)(const void *state, int i, declared_route *route);
    /* Takes a zone over as a plane of this one, whose members are the plane's. 0, or a negative error. NULL: it has no planes. */
    int (*add_plane)(void *state, const zone_kind *kind, void *plane);
    void (*check)(const void *state); /* aborts where an invariant is broken; NULL: there is none */
    void (*free)(void *state);
};

struct zone {
    const zone_kind *kind;
    void *state;                /* owned */
    int point, depth, n_members;
    route_table *bypasses;      /* by the points of hosts, routers and zones; owned; NULL: there are none */
};

/* Adds a zone, which owns `state` from here on; frees it on failure. The zone's point, or a negative error. A parent that has
 * planes takes it as one of them: its point is the parent's, and the hosts and router that it adds are those of the first plane. */
int zone_add(platform *p, int parent_zone, const zone_kind *kind, void *state);
/* Adds n hosts with consecutive points. The first one's point, or a negative error. */
int zone_add_hosts(platform *p, int zone_point, int n, double speed_flop_per_s, int cores);
int zone_add_router(platform *p, int zone_point);
int path_append(const platform *p, platform_path *path, int link); /* 0, or a negative error */
void zone_routes_adapt(platform *p); /* a zone has routes of ROUTES_ADAPTIVE */
/* The links from `first` on are those that another detour would change. */
static inline void path_set_choice(platform_path *path, int first)
{
    if (path->first_choice == path->end_choice) path->first_choice = first;
    path->end_choice = path->n;
}

/* Does a route of this kind go by way of a drawn place? `seed` becomes that of its draw. */
static inline int path_is_detour(const platform_path *path, int routing, uint64_t *seed)
{
    if (routing == ROUTES_ADAPTIVE) *seed += (uint64_t)path->detour;
    return routing == ROUTES_VALIANT || (routing == ROUTES_ADAPTIVE && path->detour);
}
double path_link_latency_s(const platform *p, const platform_path *path, int link); /* latency that a link adds to the path's */
/* Appends the route between two hosts or routers of any zones. 0, or a negative error. */
int path_append_route(const platform *p, int source, int target, platform_path *path);
void *zone_state(const platform *p, int zone_point, const zone_kind *kind); /* NULL: it is no zone of that kind */
int zone_member(const platform *p, int zone_point, int point);              /* its local index, or -1: it is no member */

/* The first link of each kind in a cluster; -1: there are none. */
typedef struct {
    int wires, wire_stride;     /* links of a wire: the first is used upward, the last downward */
    int loopbacks, memories, limiters, backbone;
} cluster_links;
int cluster_is_valid(const cluster *c);
/* The links from `first` on are of bundles of `width` wires: 0, or a negative error. */
int cluster_set_wire_power(platform *p, const cluster *c, int first, int width);
int cluster_add_links(platform *p, const cluster *c, int n_wires, int n_switches, cluster_links *out);
/* The same with wires that are bundles: first n[0] wires of width[0] times the cluster's bandwidth each, then n[1], ... */
int cluster_add_bundles(platform *p, const cluster *c, int n_kinds, const int *n, const int *width, int n_switches,
                        cluster_links *out);
/* Appends the route of a host to itself: over its loopback, which has to exist, and its memory, if any. 0, or a negative error. */
int cluster_append_loopback(const platform *p, const cluster_links *l, int host, platform_path *path);

typedef struct {
    int source, target; /* hosts, by local index */
} host_pair;

/* Index of the cable, of n parallel ones, for messages from one host to another. Hosts in a row use all, whether they send to one
 * host, or each to that at some distance, or in reverse order. (By source + target mod n, they would not: s + (s + distance) is
 * always even, or always odd, and s + (last - s) is always the same.) */
static inline int cable_between(const host_pair *pair, int n)
{
    return (int)(((int64_t)pair->source + pair->target / n) % n);
}

static inline int wire_up(const cluster_links *l, int wire) { return l->wires + wire * l->wire_stride; }
static inline int wire_down(const cluster_links *l, int wire) { return wire_up(l, wire) + l->wire_stride - 1; }
#endif
