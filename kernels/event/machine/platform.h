/* platform.h -- a machine: hosts, links, and zones, which know the routes between their members.
 *
 * A platform is built from the outermost zone inward and then only read: any number of worlds may share one. The members of a zone
 * are hosts, routers and other zones; together they are called points. The route between two hosts is that between members of the
 * innermost zone which contains both, continued inside a member that is a zone to the host from its gateway. Declared routes are
 * looked up, routes of regular topologies are computed. Where a zone has a bypass route between two of its members, or between two
 * zones inside it that contain the hosts, that one is taken instead.
 *
 * Invariants, which platform_check() checks in a debug build:
 *   (1) links, hosts and points are numbered 0, 1, ... in order of creation; so are, by a local index, the members of a zone;
 *   (2) zones form one tree of at most PLATFORM_DEPTH levels, whose root is the first point;
 *   (3) a declared route joins two members of its zone by links that exist, and names a gateway for each that is a zone: a host or
 *       router inside it.
 * Invariant of a path: (4) it lists links in travelling order; its latency is the sum of theirs, and of distances in zones that
 * have coordinates, each in the order in which SimGrid adds it. */
#ifndef SMPY_PLATFORM_H
#define SMPY_PLATFORM_H
#include <stdint.h>

/* cdef */
typedef struct platform platform;

enum { LINK_SHARED = 0, LINK_FATPIPE = 1 };
enum {                                /* errors; every function below may answer one of them */
    PLATFORM_NO_MEMORY = -1,
    PLATFORM_NO_ROUTE = -2,           /* none is declared between two members of a zone on the way */
    PLATFORM_BAD_ARGUMENT = -3,       /* a number out of range, or a zone that can have no such member */
    PLATFORM_TOO_LARGE = -4,          /* more than INT_MAX hosts, switches or links */
    PLATFORM_ROUTE_EXISTS = -5,
    PLATFORM_BAD_GATEWAY = -6,        /* not a host or router inside the zone that it should lead to */
    PLATFORM_TOO_DEEP = -7            /* more than PLATFORM_DEPTH zones within one another */
};
enum { PLATFORM_DEPTH = 256 };

/* A refused link, host, router or declared route leaves the platform as it was; after a refused zone or cluster the platform
 * can only be freed. */
platform *platform_new(void);
void platform_free(platform *p);
int platform_add_link(platform *p, double bandwidth_bytes_per_s, double latency_s, int policy); /* its number */
/* Adds n >= 0 equal links with consecutive numbers; the first one's. */
int platform_add_links(platform *p, int n, double bandwidth_bytes_per_s, double latency_s, int policy);
/* Gives n links with consecutive numbers another bandwidth and latency, before any world reads the platform. 0, or an error. */
int platform_set_links(platform *p, int first, int n, double bandwidth_bytes_per_s, double latency_s);
/* Likewise n hosts with consecutive numbers: another speed of a core, and another number of cores. */
int platform_set_hosts(platform *p, int first, int n, double speed_flop_per_s, int cores);
int platform_n_links(const platform *p);
int platform_n_hosts(const platform *p);

/* Adds a zone whose routes are all declared; returns its point. The first zone is the root: its parent is -1.
 * loopback_link: the route of a member to itself unless one is declared, or -1. */
int platform_add_full_zone(platform *p, int parent_zone, int loopback_link);
/* Adds a zone whose routes are the shortest sequences of declared ones, by number of links; of several, the one that Floyd's or
 * Dijkstra's search finds first. */
enum { SHORTEST_FLOYD = 0, SHORTEST_DIJKSTRA = 1 };
int platform_add_shortest_zone(platform *p, int parent_zone, int rule, int loopback_link);
/* Adds a zone of hosts with wires to a centre; if it has coordinates, every route has the distance of its ends in latency, too.
 * A route can be declared from a member to itself. */
int platform_add_star_zone(platform *p, int parent_zone, int has_coordinates);
/* Gives n members of a star with consecutive points their wires: links up and down, `stride` further for each one, and the
 * backbone, or -1. A member without wires is at the centre. 0, or an error. */
