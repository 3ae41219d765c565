/* route_hyperx.c -- HyperX (Ahn, Binkert, Davis, McLaren, Schreiber 2009): switches at the points of a lattice, of which all that
 * differ in one coordinate are joined; dimension-order routes, or Valiant's (Valiant, Brebner 1981) over a switch drawn for each
 * pair of hosts, or for a message.
 *
 * Numbering. Switch s has in dimension d the coordinate s / stride[d] mod size[d]; host h is below switch h / hosts_per_switch,
 * so that the last places for hosts may be empty. The first wires are those of the hosts, upward to their switch. Then
 * come those of each dimension: by line (the switches that differ in that coordinate alone, numbered by their other coordinates),
 * by pair of coordinates i < j (number j (j - 1) / 2 + i), by cable. Upward is from i to j.
 *
 * The messages from one host to another take cable (source + target / cables) mod cables of all parallel ones that they cross. */
#include "basics/seeded_choice.h"
#include "machine/zone.h"

#include <limits.h>
#include <stdlib.h>

enum { DIMENSIONS_MAX = 16 };

typedef struct {
    cluster_links links;
    int n_hosts, hosts_per_switch, n_switches, n_dimensions;
    int size[DIMENSIONS_MAX], cables[DIMENSIONS_MAX];
    int stride[DIMENSIONS_MAX];     /* product of the sizes before */
    int first_wire[DIMENSIONS_MAX]; /* between switches that differ in that coordinate */
    int routing;
    uint64_t seed;
} hyperx;

static int append_trunk(const platform *p, const hyperx *z, int d, int at, int from, int to, int cable, platform_path *path)
{
    const int line = at % z->stride[d] + z->stride[d] * (at / z->stride[d] / z->size[d]);
    const int64_t low = from < to ? from : to, high = from < to ? to : from, n_pairs = (int64_t)z->size[d] * (z->size[d] - 1) / 2;
    const int64_t wire = (line * n_pairs + high * (high - 1) / 2 + low) * z->cables[d] + cable;
    const int number = z->first_wire[d] + (int)wire;
    return path_append(p, path, from < to ? wire_up(&z->links, number) : wire_down(&z->links, number));
}

/* From one switch to another, in the order of the dimensions. */
static int cross(const platform *p, const hyperx *z, int at, int goal, const host_pair *pair, platform_path *path)
{
    int error = 0;
    for (int d = 0; d < z->n_dimensions && !error; d++) {
        const int from = at / z->stride[d] % z->size[d], to = goal / z->stride[d] % z->size[d];
        if (from == to) continue;
        error = append_trunk(p, z, d, at, from, to, cable_between(pair, z->cables[d]), path);
        at += (to - from) * z->stride[d];
    }
    return error;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const hyperx *z = state;
    const cluster_links *l = &z->links;
    const int start = source / z->hosts_per_switch, goal = target / z->hosts_per_switch, returns = source == target;
    const host_pair pair = {source, target};
    if (returns && l->loopbacks >= 0) return cluster_append_loopback(p, l, source, path);
    int error = 0, at = start;
    uint64_t seed = z->seed;
    if (l->limiters >= 0) error = path_append(p, path, l->limiters + source);
    if (!error) error = path_append(p, path, wire_up(l, source));
    const int first = path->n;
    if (!error && path_is_detour(path, z->routing, &seed) && start != goal) {
        at = seeded_choice(seed, source, target, z->n_switches);
        error = cross(p, z, start, at, &pair, path);
    }
    if (!error) error = cross(p, z, at, goal, &pair, path);
    if (z->routing == ROUTES_ADAPTIVE && start != goal) path_set_choice(path, first);
    if (!error && !(returns && wire_down(l, target) == wire_up(l, source))) error = path_append(p, path, wire_down(l, target));
    if (!error && !returns && l->limiters >= 0) error = path_append(p, path, l->limiters + target);
    return error;
}

static const zone_kind hyperx_kind = {.route = route, .free = free};

/* Computes all that follows from sizes and cables. The number of wires, or a negative error. */
static int lay_out(hyperx *z)
{
    int64_t switches = 1, wires = z->n_hosts;
    for (int d = 0; d < z->n_dimensions; d++) {
        if (z->size[d] < 1 || z->cables[d] < 1) return PLATFORM_BAD_ARGUMENT;
        z->stride[d] = (int)switches;
        switches *= z->size[d];
        if (switches > INT_MAX) return PLATFORM_TOO_LARGE;
    }
    if (switches * z->hosts_per_switch < z->n_hosts) return PLATFORM_BAD_ARGUMENT;
    z->n_switches = (int)switches;
    for (int d = 0; d < z->n_dimensions; d++) {
        z->first_wire[d] = (int)wires;
        const int64_t pairs = switches * (z->size[d] - 1) / 2; /* pairs of switches of all lines */
        if (pairs > INT_MAX / z->cables[d]) return PLATFORM_TOO_LARGE;
        wires += pairs * z->cables[d];
        if (wires > INT_MAX) return PLATFORM_TOO_LARGE;
    }
    return (int)wires;
}

int platform_add_hyperx(platform *p, int parent_zone, const cluster *c, int n_dimensions, const int *size, const int *cables,
                        int hosts_per_switch, int routing, uint64_t seed)
{
    if (!cluster_is_valid(c) || c->backbone_bandwidth_bytes_per_s > 0 || hosts_per_switch < 1) return PLATFORM_BAD_ARGUMENT;
    if (n_dimensions < 1 || n_dimensions > DIMENSIONS_MAX) return PLATFORM_BAD_ARGUMENT;
    if (routing < ROUTES_MINIMAL || routing > ROUTES_ADAPTIVE) return PLATFORM_BAD_ARGUMENT;
    hyperx *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->n_hosts = c->n_hosts;
    z->hosts_per_switch = hosts_per_switch;
    z->n_dimensions = n_dimensions;
    z->routing = routing;
    z->seed = seed;
    for (int d = 0; d < n_dimensions; d++) {
        z->size[d] = size[d];
        z->cables[d] = cables[d];
    }
    const int n_wires = lay_out(z);
    if (n_wires < 0) {
        free(z);
        return n_wires;
    }
    const int zone_point = zone_add(p, parent_zone, &hyperx_kind, z); /* owns z from here on */
    if (zone_point < 0) return zone_point;
    int error = cluster_add_links(p, c, n_wires, 0, &z->links);
    if (error >= 0) error = zone_add_hosts(p, zone_point, c->n_hosts, c->speed_flop_per_s, c->cores);
    if (routing == ROUTES_ADAPTIVE) zone_routes_adapt(p);
    return error < 0 ? error : zone_point;
}
