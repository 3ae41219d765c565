/* route_full.c -- zones whose routes are all declared: a hash table from (source, target), as large as there are routes.
 *
 * Invariants: (1) `slot` has each route exactly once, reachable from its home slot without a free slot between;
 *             (2) at least half of the slots are free. */
#include "zone.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int source, target;
    int gateway[2];
    int first, n; /* its links in the pool */
} entry;

typedef struct {
    int loopback_link;
    int n_routes, route_room;
    entry *routes;
    int n_pooled, pool_room;
    int *pool;   /* the links of all routes */
    int n_slots; /* a power of two; 0 before the first route */
    int *slot;   /* index of a route; -1: free. Probed linearly */
} full;

static uint32_t home_slot(const full *z, int source, int target)
{
    uint64_t key = ((uint64_t)(uint32_t)source << 32 | (uint32_t)target) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(key >> 32) & (uint32_t)(z->n_slots - 1);
}

/* The slot of the route, or the free slot where it would be. */
static int find_slot(const full *z, int source, int target)
{
    uint32_t at = home_slot(z, source, target);
    for (;; at = (at + 1) & (uint32_t)(z->n_slots - 1)) {
        int i = z->slot[at];
        if (i < 0 || (z->routes[i].source == source && z->routes[i].target == target)) return (int)at;
    }
}

static const entry *find(const full *z, int source, int target)
{
    if (!z->n_slots) return NULL;
    int i = z->slot[find_slot(z, source, target)];
    return i < 0 ? NULL : &z->routes[i];
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const full *z = state;
    const entry *r = find(z, source, target);
    if (!r && source == target && z->loopback_link >= 0) return path_append(p, path, z->loopback_link);
    if (!r) return PLATFORM_NO_ROUTE;
    int error = 0;
    for (int i = 0; i < r->n && !error; i++) error = path_append(p, path, z->pool[r->first + i]);
    return error;
}

static int gateways(const void *state, int source, int target, int gateway[2])
{
    const entry *r = find(state, source, target);
    if (!r) return PLATFORM_NO_ROUTE;
    memcpy(gateway, r->gateway, sizeof r->gateway);
    return 0;
}

static int grow_slots(full *z)
{
    if (z->n_slots > INT32_MAX / 4) return PLATFORM_TOO_LARGE;
    int n = z->n_slots ? 2 * z->n_slots : 16;
    int *slot = malloc((size_t)n * sizeof *slot);
    if (!slot) return PLATFORM_NO_MEMORY;
    free(z->slot);
    z->slot = slot;
    z->n_slots = n;
    for (int i = 0; i < n; i++) slot[i] = -1;
    for (int i = 0; i < z->n_routes; i++) slot[find_slot(z, z->routes[i].source, z->routes[i].target)] = i;
    return 0;
}

static int grow_routes(full *z)
{
    int room = z->route_room ? 2 * z->route_room : 8;
    entry *routes = realloc(z->routes, (size_t)room * sizeof *routes);
    if (!routes) return PLATFORM_NO_MEMORY;
    z->routes = routes;
    z->route_room = room;
    return 0;
}

static int grow_pool(full *z, int more)
{
    if (more > INT32_MAX / 2 - z->n_pooled) return PLATFORM_TOO_LARGE;
    int room = 2 * (z->n_pooled + more);
    int *pool = realloc(z->pool, (size_t)room * sizeof *pool);
    if (!pool) return PLATFORM_NO_MEMORY;
    z->pool = pool;
    z->pool_room = room;
    return 0;
}

static int add_route(void *state, const declared_route *r)
{
    full *z = state;
    if (find(z, r->source, r->target)) return PLATFORM_ROUTE_EXISTS;
    int error = 0;
    if (z->n_slots < 2 * (z->n_routes + 1)) error = grow_slots(z);
    if (!error && z->n_routes == z->route_room) error = grow_routes(z);
    if (!error && r->n > z->pool_room - z->n_pooled) error = grow_pool(z, r->n);
    if (error) return error;
    memcpy(z->pool + z->n_pooled, r->link, (size_t)r->n * sizeof *z->pool);
    z->slot[find_slot(z, r->source, r->target)] = z->n_routes;
    z->routes[z->n_routes++] = (entry){.source = r->source, .target = r->target,
                                       .gateway = {r->gateway[0], r->gateway[1]}, .first = z->n_pooled, .n = r->n};
    z->n_pooled += r->n;
    return 0;
}

static int declared(const void *state, int i, declared_route *r)
{
    const full *z = state;
    if (i >= z->n_routes) return 0;
    const entry *e = &z->routes[i];
    *r = (declared_route){.source = e->source, .target = e->target, .gateway = {e->gateway[0], e->gateway[1]}, .n = e->n,
                          .link = z->pool + e->first};
    return 1;
}

static void free_state(void *state)
{
    full *z = state;
    free(z->routes);
    free(z->pool);
    free(z->slot);
    free(z);
}

static const zone_kind full_kind
    = {.route = route, .gateways = gateways, .add_route = add_route, .declared = declared, .free = free_state};

int platform_add_full_zone(platform *p, int parent_zone, int loopback_link)
{
    if (loopback_link < -1 || loopback_link >= platform_n_links(p)) return PLATFORM_BAD_ARGUMENT;
    full *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->loopback_link = loopback_link;
    return zone_add(p, parent_zone, &full_kind, z);
}
