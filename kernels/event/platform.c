/* platform.c -- builds a platform, and composes the routes between hosts of different zones. */
#include "platform.h"

#include "profile.h"
#include "route_table.h"
#include "zone.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int zone;  /* the zone it lies in, by zone number; -1 for the root */
    int index; /* among the members of that zone */
    int self;  /* of a host its host number, of a zone its zone number */
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
    profile_table profiles;
};

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

/* Of a zone with planes: its members are hosts, after which there may come one router. */
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

/* Is the gateway right for a route that starts or ends at `member` of `z`? 0, or a negative error. */
static int check_end(const platform *p, int z, int member, int gateway)
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
    int error = check_end(p, z, source, source_gateway);
    if (!error) error = check_end(p, z, target, target_gateway);
    if (error < 0) return error;
    for (int i = 0; i < n; i++)
        if (link[i] < 0 || link[i] >= p->n_links) return PLATFORM_BAD_ARGUMENT;
    return p->zones[z].kind->add_route(p->zones[z].state,
                                       &(declared_route){.source = p->points[source].index,
                                                         .target = p->points[target].index,
                                                         .gateway = {source_gateway, target_gateway},
                                                         .n = n, .link = link});
}

/* ---- routing ---- */

double path_link_latency_s(const platform *p, const platform_path *path, int link)
{
    return path->link_latency_s ? path->link_latency_s[link] : p->latency_s[link];
}

int path_append(const platform *p, platform_path *path, int link)
{
    if (path->n == path->room) {
        if (path->room > INT_MAX / 2) return PLATFORM_TOO_LARGE;
        int room = path->room ? 2 * path->room : 16;
        if (resize(&path->link, room, sizeof *path->link) < 0) return PLATFORM_NO_MEMORY;
        path->room = room;
    }
    path->link[path->n++] = link;
    path->latency_s += path_link_latency_s(p, path, link);
    return 0;
}

/* ---- bypass routes ---- */

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
        const int error = check_end(p, p->points[ends[i]].zone, ends[i], gateways[i]);
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

/* The zone a point lies in, or the one some levels further out. */
static int zone_around(const platform *p, int number, int level)
{
    int z = p->points[number].zone;
    for (; level > 0; level--) z = p->points[p->zones[z].point].zone;
    return p->zones[z].point;
}

/* How many zones around a point lie inside another one, which is around it. */
static int n_zones_around(const platform *p, const zone *common, int number)
{
    return p->zones[p->points[number].zone].depth - common->depth;
}

/* The bypass route between the zones around source and target, those i and j levels out; -1: there is none. */
static int bypass_at(const platform *p, const zone *common, int source, int target, int i, int j)
{
    if (i >= n_zones_around(p, common, source) || j >= n_zones_around(p, common, target)) return -1;
    return route_table_find(common->bypasses, zone_around(p, source, i), zone_around(p, target, j));
}

/* The first bypass route that there is, from the innermost zones outward; -1: there is none. */
static int find_bypass(const platform *p, const zone *common, int source, int target)
{
    if (p->points[source].zone == p->points[target].zone) return route_table_find(common->bypasses, source, target);
    const int n_source = n_zones_around(p, common, source), n_target = n_zones_around(p, common, target);
    for (int level = 0; level < n_source || level < n_target; level++) {
        int found = -1;
        for (int i = 0; i < level && found < 0; i++) {
            found = bypass_at(p, common, source, target, i, level);
            if (found < 0) found = bypass_at(p, common, source, target, level, i);
        }
        if (found < 0) found = bypass_at(p, common, source, target, level, level);
        if (found >= 0) return found;
    }
    return -1;
}

/* As SimGrid has it, a host that is the gateway itself first sends to itself. */
static int append_bypass(const platform *p, const route_table *bypasses, int i, int source, int target, platform_path *path)
{
    const int *gateway = bypasses->routes[i].gateway;
    int error = gateway[0] < 0 ? 0 : path_append_route(p, source, gateway[0], path);
    if (!error) error = route_table_append(p, bypasses, i, path);
    if (!error && gateway[1] >= 0) error = path_append_route(p, gateway[1], target, path);
    return error;
}

