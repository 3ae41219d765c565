/* route_full.c -- zones whose routes are all declared. */
#include "machine/route_table.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int loopback_link;
    route_table routes;
} full;

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const full *z = state;
    const int i = route_table_find(&z->routes, source, target);
    if (i < 0 && source == target && z->loopback_link >= 0) return path_append(p, path, z->loopback_link);
    return i < 0 ? PLATFORM_NO_ROUTE : route_table_append(p, &z->routes, i, path);
}

static int gateways(const void *state, int source, int target, int gateway[2])
{
    const full *z = state;
    const int i = route_table_find(&z->routes, source, target);
    if (i < 0) return PLATFORM_NO_ROUTE;
    memcpy(gateway, z->routes.routes[i].gateway, sizeof z->routes.routes[i].gateway);
    return 0;
}

static int add_route(void *state, const declared_route *r)
{
    full *z = state;
    return route_table_add(&z->routes, r);
}

static int declared(const void *state, int i, declared_route *r)
{
    const full *z = state;
    return route_table_declared(&z->routes, i, r);
}

static void check(const void *state)
{
    const full *z = state;
    route_table_check(&z->routes);
}

static void free_state(void *state)
{
    full *z = state;
    route_table_free(&z->routes);
    free(z);
}

static const zone_kind full_kind = {.route = route, .gateways = gateways, .takes_members = 1, .add_route = add_route,
                                    .declared = declared, .check = check, .free = free_state};

int platform_add_full_zone(platform *p, int parent_zone, int loopback_link)
{
    if (loopback_link < -1 || loopback_link >= platform_n_links(p)) return PLATFORM_BAD_ARGUMENT;
    full *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->loopback_link = loopback_link;
    return zone_add(p, parent_zone, &full_kind, z);
}
