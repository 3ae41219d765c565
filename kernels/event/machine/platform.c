/* platform.c -- builds a platform. */
#include "machine/platform_parts.h"
#include "machine/route_table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

platform *platform_new(void)
{
    return calloc(1, sizeof(platform));
}

void platform_free(platform *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_zones; i++) {
        p->zones[i].kind->free(p->zones[i].state);
        if (p->zones[i].bypasses) route_table_free(p->zones[i].bypasses);
        free(p->zones[i].bypasses);
    }
    free(p->bandwidth_bytes_per_s);
    free(p->latency_s);
    free(p->policy);
    free(p->speed_flop_per_s);
    free(p->cores);
    free(p->host_point);
    free(p->points);
    free(p->zones);
    profile_table_free(&p->profiles);
    power_table_free(&p->power);
    free(p);
}

/* ---- growing: on failure all items stay, and none counts as added ---- */

/* The room to reserve for n + more items, or a negative error. */
static int enough_room(int n, int more, int room)
{
    if (more > INT_MAX - n) return PLATFORM_TOO_LARGE;
    if (n + more <= room) return room;
    int doubled = room > INT_MAX / 2 ? INT_MAX : 2 * room;
    return n + more > doubled ? n + more : doubled;
}

/* `array` is the address of a pointer of any object type, so the pointer is copied as bytes. */
static int resize(void *array, int room, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, (size_t)room * size);
    if (!grown) return PLATFORM_NO_MEMORY;
    memcpy(array, &grown, sizeof grown);
    return 0;
}

static int reserve_links(platform *p, int more)
{
    int room = enough_room(p->n_links, more, p->link_room);
    if (room < 0 || room == p->link_room) return room < 0 ? room : 0;
    if (resize(&p->bandwidth_bytes_per_s, room, sizeof *p->bandwidth_bytes_per_s) < 0
        || resize(&p->latency_s, room, sizeof *p->latency_s) < 0 || resize(&p->policy, room, sizeof *p->policy) < 0)
        return PLATFORM_NO_MEMORY;
    p->link_room = room;
    return 0;
}

static int reserve_hosts(platform *p, int more)
{
    int room = enough_room(p->n_hosts, more, p->host_room);
    if (room < 0 || room == p->host_room) return room < 0 ? room : 0;
    if (resize(&p->speed_flop_per_s, room, sizeof *p->speed_flop_per_s) < 0
        || resize(&p->cores, room, sizeof *p->cores) < 0 || resize(&p->host_point, room, sizeof *p->host_point) < 0)
        return PLATFORM_NO_MEMORY;
    p->host_room = room;
    return 0;
}

static int reserve_points(platform *p, int more)
{
    int room = enough_room(p->n_points, more, p->point_room);
    if (room < 0 || room == p->point_room) return room < 0 ? room : 0;
    if (resize(&p->points, room, sizeof *p->points) < 0) return PLATFORM_NO_MEMORY;
    p->point_room = room;
    return 0;
}

static int reserve_zone(platform *p)
{
    int room = enough_room(p->n_zones, 1, p->zone_room);
    if (room < 0 || room == p->zone_room) return room < 0 ? room : 0;
    if (resize(&p->zones, room, sizeof *p->zones) < 0) return PLATFORM_NO_MEMORY;
    p->zone_room = room;
    return 0;
}

/* ---- links ---- */

static int can_be_link(double bandwidth_bytes_per_s, double latency_s)
{
    return bandwidth_bytes_per_s > 0 && isfinite(bandwidth_bytes_per_s) && latency_s >= 0 && isfinite(latency_s);
}

int platform_add_links(platform *p, int n, double bandwidth_bytes_per_s, double latency_s, int policy)
{
    if (n < 0 || !can_be_link(bandwidth_bytes_per_s, latency_s) || (policy != LINK_SHARED && policy != LINK_FATPIPE))
        return PLATFORM_BAD_ARGUMENT;
    int error = reserve_links(p, n);
    if (error < 0) return error;
    int first = p->n_links;
    for (int i = first; i < first + n; i++) {
        p->bandwidth_bytes_per_s[i] = bandwidth_bytes_per_s;
        p->latency_s[i] = latency_s;
        p->policy[i] = (uint8_t)policy;
    }
    p->n_links += n;
    return first;
}

