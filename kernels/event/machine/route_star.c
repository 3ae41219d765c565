/* route_star.c -- zones whose hosts have wires to a centre: a link up and a link down, with a backbone at their inner end.
 *
 * A route goes up the source's wire and down the target's, and lists no link twice. A member without wires, such as a router, is at
 * the centre itself. In a zone with coordinates (Vivaldi: Dabek, Cox, Kaashoek & Morris 2004) a route has their distance in
 * latency, too, that of a member to itself included. */
#include "machine/zone.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int up, down, backbone; /* -1: none */
    int loopback, n_loopbacks; /* in the pool; -1: none */
    int is_known;           /* has coordinates */
    double x_ms, y_ms, height_ms;
} member;

typedef struct {
    int has_coordinates;
    int n, room;            /* members with an entry: no larger index has a wire */
    member *at;
    int n_pooled, pool_room;
    int *pool;              /* links of routes from a member to itself */
} star;

static const member bare = {.up = -1, .down = -1, .backbone = -1, .loopback = -1};

static const member *member_at(const star *z, int index)
{
    return index < z->n ? &z->at[index] : &bare;
}

/* Members that declare a route to themselves and no wires have no others. */
static int is_joined(const member *m)
{
    return m->up >= 0 || m->loopback < 0;
}

static int append_once(const platform *p, platform_path *path, int from, int link)
{
    if (link < 0) return 0;
    for (int i = from; i < path->n; i++)
        if (path->link[i] == link) return 0;
    return path_append(p, path, link);
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const star *z = state;
    const member *s = member_at(z, source), *t = member_at(z, target);
    const int from = path->n;
    int error = 0;
    if (z->has_coordinates && !(s->is_known && t->is_known)) return PLATFORM_NO_ROUTE;
    if (source == target && s->loopback >= 0) {
        for (int i = 0; i < s->n_loopbacks && !error; i++) error = append_once(p, path, from, z->pool[s->loopback + i]);
    } else if (!is_joined(s) || !is_joined(t)) {
        return PLATFORM_NO_ROUTE;
    } else {
        error = append_once(p, path, from, s->up);
        if (!error) error = append_once(p, path, from, s->backbone);
        if (!error) error = append_once(p, path, from, t->backbone);
        if (!error) error = append_once(p, path, from, t->down);
    }
    if (z->has_coordinates)
        path->latency_s += (hypot(s->x_ms - t->x_ms, s->y_ms - t->y_ms) + fabs(s->height_ms) + fabs(t->height_ms)) / 1000;
    return error;
}

static int gateways(const void *state, int source, int target, int gateway[2])
{
    (void)state, (void)source, (void)target, (void)gateway; /* its wires are those of hosts */
    return PLATFORM_NO_ROUTE;
}

/* Makes entries up to that of a member. NULL without memory. */
static member *entry_of(star *z, int index)
{
    if (index >= z->room) {
        if (index >= INT32_MAX / 2) return NULL;
        const int room = index < 8 ? 16 : 2 * (index + 1);
        member *at = realloc(z->at, (size_t)room * sizeof *at);
        if (!at) return NULL;
        z->at = at;
        z->room = room;
    }
    while (z->n <= index) z->at[z->n++] = bare;
    return &z->at[index];
}

/* The one route that can be declared is that of a member to itself. */
static int add_route(void *state, const declared_route *r)
{
    star *z = state;
    if (r->source != r->target) return PLATFORM_BAD_ARGUMENT;
    member *m = entry_of(z, r->source);
    if (!m) return PLATFORM_NO_MEMORY;
    if (m->loopback >= 0) return PLATFORM_ROUTE_EXISTS;
    if (r->n > z->pool_room - z->n_pooled) {
        if (r->n > INT32_MAX / 2 - z->n_pooled) return PLATFORM_TOO_LARGE;
        const int room = 2 * (z->n_pooled + r->n);
        int *pool = realloc(z->pool, (size_t)room * sizeof *pool);
        if (!pool) return PLATFORM_NO_MEMORY;
        z->pool = pool;
        z->pool_room = room;
    }
    m->loopback = z->n_pooled;
    m->n_loopbacks = r->n;
    for (int i = 0; i < r->n; i++) z->pool[z->n_pooled++] = r->link[i];
    return 0;
}

static void free_state(void *state)
{
    star *z = state;
    free(z->at);
    free(z->pool);
    free(z);
}

static const zone_kind star_kind
    = {.route = route, .gateways = gateways, .takes_members = 1, .add_route = add_route, .free = free_state};

int platform_add_star_zone(platform *p, int parent_zone, int has_coordinates)
{
    star *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->has_coordinates = has_coordinates;
    return zone_add(p, parent_zone, &star_kind, z);
}

static int is_link(const platform *p, int link)
{
    return link >= -1 && link < platform_n_links(p);
}

int platform_set_wires(platform *p, int zone_point, int first, int n, int up, int down, int stride, int backbone)
{
    star *z = zone_state(p, zone_point, &star_kind);
    const int index = zone_member(p, zone_point, first);
    if (!z || index < 0 || n < 1 || n > INT32_MAX - first) return PLATFORM_BAD_ARGUMENT;
    if (zone_member(p, zone_point, first + n - 1) != index + n - 1) return PLATFORM_BAD_ARGUMENT;
    if (stride < 0 || up < 0 || down < 0 || stride > INT32_MAX / n) return PLATFORM_BAD_ARGUMENT;
    const int last = stride * (n - 1);
    if (up > INT32_MAX - last || down > INT32_MAX - last || !is_link(p, up + last) || !is_link(p, down + last)
        || !is_link(p, backbone))
        return PLATFORM_BAD_ARGUMENT;
    if (!entry_of(z, index + n - 1)) return PLATFORM_NO_MEMORY;
    for (int i = 0; i < n; i++) {
        z->at[index + i].up = up + i * stride;
        z->at[index + i].down = down + i * stride;
        z->at[index + i].backbone = backbone;
    }
    return 0;
}

int platform_set_coordinates(platform *p, int zone_point, int point, double x_ms, double y_ms, double height_ms)
{
    star *z = zone_state(p, zone_point, &star_kind);
    const int index = zone_member(p, zone_point, point);
    if (!z || index < 0 || !isfinite(x_ms) || !isfinite(y_ms) || !isfinite(height_ms)) return PLATFORM_BAD_ARGUMENT;
    member *m = entry_of(z, index);
    if (!m) return PLATFORM_NO_MEMORY;
    m->is_known = 1;
    m->x_ms = x_ms;
    m->y_ms = y_ms;
    m->height_ms = height_ms;
    return 0;
}
