/* Random machines of nested zones: every pair of hosts has a route, and its latency is the sum of its links' in their
 * order. Parts that fit nowhere are refused, and leave all as it was. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine/platform.h"

enum { MACHINES = 3000, HOSTS_MAX = 256 };

static unsigned long long state;

static int draw(int from, int to)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return from + (int)((state >> 33) % (unsigned)(to - from + 1));
}

static cluster alike(int n_hosts)
{
    cluster c = {.n_hosts = n_hosts, .cores = draw(1, 4), .speed_flop_per_s = 1e9, .bandwidth_bytes_per_s = 1e9,
                 .latency_s = 1e-6 * draw(0, 50), .is_split = draw(0, 1)};
    if (draw(0, 1)) c.loopback_bandwidth_bytes_per_s = 4e9;
    if (c.loopback_bandwidth_bytes_per_s > 0 && draw(0, 1)) c.memory_bandwidth_bytes_per_s = 3e9;
    if (draw(0, 1)) c.limiter_bandwidth_bytes_per_s = 2e9;
    return c;
}

static int add_hyperx(platform *p, int parent, int *gateway)
{
    int size[3], cables[3], n_dimensions = draw(1, 3), hosts_per_switch = draw(1, 3), n_hosts = hosts_per_switch;
    for (int d = 0; d < n_dimensions; d++) {
        n_hosts *= size[d] = draw(1, 4);
        cables[d] = draw(1, 3);
    }
    const cluster c = alike(draw(1, n_hosts)); /* the last places may be empty */
    const int routing = draw(ROUTES_MINIMAL, ROUTES_ADAPTIVE);
    const uint64_t seed = (uint64_t)draw(0, 99);
    const int zone = platform_add_hyperx(p, parent, &c, n_dimensions, size, cables, hosts_per_switch, routing, seed);
    *gateway = zone + 1 + draw(0, c.n_hosts - 1);
    return zone;
}

/* Switches in a row, of which the hosts hang, and edges across; or only hosts, which forward. */
static int add_graph(platform *p, int parent, int *gateway)
{
    enum { NODES = 12, EDGES = 30 };
    int a[EDGES], b[EDGES], cables[EDGES], n = 0, n_hosts = draw(1, 6), n_switches = draw(0, 5), n_nodes = n_hosts + n_switches;
    double bandwidth_bytes_per_s[EDGES], latency_s[EDGES];
    const int first = n_switches ? n_hosts : 0, n_first = n_nodes - first;
    for (int i = first + 1; i < n_nodes; i++) a[n] = i - 1, b[n++] = i;
    for (int i = 0; i < first; i++) a[n] = draw(first, first + n_first - 1), b[n++] = i;
    for (int i = draw(0, 9); i > 0; i--) {
        a[n] = draw(0, n_nodes - 1);
        b[n] = draw(0, n_nodes - 1);
        n += a[n] != b[n];
    }
    for (int i = 0; i < n; i++) {
        cables[i] = draw(1, 3);
        bandwidth_bytes_per_s[i] = 1e9;
        latency_s[i] = 1e-6 * draw(0, 3);
    }
    cluster c = alike(n_hosts);
    c.loopback_bandwidth_bytes_per_s = 4e9; /* a host alone has no other way to itself */
    const graph_edges edges = {n, a, b, cables, bandwidth_bytes_per_s, latency_s};
    const int zone = platform_add_graph(p, parent, &c, n_switches, &edges, draw(0, 1));
    *gateway = zone + 1 + draw(0, n_hosts - 1);
    return zone;
}

/* Planes of one kind over the same hosts, and of no other. */
static int add_on_rails(platform *p, int parent, int *gateway)
{
    const int n_rails = draw(1, 4), zone = platform_add_rails(p, parent, n_rails);
    const int is_flat = draw(0, 1);
    cluster c = alike(draw(1, 3) * 2);
    for (int rail = 0; rail < 2 * n_rails; rail++) {
        const int flat_next = is_flat ^ (rail & 1);
        const int plane = flat_next ? platform_add_flat_cluster(p, zone, &c)
                                    : platform_add_hyperx(p, zone, &c, 1, (int[]){2}, (int[]){1}, c.n_hosts / 2, 0, 0);
        assert(plane == (rail & 1 ? PLATFORM_BAD_ARGUMENT : zone));
    }
    assert(platform_add_flat_cluster(p, zone, &c) == PLATFORM_BAD_ARGUMENT);
    *gateway = zone + 1 + draw(0, c.n_hosts - 1 + is_flat); /* a flat cluster has a router, too */
    return zone;
}

