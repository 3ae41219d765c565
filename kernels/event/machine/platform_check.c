/* platform_check.c -- the invariants of platform.h and zone.h, in a debug build. */
#include "machine/platform_parts.h"

#ifdef SMPY_CHECK
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine/route_table.h"

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
        require(platform_check_end(p, zone_number, source, r.gateway[0]) == 0, "source or its gateway of declared route", i);
        require(platform_check_end(p, zone_number, target, r.gateway[1]) == 0, "target or its gateway of declared route", i);
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