int platform_add_link(platform *p, double bandwidth_bytes_per_s, double latency_s, int policy)
{
    return platform_add_links(p, 1, bandwidth_bytes_per_s, latency_s, policy);
}

int platform_set_links(platform *p, int first, int n, double bandwidth_bytes_per_s, double latency_s)
{
    if (first < 0 || n < 0 || n > p->n_links - first || !can_be_link(bandwidth_bytes_per_s, latency_s))
        return PLATFORM_BAD_ARGUMENT;
    for (int i = first; i < first + n; i++) {
        p->bandwidth_bytes_per_s[i] = bandwidth_bytes_per_s;
        p->latency_s[i] = latency_s;
    }
    return 0;
}

int platform_n_links(const platform *p) { return p->n_links; }
const double *platform_bandwidth_bytes_per_s(const platform *p) { return p->bandwidth_bytes_per_s; }
const double *platform_latency_s(const platform *p) { return p->latency_s; }
const uint8_t *platform_policy(const platform *p) { return p->policy; }
const profile_table *platform_profiles(const platform *p) { return &p->profiles; }
profile_table *platform_profile_table(platform *p) { return &p->profiles; }
const power_table *platform_power(const platform *p) { return &p->power; }
power_table *platform_power_table(platform *p) { return &p->power; }
double platform_link_bandwidth_bytes_per_s(const platform *p, int link) { return p->bandwidth_bytes_per_s[link]; }
double platform_link_latency_s(const platform *p, int link) { return p->latency_s[link]; }
int platform_link_policy(const platform *p, int link) { return p->policy[link]; }

/* ---- points ---- */

static int is_point(const platform *p, int number, int kind)
{
    return number >= 0 && number < p->n_points && p->points[number].kind == kind;
}

static zone *zone_at(const platform *p, int number)
{
    return &p->zones[p->points[number].self];
}

/* Hands a zone over to one that has planes; only a zone whose members all follow from its topology can be one. */
static int add_plane(platform *p, int parent_zone, const zone_kind *kind, void *state)
{
    const zone *parent = zone_at(p, parent_zone);
    int error = kind->add_route || kind->gateways || kind->add_plane ? PLATFORM_BAD_ARGUMENT : 0;
    if (!error) error = parent->kind->add_plane(parent->state, kind, state);
    if (error < 0) kind->free(state);
    return error < 0 ? error : parent_zone;
}

int zone_add(platform *p, int parent_zone, const zone_kind *kind, void *state)
{
    if (is_point(p, parent_zone, POINT_ZONE) && zone_at(p, parent_zone)->kind->add_plane)
        return add_plane(p, parent_zone, kind, state);
    int fits = parent_zone < 0 ? p->n_zones == 0
                               : is_point(p, parent_zone, POINT_ZONE) && zone_at(p, parent_zone)->kind->gateways;
    int error = fits ? 0 : PLATFORM_BAD_ARGUMENT;
    if (!error && parent_zone >= 0 && zone_at(p, parent_zone)->depth >= PLATFORM_DEPTH - 1) error = PLATFORM_TOO_DEEP;
    if (!error) error = reserve_points(p, 1);
    if (!error) error = reserve_zone(p);
    if (error < 0) {
        kind->free(state);
        return error;
    }
    zone *parent = parent_zone < 0 ? NULL : zone_at(p, parent_zone);
    p->points[p->n_points] = (point){.zone = parent ? p->points[parent_zone].self : -1,
                                     .index = parent ? parent->n_members++ : 0, .self = p->n_zones, .kind = POINT_ZONE};
    p->zones[p->n_zones++]
        = (zone){.kind = kind, .state = state, .point = p->n_points, .depth = parent ? parent->depth + 1 : 0};
    return p->n_points++;
}

