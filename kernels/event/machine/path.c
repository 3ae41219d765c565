/* path.c -- the route between two hosts of any zones: over a bypass route, or composed of those of the zones on its way. */
#include "machine/platform_parts.h"
#include "machine/route_table.h"

#include <limits.h>
#include <stdlib.h>

double path_link_latency_s(const platform *p, const platform_path *path, int link)
{
    return path->link_latency_s ? path->link_latency_s[link] : p->latency_s[link];
}

int path_append(const platform *p, platform_path *path, int link)
{
    if (path->n == path->room) {
        if (path->room > INT_MAX / 2) return PLATFORM_TOO_LARGE;
        int room = path->room ? 2 * path->room : 16;
        int *grown = realloc(path->link, (size_t)room * sizeof *grown);
        if (!grown) return PLATFORM_NO_MEMORY;
        path->link = grown;
        path->room = room;
    }
    path->link[path->n++] = link;
    path->latency_s += path_link_latency_s(p, path, link);
    return 0;
}

/* ---- bypass routes ---- */

/* The zone a point lies in, or the one some levels further out. */
static int zone_around(const platform *p, int number, int level)
{
    int z = p->points[number].zone;
    for (; level > 0; level--) z = p->points[p->zones[z].point].zone;
    return p->zones[z].point;
}

/* Number of zones around a point that lie inside `common`, a zone around it. */
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

/* Appends a bypass route; like in SimGrid, a host that is the gateway itself first sends to itself. */
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
    int from = source, to = target; /* become the members of one zone that contain source and target */
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

void zone_routes_adapt(platform *p) { p->is_adaptive = 1; }

int platform_is_adaptive(const platform *p) { return p->is_adaptive; }

int platform_route(const platform *p, int source_host, int target_host, platform_path *path)
{
    path->n = path->first_choice = path->end_choice = 0;
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
