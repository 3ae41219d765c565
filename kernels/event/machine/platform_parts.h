/* platform_parts.h -- the arrays of a platform; private to platform.c, path.c and platform_check.c. */
#ifndef SMPY_PLATFORM_PARTS_H
#define SMPY_PLATFORM_PARTS_H
#include "machine/power.h"
#include "machine/profile.h"
#include "machine/zone.h"

typedef struct {
    int zone;  /* the zone it lies in, by zone number; -1 for the root */
    int index; /* among the members of that zone */
    int self;  /* number of the host or of the zone */
    int kind;  /* POINT_* */
} point;

struct platform {
    int n_links, link_room;
    double *bandwidth_bytes_per_s, *latency_s;
    uint8_t *policy;
    int n_hosts, host_room;
    double *speed_flop_per_s;
    int *cores, *host_point;
    int n_points, point_room;
    point *points;
    int n_zones, zone_room;
    zone *zones;
    int is_adaptive;
    profile_table profiles;
    power_table power;
};

/* Is the gateway right for a route that starts or ends at `member` of the zone of number z? 0, or a negative error. */
int platform_check_end(const platform *p, int z, int member, int gateway);
#endif