int platform_set_wires(platform *p, int zone, int first, int n, int up, int down, int stride, int backbone);
int platform_set_coordinates(platform *p, int zone, int point, double x_ms, double y_ms, double height_ms);
/* Adds a zone without routes. */
int platform_add_empty_zone(platform *p, int parent_zone);
int platform_add_host(platform *p, int zone, double speed_flop_per_s, int cores); /* its point */
/* Adds n equal hosts with consecutive points; the first one's. */
int platform_add_hosts(platform *p, int zone, int n, double speed_flop_per_s, int cores);
int platform_add_router(platform *p, int zone);                                   /* its point */
enum { POINT_HOST = 0, POINT_ROUTER = 1, POINT_ZONE = 2 };
int platform_point_kind(const platform *p, int point);
int platform_point_zone(const platform *p, int point); /* the point of the zone it lies in, -1 for the root */
/* Declares the links from one member of a zone to another, in this direction only. The gateway of a member that is itself a zone is
 * a host or router inside it, at any depth; that of any other member is -1. */
int platform_add_route(platform *p, int zone, int source, int target, int source_gateway, int target_gateway, int n,
                       const int *link);

/* Declares links to take instead of a route, in this direction only: between two hosts or routers of a zone (the gateways are
 * -1), or between two zones inside it at any depth, by way of a gateway inside each. */
int platform_add_bypass(platform *p, int zone, int source, int target, int source_gateway, int target_gateway, int n,
                        const int *link);

/* Equal hosts and the links between them. A bandwidth of 0: there is no such link.
 * The links are numbered in this order: wires (if split, each one's link up, then its link down), loopbacks, memories, limiters,
 * backbone. */
typedef struct {
    int n_hosts, cores;
    double speed_flop_per_s;
    double bandwidth_bytes_per_s, latency_s; /* values of every wire */
    int is_split;                            /* a wire is two links, one for each direction, not one for both */
    double loopback_bandwidth_bytes_per_s, loopback_latency_s; /* FATPIPE, one a host */
    double memory_bandwidth_bytes_per_s;     /* one a host with a loopback, shared by all messages inside the host */
    double limiter_bandwidth_bytes_per_s;    /* one a host; in fat trees and dragonflies, one a switch or router, too */
    double backbone_bandwidth_bytes_per_s, backbone_latency_s; /* flat clusters only */
    int backbone_policy;
    int wires_have_power;
    double wire_idle_w, wire_busy_w;         /* of each link of a wire (power.h) */
} cluster;

/* Adds a cluster with one wire a host, and a backbone that all traffic crosses; returns the zone's point. The points of its hosts
 * follow, then that of its router. */
int platform_add_flat_cluster(platform *p, int parent_zone, const cluster *c);

/* Adds a fat tree (Leiserson 1985): an XGFT(levels; children; parents) with parallel cables, given from the leaves upward; returns
 * the zone's point. The points of its hosts follow. Routing numbers the hosts from first_position: 0 in the first tree, the number
 * of hosts of all earlier trees in any other. */
int platform_add_fat_tree(platform *p, int parent_zone, const cluster *c, int n_levels, const int *children,
                          const int *parents, const int *cables, int first_position);

/* Adds a torus: hosts on a lattice whose rows are rings, size[i] of them on a ring of dimension i, with a wire from each host to
 * the next one on its ring; returns the zone's point. The points of its hosts follow, those along dimension 0 first. */
int platform_add_torus(platform *p, int parent_zone, const cluster *c, int n_dimensions, const int *size);

/* A dragonfly (Kim, Dally, Scott, Abts 2008) of Cray's kind (Faanes et al. 2012): groups of chassis of routers. Wires join a host
 * and its router; "green" ones all routers of a chassis, "black" ones the routers of all chassis of a group that have one place in
 * theirs, "blue" ones all groups. A wire of a colour is a bundle of so many: its bandwidth is multiplied. */
typedef struct {
    int n_groups, n_chassis, n_routers, n_hosts; /* in all, of a group, of a chassis, below a router */
    int n_blue, n_black, n_green;                /* wires of a bundle */
} dragonfly_shape;

