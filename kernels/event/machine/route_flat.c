/* route_flat.c -- flat clusters: up the source's wire, over the backbone, down the target's wire; no link is on a path twice.
 *
 * A host's limiter is the first link of its paths to others and the last link of their paths to it. The router, which has the local
 * index behind those of the hosts, is on the backbone itself. */
#include "machine/zone.h"

#include <stdlib.h>

typedef struct {
    int n_hosts; /* also the local index of the router */
    cluster_links links;
} flat;

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const flat *z = state;
    const cluster_links *l = &z->links;
    int leaves = source < z->n_hosts, enters = target < z->n_hosts, returns = source == target, error = 0;
    if (returns && leaves && l->loopbacks >= 0) return cluster_append_loopback(p, l, source, path);
    if (leaves && l->limiters >= 0) error = path_append(p, path, l->limiters + source);
    if (leaves && !error) error = path_append(p, path, wire_up(l, source));
    if ((leaves || enters) && l->backbone >= 0 && !error) error = path_append(p, path, l->backbone);
    if (enters && !error && !(returns && wire_down(l, target) == wire_up(l, source)))
        error = path_append(p, path, wire_down(l, target));
    if (enters && !returns && l->limiters >= 0 && !error) error = path_append(p, path, l->limiters + target);
    return error;
}

static const zone_kind flat_kind = {.route = route, .free = free};

int platform_add_flat_cluster(platform *p, int parent_zone, const cluster *c)
{
    if (!cluster_is_valid(c)) return PLATFORM_BAD_ARGUMENT;
    flat *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->n_hosts = c->n_hosts;
    int zone_point = zone_add(p, parent_zone, &flat_kind, z); /* owns z from here on */
    if (zone_point < 0) return zone_point;
    int error = cluster_add_links(p, c, c->n_hosts, 0, &z->links);
    if (error >= 0) error = zone_add_hosts(p, zone_point, c->n_hosts, c->speed_flop_per_s, c->cores);
    if (error >= 0) error = zone_add_router(p, zone_point);
    return error < 0 ? error : zone_point;
}
