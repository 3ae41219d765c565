#include "machine/route_table.h"

#include <stdlib.h>
#include <string.h>

static uint32_t home_slot(const route_table *t, int source, int target)
{
    uint64_t key = ((uint64_t)(uint32_t)source << 32 | (uint32_t)target) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(key >> 32) & (uint32_t)(t->n_slots - 1);
}

/* The slot of the route, or the free slot where it would be. */
static int find_slot(const route_table *t, int source, int target)
{
    uint32_t at = home_slot(t, source, target);
    for (;; at = (at + 1) & (uint32_t)(t->n_slots - 1)) {
        int i = t->slot[at];
        if (i < 0 || (t->routes[i].source == source && t->routes[i].target == target)) return (int)at;
    }
}

int route_table_find(const route_table *t, int source, int target)
{
    return t->n_slots ? t->slot[find_slot(t, source, target)] : -1;
}

static int grow_slots(route_table *t)
{
    if (t->n_slots > INT32_MAX / 4) return PLATFORM_TOO_LARGE;
    int n = t->n_slots ? 2 * t->n_slots : 16;
    int *slot = malloc((size_t)n * sizeof *slot);
    if (!slot) return PLATFORM_NO_MEMORY;
    free(t->slot);
    t->slot = slot;
    t->n_slots = n;
    for (int i = 0; i < n; i++) slot[i] = -1;
    for (int i = 0; i < t->n_routes; i++) slot[find_slot(t, t->routes[i].source, t->routes[i].target)] = i;
    return 0;
}

static int grow_routes(route_table *t)
{
    int room = t->route_room ? 2 * t->route_room : 8;
    table_route *routes = realloc(t->routes, (size_t)room * sizeof *routes);
    if (!routes) return PLATFORM_NO_MEMORY;
    t->routes = routes;
    t->route_room = room;
    return 0;
}

static int grow_pool(route_table *t, int more)
{
    if (more > INT32_MAX / 2 - t->n_pooled) return PLATFORM_TOO_LARGE;
    int room = 2 * (t->n_pooled + more);
    int *pool = realloc(t->pool, (size_t)room * sizeof *pool);
    if (!pool) return PLATFORM_NO_MEMORY;
    t->pool = pool;
    t->pool_room = room;
    return 0;
}

int route_table_add(route_table *t, const declared_route *r)
{
    if (route_table_find(t, r->source, r->target) >= 0) return PLATFORM_ROUTE_EXISTS;
    int error = 0;
    if (t->n_slots < 2 * (t->n_routes + 1)) error = grow_slots(t);
    if (!error && t->n_routes == t->route_room) error = grow_routes(t);
    if (!error && r->n > t->pool_room - t->n_pooled) error = grow_pool(t, r->n);
    if (error) return error;
    memcpy(t->pool + t->n_pooled, r->link, (size_t)r->n * sizeof *t->pool);
    t->slot[find_slot(t, r->source, r->target)] = t->n_routes;
    t->routes[t->n_routes++] = (table_route){.source = r->source, .target = r->target,
                                             .gateway = {r->gateway[0], r->gateway[1]}, .first = t->n_pooled, .n = r->n};
    t->n_pooled += r->n;
    return 0;
}

int route_table_declared(const route_table *t, int i, declared_route *r)
{
    if (i >= t->n_routes) return 0;
    const table_route *e = &t->routes[i];
    *r = (declared_route){.source = e->source, .target = e->target, .gateway = {e->gateway[0], e->gateway[1]}, .n = e->n,
                          .link = t->pool + e->first};
    return 1;
}

void route_table_free(route_table *t)
{
    free(t->routes);
    free(t->pool);
    free(t->slot);
}

void route_table_check(const route_table *t)
{
    int n_taken = 0;
    for (int i = 0; i < t->n_slots; i++) n_taken += t->slot[i] >= 0;
    if (n_taken != t->n_routes || t->n_slots < 2 * n_taken) abort();
    for (int i = 0; i < t->n_routes; i++)
        if (route_table_find(t, t->routes[i].source, t->routes[i].target) != i) abort();
}
