/* route_dragonfly.c -- dragonflies: to the one router of the group with a wire to the other group, over it, and on to the target.
 *
 * Numbering. Router number (group * n_chassis + chassis) * n_routers + blade, where `blade` is its place in its chassis; below it
 * the hosts number * n_hosts, ... Wires are numbered by kind: those of hosts, by host; green ones, by chassis and pair of blades;
 * black ones, by group, pair of chassis and blade; blue ones, by pair of groups. Pairs (i, j) with i < j are numbered by i, then j.
 * Upward is from host to router, and from i to j. The blue wire of groups i and j ends at the routers that have number j in group i
 * and number i in group j, counted from the first one of the group. Where there are more groups than routers in one, each router
 * has equally many instead, but for the last: the first ones of group i lead to groups 0, 1, ..., without i.
 *
 * Routes. Inside a group the blade is made equal first (green), then the chassis (black). ROUTES_MINIMAL crosses one blue wire
 * if the groups differ. ROUTES_VALIANT (Kim et al. 2008, "VAL") goes to a third group first, drawn from seed, source and target.
 *
 * A departure in ROUTES_MINIMAL, which is SimGrid's: inside one group, after a green wire, the chassis is taken to be the first.
 * So between blades of chassis other than the first, a black wire is missing or too many (`is_simgrids`). And SimGrid has routes
 * only if there are not more groups than routers in a chassis; here the blue wires may end in any chassis.
 *
 * Limiters: of a host; of a router that is left by a green or black wire, before the wire, or by a blue one, after it; of the last
 * router. */
#include "basics/seeded_choice.h"
#include "machine/zone.h"

#include <limits.h>
#include <stdlib.h>

typedef struct {
    cluster_links links;
    dragonfly_shape shape;
    int n_hosts;                       /* in all, the last places may be empty; also the first wire that is no host's */
    int n_green_pairs, n_black_pairs;  /* pairs of routers of a chassis; pairs of chassis of a group */
    int first_black, first_blue;
    int blue_per_router;               /* of all but the last; 0: not more groups than routers in one */
    int routing;
    uint64_t seed;
} dragonfly;

typedef struct {
    int group, chassis, blade;
} place;

static place place_of(const dragonfly *z, int host)
{
    int router = host / z->shape.n_hosts, chassis = router / z->shape.n_routers;
    return (place){chassis / z->shape.n_chassis, chassis % z->shape.n_chassis, router % z->shape.n_routers};
}

/* The number of a pair i < j among those of n; at most INT_MAX, as there are so many wires. */
static int pair_number(int n, int i, int j)
{
    return (int)((int64_t)i * (2 * (int64_t)n - i - 1) / 2) + j - i - 1;
}

static int append_limiter(const platform *p, const dragonfly *z, place at, platform_path *path)
{
    if (z->links.limiters < 0) return 0;
    int router = (at.group * z->shape.n_chassis + at.chassis) * z->shape.n_routers + at.blade;
    return path_append(p, path, z->links.limiters + z->n_hosts + router);
}

static int append_wire(const platform *p, const dragonfly *z, int wire, int rises, platform_path *path)
{
    return path_append(p, path, rises ? wire_up(&z->links, wire) : wire_down(&z->links, wire));
}

static int go_to_blade(const platform *p, const dragonfly *z, place *at, int blade, platform_path *path)
{
    int n = z->shape.n_routers, rises = at->blade < blade;
    int pair = rises ? pair_number(n, at->blade, blade) : pair_number(n, blade, at->blade);
    int chassis = at->group * z->shape.n_chassis + at->chassis;
    int error = append_limiter(p, z, *at, path);
    at->blade = blade;
    return error ? error : append_wire(p, z, z->n_hosts + chassis * z->n_green_pairs + pair, rises, path);
}

static int go_to_chassis(const platform *p, const dragonfly *z, place *at, int chassis, platform_path *path)
{
    int n = z->shape.n_chassis, rises = at->chassis < chassis;
    int pair = rises ? pair_number(n, at->chassis, chassis) : pair_number(n, chassis, at->chassis);
    int wire = z->first_black + (at->group * z->n_black_pairs + pair) * z->shape.n_routers + at->blade;
    int error = append_limiter(p, z, *at, path);
    at->chassis = chassis;
    return error ? error : append_wire(p, z, wire, rises, path);
}

static int go_inside_group(const platform *p, const dragonfly *z, place *at, int chassis, int blade, int is_simgrids,
                           platform_path *path)
{
    int error = 0;
    if (at->blade != blade) {
        error = go_to_blade(p, z, at, blade, path);
        if (is_simgrids) at->chassis = 0;
    }
    return error || at->chassis == chassis ? error : go_to_chassis(p, z, at, chassis, path);
}

/* The router of a group where its wire to another one ends. */
static int blue_end(const dragonfly *z, int group, int other)
{
    return z->blue_per_router ? (other - (other > group)) / z->blue_per_router : other;
}

static int go_to_group(const platform *p, const dragonfly *z, place *at, int group, platform_path *path)
{
    int n = z->shape.n_routers, from = at->group, rises = from < group;
    int leaves = blue_end(z, from, group), comes = blue_end(z, group, from);
    int error = go_inside_group(p, z, at, leaves / n, leaves % n, 0, path);
    int pair = rises ? pair_number(z->shape.n_groups, from, group) : pair_number(z->shape.n_groups, group, from);
    if (!error) error = append_wire(p, z, z->first_blue + pair, rises, path);
    if (!error) error = append_limiter(p, z, *at, path);
    *at = (place){group, comes / n, comes % n};
    return error;
}