/* ---- composed routes ---- */

static void reverse(int *link, int n)
{
    for (int i = 0; i < n / 2; i++) {
        const int other = link[i];
        link[i] = link[n - 1 - i];
        link[n - 1 - i] = other;
    }
}

/* Moves the first n of n_all links behind the others. */
static void move_behind(int *link, int n, int n_all)
{
    reverse(link, n);
    reverse(link + n, n_all - n);
    reverse(link, n_all);
}

/* Through the innermost zone that contains both: from the source to the gateway of the member that contains it, on to the other
 * member, and from that one's gateway to the target. The recursion is as deep as the zones. As SimGrid has it, the latency of the
 * way between the members is added first: the last bit of a sum may decide whether a flow or a link is the slower one. */
static int append_composed(const platform *p, int source, int target, platform_path *path)
{
    int from = source, to = target; /* they become the members of one zone that contain source and target */
    while (p->points[from].zone != p->points[to].zone) {
        int from_zone = p->points[from].zone, to_zone = p->points[to].zone;
        if (from_zone < 0 || to_zone < 0) return PLATFORM_NO_ROUTE;
        int from_depth = p->zones[from_zone].depth, to_depth = p->zones[to_zone].depth;
        if (from_depth >= to_depth) from = p->zones[from_zone].point;
        if (to_depth >= from_depth) to = p->zones[to_zone].point;
    }
    const zone *common = &p->zones[p->points[from].zone];
    int source_index = p->points[from].index, target_index = p->points[to].index;
    int gateway[2];
    if (common->bypasses) {
        const int bypass = find_bypass(p, common, source, target);
        if (bypass >= 0) return append_bypass(p, common->bypasses, bypass, source, target, path);
    }
    int error = common->kind->gateways(common->state, source_index, target_index, gateway);
    const int first = path->n;
    if (!error) error = common->kind->route(p, common->state, source_index, target_index, path);
    const int n_between = path->n - first;
    if (!error && from != source && gateway[0] != source) error = path_append_route(p, source, gateway[0], path);
    if (!error && n_between > 0) move_behind(path->link + first, n_between, path->n - first);
    if (!error && to != target && gateway[1] != target) error = path_append_route(p, gateway[1], target, path);
    return error;
}

int path_append_route(const platform *p, int source, int target, platform_path *path)
{
    const point *s = &p->points[source], *t = &p->points[target];
    if (s->zone != t->zone) return append_composed(p, source, target, path);
    const zone *z = &p->zones[s->zone];
    const int bypass = z->bypasses ? find_bypass(p, z, source, target) : -1;
    if (bypass >= 0) return append_bypass(p, z->bypasses, bypass, source, target, path);
    return z->kind->route(p, z->state, s->index, t->index, path);
}

int platform_route(const platform *p, int source_host, int target_host, platform_path *path)
{
    path->n = 0;
    path->latency_s = 0;
    int error = path_append_route(p, p->host_point[source_host], p->host_point[target_host], path);
    if (error < 0) return error;
    return path->n > 0 || path->latency_s > 0 ? 0 : PLATFORM_NO_ROUTE;
}

int platform_route_links(const platform *p, int source_host, int target_host, int room, int *link, double *latency_s)
{
    if (source_host < 0 || source_host >= p->n_hosts || target_host < 0 || target_host >= p->n_hosts)
        return PLATFORM_BAD_ARGUMENT;
    platform_path path = {0};
    int answer = platform_route(p, source_host, target_host, &path);
    if (!answer) {
        answer = path.n;
        *latency_s = path.latency_s;
        for (int i = 0; i < path.n && i < room; i++) link[i] = path.link[i];
    }
    free(path.link);
    return answer;
}

