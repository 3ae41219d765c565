/* route_empty.c -- zones of hosts that no route joins; only bypass routes, and those of the zones around them, do. */
#include "machine/zone.h"

#include <stdlib.h>

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    (void)p, (void)state, (void)source, (void)target, (void)path;
    return PLATFORM_NO_ROUTE;
}

static int gateways(const void *state, int source, int target, int gateway[2])
{
    (void)state, (void)source, (void)target, (void)gateway;
    return PLATFORM_NO_ROUTE;
}

static const zone_kind empty_kind = {.route = route, .gateways = gateways, .takes_members = 1, .free = free};

int platform_add_empty_zone(platform *p, int parent_zone)
{
    char *state = malloc(1); /* a zone owns one */
    return state ? zone_add(p, parent_zone, &empty_kind, state) : PLATFORM_NO_MEMORY;
}