/* Number of hosts of a zone with planes: its members are hosts, and after them perhaps one router. */
static int n_hosts_of(const platform *p, const zone *z)
{
    return z->n_members - (p->points[z->point + z->n_members].kind == POINT_ROUTER);
}

void *zone_state(const platform *p, int zone_point, const zone_kind *kind)
{
    return is_point(p, zone_point, POINT_ZONE) && zone_at(p, zone_point)->kind == kind ? zone_at(p, zone_point)->state : NULL;
}

int zone_member(const platform *p, int zone_point, int number)
{
    const int is_member = is_point(p, zone_point, POINT_ZONE) && number >= 0 && number < p->n_points
                       && p->points[number].zone == p->points[zone_point].self;
    return is_member ? p->points[number].index : -1;
}

static int can_be_host(double speed_flop_per_s, int cores)
{
    return speed_flop_per_s > 0 && isfinite(speed_flop_per_s) && cores >= 1;
}

int zone_add_hosts(platform *p, int zone_point, int n, double speed_flop_per_s, int cores)
{
    if (n < 1 || !can_be_host(speed_flop_per_s, cores)) return PLATFORM_BAD_ARGUMENT;
    zone *z = zone_at(p, zone_point);
    if (z->kind->add_plane && z->n_members > 0) return n == n_hosts_of(p, z) ? zone_point + 1 : PLATFORM_BAD_ARGUMENT;
    int error = reserve_hosts(p, n);
    if (!error) error = reserve_points(p, n);
    if (error < 0) return error;
    int first = p->n_points;
    for (int i = 0; i < n; i++) {
        p->speed_flop_per_s[p->n_hosts] = speed_flop_per_s;
        p->cores[p->n_hosts] = cores;
        p->host_point[p->n_hosts] = p->n_points;
        p->points[p->n_points++] = (point){
            .zone = p->points[zone_point].self, .index = z->n_members++, .self = p->n_hosts++, .kind = POINT_HOST};
    }
    return first;
}

int zone_add_router(platform *p, int zone_point)
{
    zone *z = zone_at(p, zone_point);
    if (z->kind->add_plane && n_hosts_of(p, z) < z->n_members) return zone_point + z->n_members;
    int error = reserve_points(p, 1);
    if (error < 0) return error;
    p->points[p->n_points]
        = (point){.zone = p->points[zone_point].self, .index = z->n_members++, .self = -1, .kind = POINT_ROUTER};
    return p->n_points++;
}

/* A regular topology has all its members from the start. */
static int takes_members(const platform *p, int zone_point)
{
    return is_point(p, zone_point, POINT_ZONE) && zone_at(p, zone_point)->kind->takes_members;
}

int platform_add_host(platform *p, int zone_point, double speed_flop_per_s, int cores)
{
    if (!takes_members(p, zone_point)) return PLATFORM_BAD_ARGUMENT;
    return zone_add_hosts(p, zone_point, 1, speed_flop_per_s, cores);
}

int platform_add_hosts(platform *p, int zone_point, int n, double speed_flop_per_s, int cores)
{
    return takes_members(p, zone_point) ? zone_add_hosts(p, zone_point, n, speed_flop_per_s, cores) : PLATFORM_BAD_ARGUMENT;
}

int platform_add_router(platform *p, int zone_point)
{
    return takes_members(p, zone_point) ? zone_add_router(p, zone_point) : PLATFORM_BAD_ARGUMENT;
}

int platform_set_hosts(platform *p, int first, int n, double speed_flop_per_s, int cores)
{
    if (first < 0 || n < 0 || n > p->n_hosts - first || !can_be_host(speed_flop_per_s, cores)) return PLATFORM_BAD_ARGUMENT;
    for (int i = first; i < first + n; i++) {
        p->speed_flop_per_s[i] = speed_flop_per_s;
        p->cores[i] = cores;
    }
    return 0;
}

int platform_n_hosts(const platform *p) { return p->n_hosts; }
double platform_speed_flop_per_s(const platform *p, int host) { return p->speed_flop_per_s[host]; }
int platform_cores(const platform *p, int host) { return p->cores[host]; }