/* Adds a zone of any kind below `parent`. Its point; a host or router that leads into it in *gateway. */
static int add_part(platform *p, int parent, int depth, int *gateway)
{
    int kind = draw(depth > 0 ? 0 : 1, 9), zone;
    if (kind <= 1) {
        const int rule = draw(-1, SHORTEST_DIJKSTRA); /* -1: all routes are declared, not only those between neighbours */
        zone = rule < 0 ? platform_add_full_zone(p, parent, -1) : platform_add_shortest_zone(p, parent, rule, -1);
        assert(zone >= 0);
        int n = draw(1, 3), member[4], gate[4];
        for (int i = 0; i < n; i++) {
            member[i] = kind ? platform_add_host(p, zone, 1e9, 1) : add_part(p, zone, depth - 1, &gate[i]);
            if (kind) gate[i] = -1;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int link[2] = {platform_add_link(p, 1e9, 1e-6 * draw(0, 9), draw(0, 1)), 0};
                if ((kind || i != j) && (rule < 0 || abs(i - j) < 2))
                    assert(!platform_add_route(p, zone, member[i], member[j], gate[i], gate[j], draw(1, 2), link));
                assert(platform_add_route(p, zone, member[i], member[j], 99999, gate[j], 1, link) < 0);
            }
        if (draw(0, 2) == 0) {
            const int link = platform_add_link(p, 1e9, 1e-6, LINK_SHARED);
            assert(platform_add_bypass(p, zone, member[0], member[n - 1], gate[0], gate[n - 1], 1, &link) == 0);
            assert(platform_add_bypass(p, zone, member[0], member[n - 1], gate[0], gate[n - 1], 1, &link) == PLATFORM_ROUTE_EXISTS);
        }
        *gateway = kind ? member[0] : gate[draw(0, n - 1)];
    } else if (kind == 2) {
        cluster c = alike(draw(1, 5));
        if (draw(0, 1)) c.backbone_bandwidth_bytes_per_s = 5e9;
        zone = platform_add_flat_cluster(p, parent, &c);
        *gateway = zone + 1 + c.n_hosts;
        assert(platform_point_kind(p, *gateway) == POINT_ROUTER);
    } else if (kind == 4) {
        int size[3], n_dimensions = draw(1, 3), n_hosts = 1;
        for (int d = 0; d < n_dimensions; d++) n_hosts *= size[d] = draw(1, 4);
        cluster c = alike(n_hosts);
        c.loopback_bandwidth_bytes_per_s = 4e9; /* the only way from a host to itself */
        zone = platform_add_torus(p, parent, &c, n_dimensions, size);
        *gateway = zone + 1 + draw(0, n_hosts - 1);
    } else if (kind == 5) {
        dragonfly_shape s = {1, draw(1, 3), draw(1, 3), draw(1, 2), draw(1, 3), draw(1, 3), draw(1, 3)};
        s.n_groups = draw(1, 5);
        cluster c = alike(s.n_groups * s.n_chassis * s.n_routers * s.n_hosts);
        zone = platform_add_dragonfly(p, parent, &c, &s, draw(ROUTES_MINIMAL, ROUTES_ADAPTIVE), (uint64_t)draw(0, 99));
        *gateway = zone + 1 + draw(0, c.n_hosts - 1);
    } else if (kind == 6) {
        zone = add_hyperx(p, parent, gateway);
    } else if (kind == 7) {
        zone = add_graph(p, parent, gateway);
    } else if (kind == 8) {
        zone = add_on_rails(p, parent, gateway);
    } else if (kind == 9) {
        const int n = draw(1, 4), wires = platform_add_links(p, 2 * n + 1, 1e9, 1e-6 * draw(0, 9), LINK_SHARED);
        zone = platform_add_star_zone(p, parent, 0);
        *gateway = platform_add_router(p, zone);
        const int first = platform_add_hosts(p, zone, n, 1e9, 1);
        assert(platform_set_wires(p, zone, first, n, wires, wires + draw(0, 1), 2, draw(0, 1) ? wires + 2 * n : -1) == 0);
    } else {
        int children[3], parents[3], cables[3], n_levels = draw(1, 3), n_hosts = 1;
        for (int l = 0; l < n_levels; l++) {
            n_hosts *= children[l] = draw(1, 3);
            parents[l] = draw(1, 3);
            cables[l] = draw(1, 3);
        }
        cluster c = alike(draw(1, n_hosts)); /* the last places may be empty */
        zone = platform_add_fat_tree(p, parent, &c, n_levels, children, parents, cables, draw(0, 9));
        *gateway = zone + 1 + draw(0, c.n_hosts - 1);
    }
    assert(zone >= 0);
    assert(platform_point_kind(p, zone) == POINT_ZONE);
    assert(platform_point_zone(p, zone) == parent);
    return zone;
}