/* Routes of a dragonfly or HyperX: the shortest; by way of a place that is drawn for each pair of hosts; or, for each message,
 * whichever of the two kinds has the least load when it sets out (networks/adaptive_routes.h). */
enum { ROUTES_MINIMAL = 0, ROUTES_VALIANT = 1, ROUTES_ADAPTIVE = 2 };

/* Adds a dragonfly, the last places of which may be empty; returns the zone's point. The points of its hosts follow, those below
 * one router together, then those of one chassis, then those of one group.
 * seed: of the groups by way of which routes go that are not minimal. */
int platform_add_dragonfly(platform *p, int parent_zone, const cluster *c, const dragonfly_shape *shape, int routing,
                           uint64_t seed);

/* Adds a HyperX (Ahn et al. 2009): a lattice of size[0] x size[1] x ... switches, cables[d] between every two that differ in
 * coordinate d alone, hosts_per_switch places for hosts below each, the last of which may be empty; returns the zone's point. The
 * points of its hosts follow, those of switch 0 first.
 * Minimal routes go straight, in the order of the dimensions. seed: of the switches by way of which the others go. */
int platform_add_hyperx(platform *p, int parent_zone, const cluster *c, int n_dimensions, const int *size, const int *cables,
                        int hosts_per_switch, int routing, uint64_t seed);

/* Edges between nodes: parallel cables, each of that bandwidth and latency. */
typedef struct {
    int n;
    const int *a, *b, *cables; /* [n]; a split cable's link up leads from a to b */
    const double *bandwidth_bytes_per_s, *latency_s;
} graph_edges;

/* Adds any network: the cluster's hosts are nodes 0, 1, ..., after which come n_switches switches; routes are shortest paths by
 * hops or by latency. Returns the zone's point; the points of its hosts follow. Of the cluster's own wires only `is_split` counts.
 * The links of the edges come first, in the order of the edges, those of each cable together. */
int platform_add_graph(platform *p, int parent_zone, const cluster *c, int n_switches, const graph_edges *edges,
                       int is_by_latency);

/* Adds a zone of hosts with n_rails network cards each; returns its point. As many clusters of one topology, alike in their numbers
 * of hosts, are then added with it as their parent. They are planes of one zone: each call returns this zone's point, whose hosts
 * (and router) follow once, and each plane has links of its own. Each pair of hosts takes one plane, as route_rails.c says. */
int platform_add_rails(platform *p, int parent_zone, int n_rails);

/* Before a world is on it: a link (-1: every one) has so many times its bandwidth and latency. */
void platform_scale_link(platform *p, int link, double bandwidth, double latency);

/* Writes the links of a route, at most `room` of them; returns how many there are. */
int platform_route_links(const platform *p, int source_host, int target_host, int room, int *link, double *latency_s);
double platform_link_bandwidth_bytes_per_s(const platform *p, int link);
double platform_link_latency_s(const platform *p, int link);
int platform_link_policy(const platform *p, int link);
double platform_speed_flop_per_s(const platform *p, int host); /* speed of one core */
int platform_cores(const platform *p, int host);
/* end cdef */

typedef struct {
    double latency_s;
    const double *link_latency_s; /* [n_links]: what each link adds to it, set by the caller; NULL: the platform's own */
    int detour;                   /* set by the caller: 0; else it draws the places by way of which adaptive routes go */
    int n, room;
    int first_choice, end_choice; /* places of the links that another detour would change; the same: there is no other way */
    int *link;                    /* owned; grows */
} platform_path;

int platform_is_adaptive(const platform *p); /* has it routes that depend on load? */
/* Fills `path`, whose room is used again. 0, or a negative error. */
int platform_route(const platform *p, int source_host, int target_host, platform_path *path);

const double *platform_bandwidth_bytes_per_s(const platform *p); /* [n_links] */
const double *platform_latency_s(const platform *p);             /* [n_links] */
const uint8_t *platform_policy(const platform *p);               /* [n_links] */
#ifdef SMPY_CHECK
void platform_check(const platform *p);                          /* aborts, with a message, where an invariant is broken */
#endif
#endif