/* ---- the invariants ---- */

#ifdef SMPY_CHECK
static void require(int is_true, const char *what, int number)
{
    if (is_true) return;
    fprintf(stderr, "platform_check: %s %d\n", what, number);
    abort();
}

static void check_links(const platform *p)
{
    for (int i = 0; i < p->n_links; i++) {
        require(p->bandwidth_bytes_per_s[i] > 0 && isfinite(p->bandwidth_bytes_per_s[i]), "bandwidth of link", i);
        require(p->latency_s[i] >= 0 && isfinite(p->latency_s[i]), "latency of link", i);
        require(p->policy[i] == LINK_SHARED || p->policy[i] == LINK_FATPIPE, "policy of link", i);
    }
}

static void check_points(const platform *p)
{
    int n_hosts = 0, n_zones = 0;
    for (int i = 0; i < p->n_points; i++) {
        const point *at = &p->points[i];
        require(at->kind == POINT_HOST || at->kind == POINT_ROUTER || at->kind == POINT_ZONE, "kind of point", i);
        require(i == 0 ? at->zone == -1 && at->kind == POINT_ZONE : at->zone >= 0 && at->zone < n_zones, "zone of point", i);
        if (at->kind == POINT_HOST) {
            require(at->self == n_hosts && p->host_point[n_hosts] == i, "number of the host at point", i);
            require(p->speed_flop_per_s[n_hosts] > 0 && p->cores[n_hosts] > 0, "speed or cores of the host at point", i);
            n_hosts++;
        } else if (at->kind == POINT_ZONE) {
            const int depth = i == 0 ? 0 : p->zones[at->zone].depth + 1;
            require(at->self == n_zones && p->zones[n_zones].point == i, "number of the zone at point", i);
            require(p->zones[n_zones].depth == depth && depth < PLATFORM_DEPTH, "depth of the zone at point", i);
            n_zones++;
        }
    }
    require(n_hosts == p->n_hosts && n_zones == p->n_zones, "hosts or zones without a point; points", p->n_points);
}

static void check_members(const platform *p, int zone_number)
{
    int n = 0;
    for (int i = 0; i < p->n_points; i++)
        if (p->points[i].zone == zone_number) require(p->points[i].index == n++, "local index of point", i);
    require(n == p->zones[zone_number].n_members, "number of members of zone", zone_number);
}

static int member_at(const platform *p, int zone_number, int index)
{
    int i = 0;
    while (i < p->n_points && (p->points[i].zone != zone_number || p->points[i].index != index)) i++;
    return i;
}

static void check_routes(const platform *p, int zone_number)
{
    const zone *z = &p->zones[zone_number];
    declared_route r;
    int gateway[2];
    for (int i = 0; z->kind->declared && z->kind->declared(z->state, i, &r); i++) {
        const int source = member_at(p, zone_number, r.source), target = member_at(p, zone_number, r.target);
        require(check_end(p, zone_number, source, r.gateway[0]) == 0, "source or its gateway of declared route", i);
        require(check_end(p, zone_number, target, r.gateway[1]) == 0, "target or its gateway of declared route", i);
        const int error = z->kind->gateways(z->state, r.source, r.target, gateway); /* a search takes memory */
        require(error == 0 || error == PLATFORM_NO_MEMORY, "no gateways for declared route", i);
        require(r.n > 0, "no links on declared route", i);
        for (int k = 0; k < r.n; k++) require(r.link[k] >= 0 && r.link[k] < p->n_links, "link of declared route", i);
    }
}

void platform_check(const platform *p)
{
    check_links(p);
    check_points(p);
    for (int i = 0; i < p->n_zones; i++) {
        check_members(p, i);
        check_routes(p, i);
        if (p->zones[i].kind->check) p->zones[i].kind->check(p->zones[i].state);
        if (p->zones[i].bypasses) route_table_check(p->zones[i].bypasses);
    }
}
#endif