/* One of the groups beside these two, of which there must be one. */
static int group_between(const dragonfly *z, uint64_t seed, int source, int target, int source_group, int target_group)
{
    int low = source_group < target_group ? source_group : target_group;
    int high = source_group < target_group ? target_group : source_group;
    int drawn = seeded_choice(seed, source, target, z->shape.n_groups - 2);
    if (drawn >= low) drawn++;
    return drawn >= high ? drawn + 1 : drawn;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const dragonfly *z = state;
    const cluster_links *l = &z->links;
    if (source == target && l->loopbacks >= 0) return cluster_append_loopback(p, l, source, path);
    place at = place_of(z, source), goal = place_of(z, target);
    int is_elsewhere = at.group != goal.group, error = 0;
    uint64_t seed = z->seed;
    const int is_detour = path_is_detour(path, z->routing, &seed), has_detours = is_elsewhere && z->shape.n_groups > 2;
    if (l->limiters >= 0) error = path_append(p, path, l->limiters + source);
    if (!error) error = append_wire(p, z, source, 1, path);
    const int first = path->n;
    if (is_detour && has_detours && !error)
        error = go_to_group(p, z, &at, group_between(z, seed, source, target, at.group, goal.group), path);
    if (is_elsewhere && !error) error = go_to_group(p, z, &at, goal.group, path);
    const int is_simgrids = !is_elsewhere && z->routing == ROUTES_MINIMAL;
    if (!error) error = go_inside_group(p, z, &at, goal.chassis, goal.blade, is_simgrids, path);
    if (!error) error = append_limiter(p, z, goal, path);
    if (z->routing == ROUTES_ADAPTIVE && has_detours) path_set_choice(path, first);
    if (!error) error = append_wire(p, z, target, 0, path);
    return error || l->limiters < 0 ? error : path_append(p, path, l->limiters + target);
}

static const zone_kind dragonfly_kind = {.route = route, .free = free};

/* a * b; -1: one of them is not positive, or the product is more than INT_MAX. */
static int product(int a, int b)
{
    return a < 1 || b < 1 || a > INT_MAX / b ? -1 : a * b;
}

static int n_pairs(int n)
{
    int64_t pairs = (int64_t)n * (n - 1) / 2;
    return pairs > INT_MAX ? -1 : (int)pairs;
}

/* Number of wires of a kind: pairs times a * b, where both are positive; or -1. */
static int n_wires(int a, int b, int pairs)
{
    return pairs == 0 ? 0 : product(product(a, b), pairs);
}

/* Computes all that follows from the shape. 0, or a negative error. */
static int lay_out(dragonfly *z, int n_hosts, int n[4], int *n_routers)
{
    const dragonfly_shape *s = &z->shape;
    int group = product(s->n_chassis, s->n_routers), routers = product(s->n_groups, group);
    if (product(routers, s->n_hosts) < n_hosts) return PLATFORM_BAD_ARGUMENT;
    if (s->n_blue < 1 || s->n_black < 1 || s->n_green < 1) return PLATFORM_BAD_ARGUMENT;
    n[0] = z->n_hosts = n_hosts;
    z->n_green_pairs = n_pairs(s->n_routers);
    z->n_black_pairs = n_pairs(s->n_chassis);
    n[1] = n_wires(s->n_groups, s->n_chassis, z->n_green_pairs);
    n[2] = n_wires(s->n_groups, s->n_routers, z->n_black_pairs);
    n[3] = n_pairs(s->n_groups);
    int64_t all = n_hosts;
    for (int i = 1; i < 4; i++) {
        if (n[i] < 0) return PLATFORM_TOO_LARGE;
        all += n[i];
    }
    if (all > INT_MAX) return PLATFORM_TOO_LARGE;
    z->first_black = n_hosts + n[1];
    z->first_blue = z->first_black + n[2];
    z->blue_per_router = s->n_groups <= group ? 0 : (s->n_groups - 2) / group + 1; /* (n_groups - 1) / group, rounded up */
    *n_routers = routers;
    return 0;
}

int platform_add_dragonfly(platform *p, int parent_zone, const cluster *c, const dragonfly_shape *shape, int routing,
                           uint64_t seed)
{
    if (!cluster_is_valid(c) || c->backbone_bandwidth_bytes_per_s > 0) return PLATFORM_BAD_ARGUMENT;
    if (routing < ROUTES_MINIMAL || routing > ROUTES_ADAPTIVE) return PLATFORM_BAD_ARGUMENT;
    dragonfly *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->shape = *shape;
    z->routing = routing;
    z->seed = seed;
    int n[4], n_routers = 0, error = lay_out(z, c->n_hosts, n, &n_routers);
    if (error < 0) {
        free(z);
        return error;
    }
    int zone_point = zone_add(p, parent_zone, &dragonfly_kind, z); /* owns z from here on */
    if (zone_point < 0) return zone_point;
    const int width[4] = {1, shape->n_green, shape->n_black, shape->n_blue};
    error = cluster_add_bundles(p, c, 4, n, width, n_routers, &z->links);
    if (error >= 0) error = zone_add_hosts(p, zone_point, c->n_hosts, c->speed_flop_per_s, c->cores);
    if (routing == ROUTES_ADAPTIVE) zone_routes_adapt(p);
    return error < 0 ? error : zone_point;
}