static int all_pairs_have_a_route(const platform *p)
{
    platform_path path = {0};
    int n = platform_n_hosts(p) < HOSTS_MAX ? platform_n_hosts(p) : HOSTS_MAX, link[64];
    for (int s = 0; s < n; s++)
        for (int t = 0; t < n; t++) {
            assert(!platform_route(p, s, t, &path) && path.n > 0);
            double latency_s = 0;
            for (int i = 0; i < path.n; i++) {
                assert(path.link[i] >= 0 && path.link[i] < platform_n_links(p));
                latency_s += platform_link_latency_s(p, path.link[i]);
            }
            assert(fabs(latency_s - path.latency_s) <= 1e-12 * latency_s);
            double again_s;
            assert(platform_route_links(p, s, t, 64, link, &again_s) == path.n && again_s == path.latency_s);
            for (int i = 0; i < path.n && i < 64; i++) assert(link[i] == path.link[i]);
        }
    free(path.link);
    return n * n;
}

static void what_fits_nowhere_is_refused(void)
{
    platform *p = platform_new();
    double latency_s;
    int gateway, root = platform_add_full_zone(p, -1, -1), link = platform_add_link(p, 1e9, 0, LINK_SHARED);
    cluster none = {0}, c = {.n_hosts = 2, .cores = 1, .speed_flop_per_s = 1, .bandwidth_bytes_per_s = 1};
    assert(platform_add_flat_cluster(p, root, &none) == PLATFORM_BAD_ARGUMENT);
    cluster silent = c; /* messages inside a host share its memory where they have a loopback */
    silent.memory_bandwidth_bytes_per_s = 1;
    assert(platform_add_flat_cluster(p, root, &silent) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_flat_cluster(p, 77, &c) == PLATFORM_BAD_ARGUMENT);
    int flat = platform_add_flat_cluster(p, root, &c), alone = platform_add_host(p, root, 1, 1);
    assert(platform_add_flat_cluster(p, flat, &c) == PLATFORM_BAD_ARGUMENT); /* a cluster holds no zones */
    assert(platform_add_host(p, flat, 1, 1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_router(p, alone) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_route(p, flat, flat + 1, flat + 2, -1, -1, 1, &link) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_route(p, root, flat, alone, alone, -1, 1, &link) == PLATFORM_BAD_GATEWAY);
    assert(platform_route_links(p, 0, 2, 1, &gateway, &latency_s) == PLATFORM_NO_ROUTE);
    assert(platform_route_links(p, 2, 2, 1, &gateway, &latency_s) == PLATFORM_NO_ROUTE);
    assert(platform_route_links(p, 0, 3, 1, &gateway, &latency_s) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_route(p, root, flat, alone, flat + 1, -1, 1, &link) == 0);
    assert(platform_route_links(p, 0, 2, 1, &gateway, &latency_s) == 1 && gateway == link);
    int star = platform_add_star_zone(p, root, 0), tip = platform_add_host(p, star, 1, 1), other = platform_add_host(p, star, 1, 1);
    assert(platform_set_wires(p, flat, flat + 1, 1, link, link, 0, -1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_wires(p, star, flat + 1, 1, link, link, 0, -1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_wires(p, star, tip, 1, link, 99999, 0, -1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_wires(p, star, tip, 3, link, link, 0, -1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_wires(p, star, tip, INT_MAX, link, link, 0, -1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_wires(p, star, tip, 2, link, link, 1 << 30, -1) == PLATFORM_BAD_ARGUMENT);
    assert(platform_set_coordinates(p, root, tip, 0, 0, 0) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_route(p, star, tip, other, -1, -1, 1, &link) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_route(p, star, tip, tip, -1, -1, 1, &link) == 0);
    assert(platform_add_route(p, star, tip, tip, -1, -1, 1, &link) == PLATFORM_ROUTE_EXISTS);
    assert(platform_add_route(p, platform_add_empty_zone(p, root), tip, tip, -1, -1, 1, &link) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_bypass(p, star, flat, tip, flat + 1, -1, 1, &link) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_bypass(p, root, flat, star, tip, tip, 1, &link) == PLATFORM_BAD_GATEWAY);
    assert(platform_add_bypass(p, root, flat, star, flat + 1, tip, 0, &link) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_bypass(p, root, flat + 1, tip, -1, -1, 1, &link) == PLATFORM_BAD_ARGUMENT); /* hosts of other zones */
    assert(platform_add_bypass(p, root, flat, alone, flat + 1, -1, 1, &link) == PLATFORM_BAD_ARGUMENT);
    assert(platform_add_bypass(p, root, alone, alone, -1, -1, 1, &link) == 0);
    assert(platform_add_shortest_zone(p, root, 2, -1) == PLATFORM_BAD_ARGUMENT);
    platform_check(p);
    assert(platform_n_hosts(p) == 5);
    platform_free(p);
}

static void a_host_reaches_itself_over_its_loopback_and_its_memory(void)
{
    platform *p = platform_new();
    const cluster c = {.n_hosts = 3, .cores = 1, .speed_flop_per_s = 1, .bandwidth_bytes_per_s = 1,
                       .loopback_bandwidth_bytes_per_s = 7, .loopback_latency_s = 2, .memory_bandwidth_bytes_per_s = 9};
    assert(platform_add_flat_cluster(p, -1, &c) >= 0);
    for (int host = 0; host < 3; host++) {
        int link[3];
        double latency_s;
        assert(platform_route_links(p, host, host, 3, link, &latency_s) == 2 && latency_s == 2);
        assert(link[0] == 3 + host && platform_link_policy(p, link[0]) == LINK_FATPIPE);
        assert(link[1] == 6 + host && platform_link_policy(p, link[1]) == LINK_SHARED);
        assert(platform_link_latency_s(p, link[1]) == 0);
        assert(platform_route_links(p, host, (host + 1) % 3, 3, link, &latency_s) == 2 && link[0] < 3 && link[1] < 3);
    }
    platform_free(p);
}

static void zones_nest_so_deep_and_no_deeper(void)
{
    platform *p = platform_new();
    cluster c = {.n_hosts = 1, .cores = 1, .speed_flop_per_s = 1, .bandwidth_bytes_per_s = 1};
    int zone[PLATFORM_DEPTH], gateway[PLATFORM_DEPTH], link = platform_add_link(p, 1, 1, LINK_SHARED);
    for (int i = 0; i < PLATFORM_DEPTH; i++) {
        zone[i] = platform_add_full_zone(p, i ? zone[i - 1] : -1, -1);
        gateway[i] = platform_add_host(p, zone[i], 1, 1);
        assert(zone[i] >= 0 && gateway[i] >= 0);
    }
    int last = zone[PLATFORM_DEPTH - 1], bottom = platform_add_host(p, last, 1, 1);
    assert(platform_add_route(p, last, bottom, gateway[PLATFORM_DEPTH - 1], -1, -1, 1, &link) == 0);
    for (int i = PLATFORM_DEPTH - 1; i > 0; i--)
        assert(platform_add_route(p, zone[i - 1], zone[i], gateway[i - 1], gateway[i], -1, 1, &link) == 0);
    platform_check(p);
    double latency_s;
    assert(platform_route_links(p, PLATFORM_DEPTH, 0, 1, &link, &latency_s) == PLATFORM_DEPTH && latency_s == PLATFORM_DEPTH);
    assert(platform_add_full_zone(p, last, -1) == PLATFORM_TOO_DEEP);
    assert(platform_add_flat_cluster(p, last, &c) == PLATFORM_TOO_DEEP);
    platform_free(p);
}

int main(void)
{
    int n_pairs = 0;
    for (int i = 0; i < MACHINES; i++) {
        state = (unsigned long long)i * 0x9E3779B97F4A7C15u;
        platform *p = platform_new();
        int gateway;
        add_part(p, -1, 2, &gateway);
        platform_check(p);
        n_pairs += all_pairs_have_a_route(p);
        platform_free(p);
    }
    what_fits_nowhere_is_refused();
    a_host_reaches_itself_over_its_loopback_and_its_memory();
    zones_nest_so_deep_and_no_deeper();
    platform_free(NULL);
    printf("platform: all well, %d pairs of hosts\n", n_pairs);
    return 0;
}
