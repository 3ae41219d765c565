/* route_torus.c -- tori: one coordinate after another is made equal to the target's, the shorter way around each ring.
 *
 * Numbering. A host's coordinates are the digits of its position in a mixed radix, that of dimension 0 lowest. Each host owns a
 * wire in each dimension to its next neighbour around the ring: wire host * n_dimensions + dimension. Upward is to the neighbour. A
 * ring of two hosts has two wires, of which only the first is used; a ring of one host has one, which is not.
 *
 * Ties, between the two halves of an even ring, are broken as SimGrid does: upward, unless the coordinate is exactly size / 2 and
 * the target's is 0. A limiter is crossed at every host that a path leaves, and at the last one. */
#include "machine/zone.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS_MAX = 32 };

typedef struct {
    cluster_links links;
    int n_dimensions;
    int size[DIMENSIONS_MAX]; /* hosts on a ring of each dimension */
} torus;

static int append_limiter(const platform *p, const torus *z, int host, platform_path *path)
{
    return z->links.limiters < 0 ? 0 : path_append(p, path, z->links.limiters + host);
}

/* Is the way upward from one coordinate to another taken? `size - half` is less than half + 2: no sum below overflows. */
static int goes_up(int from, int to, int size)
{
    int half = size / 2;
    return from > half ? to > from || to <= from - (size - half) : to > from && to - from <= half;
}

/* Along one ring, whose hosts are `stride` apart. */
static int follow_ring(const platform *p, const torus *z, int dimension, int stride, int *host, int to, platform_path *path)
{
    int size = z->size[dimension], at = *host / stride % size, rises = goes_up(at, to, size), error = 0;
    while (at != to && !error) {
        int from = *host, next = rises ? (at + 1 < size ? at + 1 : 0) : (at > 0 ? at - 1 : size - 1);
        *host += (next - at) * stride;
        at = next;
        error = append_limiter(p, z, from, path);
        int wire = (rises ? from : *host) * z->n_dimensions + dimension;
        if (!error) error = path_append(p, path, rises ? wire_up(&z->links, wire) : wire_down(&z->links, wire));
    }
    return error;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const torus *z = state;
    if (source == target && z->links.loopbacks >= 0) return cluster_append_loopback(p, &z->links, source, path);
    int host = source, stride = 1, error = 0;
    for (int d = 0; d < z->n_dimensions && !error; d++) {
        error = follow_ring(p, z, d, stride, &host, target / stride % z->size[d], path);
        stride *= z->size[d];
    }
    return error ? error : append_limiter(p, z, target, path);
}

static const zone_kind torus_kind = {.route = route, .free = free};

/* Do the sizes make up the number of hosts? */
static int fits(const cluster *c, int n_dimensions, const int *size)
{
    if (n_dimensions < 1 || n_dimensions > DIMENSIONS_MAX) return 0;
    int left = c->n_hosts;
    for (int d = 0; d < n_dimensions; d++) {
        if (size[d] < 1 || left % size[d]) return 0;
        left /= size[d];
    }
    return left == 1;
}

int platform_add_torus(platform *p, int parent_zone, const cluster *c, int n_dimensions, const int *size)
{
    if (!cluster_is_valid(c) || c->backbone_bandwidth_bytes_per_s > 0 || !fits(c, n_dimensions, size))
        return PLATFORM_BAD_ARGUMENT;
    if (c->n_hosts > INT_MAX / n_dimensions) return PLATFORM_TOO_LARGE;
    torus *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->n_dimensions = n_dimensions;
    memcpy(z->size, size, (size_t)n_dimensions * sizeof *size);
    int zone_point = zone_add(p, parent_zone, &torus_kind, z); /* owns z from here on */
    if (zone_point < 0) return zone_point;
    int error = cluster_add_links(p, c, c->n_hosts * n_dimensions, 0, &z->links);
    if (error >= 0) error = zone_add_hosts(p, zone_point, c->n_hosts, c->speed_flop_per_s, c->cores);
    return error < 0 ? error : zone_point;
}