int platform_point_kind(const platform *p, int number)
{
    return number >= 0 && number < p->n_points ? p->points[number].kind : PLATFORM_BAD_ARGUMENT;
}

int platform_point_zone(const platform *p, int number)
{
    if (number < 0 || number >= p->n_points) return PLATFORM_BAD_ARGUMENT;
    return p->points[number].zone < 0 ? -1 : p->zones[p->points[number].zone].point;
}

/* ---- declared routes ---- */

static int is_inside(const platform *p, int number, int zone_point)
{
    while (number != zone_point && p->points[number].zone >= 0) number = p->zones[p->points[number].zone].point;
    return number == zone_point;
}

int platform_check_end(const platform *p, int z, int member, int gateway)
{
    if (member < 0 || member >= p->n_points || p->points[member].zone != z) return PLATFORM_BAD_ARGUMENT;
    if (p->points[member].kind != POINT_ZONE) return gateway == -1 ? 0 : PLATFORM_BAD_GATEWAY;
    if (gateway < 0 || gateway >= p->n_points || p->points[gateway].kind == POINT_ZONE) return PLATFORM_BAD_GATEWAY;
    return is_inside(p, gateway, member) ? 0 : PLATFORM_BAD_GATEWAY;
}

int platform_add_route(platform *p, int zone_point, int source, int target, int source_gateway, int target_gateway,
                       int n, const int *link)
{
    if (!takes_members(p, zone_point) || !zone_at(p, zone_point)->kind->add_route || n < 1) return PLATFORM_BAD_ARGUMENT;
    int z = p->points[zone_point].self;
    int error = platform_check_end(p, z, source, source_gateway);
    if (!error) error = platform_check_end(p, z, target, target_gateway);
    if (error < 0) return error;
    for (int i = 0; i < n; i++)
        if (link[i] < 0 || link[i] >= p->n_links) return PLATFORM_BAD_ARGUMENT;
    return p->zones[z].kind->add_route(p->zones[z].state,
                                       &(declared_route){.source = p->points[source].index,
                                                         .target = p->points[target].index,
                                                         .gateway = {source_gateway, target_gateway},
                                                         .n = n, .link = link});
}

int platform_add_bypass(platform *p, int zone_point, int source, int target, int source_gateway, int target_gateway, int n,
                        const int *link)
{
    if (!is_point(p, zone_point, POINT_ZONE) || n < 1) return PLATFORM_BAD_ARGUMENT;
    const int ends[2] = {source, target}, gateways[2] = {source_gateway, target_gateway};
    const int joins_zones = is_point(p, source, POINT_ZONE);
    for (int i = 0; i < 2; i++) {
        if (ends[i] < 0 || ends[i] >= p->n_points || is_point(p, ends[i], POINT_ZONE) != joins_zones) return PLATFORM_BAD_ARGUMENT;
        if (joins_zones ? ends[i] == zone_point || !is_inside(p, ends[i], zone_point) : zone_member(p, zone_point, ends[i]) < 0)
            return PLATFORM_BAD_ARGUMENT;
        const int error = platform_check_end(p, p->points[ends[i]].zone, ends[i], gateways[i]);
        if (error < 0) return error;
    }
    for (int i = 0; i < n; i++)
        if (link[i] < 0 || link[i] >= p->n_links) return PLATFORM_BAD_ARGUMENT;
    zone *z = zone_at(p, zone_point);
    if (!z->bypasses) z->bypasses = calloc(1, sizeof *z->bypasses);
    if (!z->bypasses) return PLATFORM_NO_MEMORY;
    return route_table_add(z->bypasses, &(declared_route){.source = source, .target = target,
                                                          .gateway = {source_gateway, target_gateway}, .n = n, .link = link});
}

void platform_scale_link(platform *p, int link, double bandwidth, double latency)
{
    for (int l = link < 0 ? 0 : link; l < (link < 0 ? p->n_links : link + 1); l++) {
        p->bandwidth_bytes_per_s[l] *= bandwidth;
        p->latency_s[l] *= latency;
    }
}
