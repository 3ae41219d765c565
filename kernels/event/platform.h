/* platform.h -- a machine: hosts, links, and the zones that route between hosts.
 *
 * Built once from the outside in, then only read: any number of worlds may share one.
 * Invariants:
 *   (1) hosts and links are numbered 0, 1, ... in order of creation;
 *   (2) a zone knows its members by local index; a route is computed or looked up, never stored for regular topologies;
 *   (3) a path lists link ids in travelling order, its latency is the sum of the links' latencies in that order;
 *   (4) zones form one tree; a route leaves and enters a zone by the gateways that its parent's route names. */
#ifndef SMPY_PLATFORM_H
#define SMPY_PLATFORM_H
#include <stdint.h>

/* cdef */
typedef struct platform platform;

enum { LINK_SHARED = 0, LINK_FATPIPE = 1 };
enum {                                /* errors; every function below may answer one of them */
    PLATFORM_NO_MEMORY = -1,
    PLATFORM_NO_ROUTE = -2,           /* no zone on the way has links between the two */
    PLATFORM_BAD_ARGUMENT = -3,       /* a number out of range, or a zone that takes no such part */
    PLATFORM_TOO_LARGE = -4,          /* more than INT_MAX hosts, switches or links */
    PLATFORM_ROUTE_EXISTS = -5,
    PLATFORM_BAD_GATEWAY = -6         /* not a host or router inside the zone it is said to lead to */
};

/* Hosts, routers and zones are points, numbered 0, 1, ... in order of creation. A refused link, host, router or
 * declared route leaves the platform as it was; after a refused zone or cluster it is fit only to be freed. */
platform *platform_new(void);
void platform_free(platform *p);
int platform_add_link(platform *p, double bandwidth_bytes_per_s, double latency_s, int policy); /* its number */
int platform_n_links(const platform *p);
int platform_n_hosts(const platform *p);

/* A zone whose routes are all declared; its point. The first zone is the root: its parent is -1.
 * loopback_link: of a host's route to itself where none is declared, or -1. */
int platform_add_full_zone(platform *p, int parent_zone, int loopback_link);
int platform_add_host(platform *p, int zone, double speed_flop_per_s, int cores); /* its point */
int platform_add_router(platform *p, int zone);                                   /* its point */
enum { POINT_HOST = 0, POINT_ROUTER = 1, POINT_ZONE = 2 };
int platform_point_kind(const platform *p, int point);
int platform_point_zone(const platform *p, int point); /* the point of the zone it lies in, -1 for the root */
/* One direction between two members of a zone. A member that is itself a zone has a gateway, a host or router somewhere
 * inside it; for others the gateway is -1. */
int platform_add_route(platform *p, int zone, int source, int target, int source_gateway, int target_gateway, int n,
                       const int *link);

/* Hosts that are all alike. A bandwidth of 0: there is no such link.
 * The links of a cluster follow one another: wires (up, then down, if split), loopbacks, limiters, backbone. */
typedef struct {
    int n_hosts, cores;
    double speed_flop_per_s;
    double bandwidth_bytes_per_s, latency_s; /* of every wire */
    int is_split;                            /* a wire is two links, one each way, rather than one for both ways */
    double loopback_bandwidth_bytes_per_s, loopback_latency_s; /* FATPIPE, one a host */
    double limiter_bandwidth_bytes_per_s;    /* one a host, and one a switch of a fat tree */
    double backbone_bandwidth_bytes_per_s, backbone_latency_s; /* flat clusters only */
    int backbone_policy;
} cluster;

/* One wire a host, and a backbone that all traffic crosses. After the zone's point come its hosts' and its router's. */
int platform_add_flat_cluster(platform *p, int parent_zone, const cluster *c); /* its point */

/* Leiserson 1985, as XGFT(levels; children; parents; cables) with parallel cables, from the leaves upward.
 * After the zone's point come its hosts'. first_position: where routing starts to count them, 0 for the first tree and
 * the hosts of all earlier trees for the others. */
int platform_add_fat_tree(platform *p, int parent_zone, const cluster *c, int n_levels, const int *children,
                          const int *parents, const int *cables, int first_position); /* its point */

/* The links of a route, at most `room` of them written; how many there are. */
int platform_route_links(const platform *p, int source_host, int target_host, int room, int *link, double *latency_s);
double platform_link_bandwidth_bytes_per_s(const platform *p, int link);
double platform_link_latency_s(const platform *p, int link);
int platform_link_policy(const platform *p, int link);
double platform_speed_flop_per_s(const platform *p, int host); /* of one core */
int platform_cores(const platform *p, int host);
/* end cdef */

typedef struct {
    double latency_s;
    int n, room;
    int *link; /* owned; grows */
} platform_path;

/* Fills `path` (reusing its room). 0, or a negative error: no route. */
int platform_route(const platform *p, int source_host, int target_host, platform_path *path);

const double *platform_bandwidth_bytes_per_s(const platform *p); /* [n_links] */
const double *platform_latency_s(const platform *p);             /* [n_links] */
const uint8_t *platform_policy(const platform *p);               /* [n_links] */
int platform_check(const platform *p);                           /* 1 when the invariants hold */
#endif
