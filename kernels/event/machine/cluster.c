/* cluster.c -- the links that clusters of all topologies have: wires, loopbacks, memories, limiters, a backbone. */
#include "machine/power.h"
#include "machine/zone.h"

#include <limits.h>

static int is_wire(double bandwidth_bytes_per_s, double latency_s)
{
    return bandwidth_bytes_per_s >= 0 && latency_s >= 0 && (bandwidth_bytes_per_s > 0 || latency_s == 0);
}

int cluster_is_valid(const cluster *c)
{
    return c->n_hosts > 0 && c->cores > 0 && c->speed_flop_per_s > 0 && c->bandwidth_bytes_per_s > 0
        && is_wire(c->bandwidth_bytes_per_s, c->latency_s)
        && is_wire(c->loopback_bandwidth_bytes_per_s, c->loopback_latency_s) && c->memory_bandwidth_bytes_per_s >= 0
        && (c->loopback_bandwidth_bytes_per_s > 0 || c->memory_bandwidth_bytes_per_s == 0)
        && is_wire(c->backbone_bandwidth_bytes_per_s, c->backbone_latency_s) && c->limiter_bandwidth_bytes_per_s >= 0;
}

int cluster_set_wire_power(platform *p, const cluster *c, int first, int width)
{
    if (!c->wires_have_power) return 0;
    return platform_set_link_power(p, first, platform_n_links(p) - first, width * c->wire_idle_w, width * c->wire_busy_w);
}

int cluster_add_links(platform *p, const cluster *c, int n_wires, int n_switches, cluster_links *out)
{
    return cluster_add_bundles(p, c, 1, &n_wires, &(int){1}, n_switches, out);
}

int cluster_add_bundles(platform *p, const cluster *c, int n_kinds, const int *n, const int *width, int n_switches,
                        cluster_links *out)
{
    *out = (cluster_links){.wires = platform_n_links(p), .wire_stride = c->is_split ? 2 : 1, .loopbacks = -1, .memories = -1,
                           .limiters = -1, .backbone = -1};
    if (n_switches > INT_MAX - c->n_hosts) return PLATFORM_TOO_LARGE;
    int error = 0;
    for (int i = 0; i < n_kinds && error >= 0; i++) {
        if (n[i] > INT_MAX / out->wire_stride) return PLATFORM_TOO_LARGE;
        const int first = platform_n_links(p);
        error = platform_add_links(p, n[i] * out->wire_stride, width[i] * c->bandwidth_bytes_per_s, c->latency_s, LINK_SHARED);
        if (error >= 0) error = cluster_set_wire_power(p, c, first, width[i]);
    }
    if (error >= 0 && c->loopback_bandwidth_bytes_per_s > 0)
        error = out->loopbacks = platform_add_links(p, c->n_hosts, c->loopback_bandwidth_bytes_per_s,
                                                    c->loopback_latency_s, LINK_FATPIPE);
    if (error >= 0 && c->memory_bandwidth_bytes_per_s > 0)
        error = out->memories = platform_add_links(p, c->n_hosts, c->memory_bandwidth_bytes_per_s, 0, LINK_SHARED);
    if (error >= 0 && c->limiter_bandwidth_bytes_per_s > 0)
        error = out->limiters
            = platform_add_links(p, c->n_hosts + n_switches, c->limiter_bandwidth_bytes_per_s, 0, LINK_SHARED);
    if (error >= 0 && c->backbone_bandwidth_bytes_per_s > 0)
        error = out->backbone = platform_add_links(p, 1, c->backbone_bandwidth_bytes_per_s, c->backbone_latency_s,
                                                   c->backbone_policy);
    return error < 0 ? error : 0;
}

int cluster_append_loopback(const platform *p, const cluster_links *l, int host, platform_path *path)
{
    const int error = path_append(p, path, l->loopbacks + host);
    return error || l->memories < 0 ? error : path_append(p, path, l->memories + host);
}
