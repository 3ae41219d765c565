#include "networks/adaptive_routes.h"

#include <stdlib.h>

#include "basics/seeded_choice.h"

int adaptive_routes_init(adaptive_routes *all, const platform *p)
{
    *all = (adaptive_routes){0};
    if (!platform_is_adaptive(p)) return 0;
    all->n_on_link = calloc((size_t)platform_n_links(p), sizeof *all->n_on_link);
    return all->n_on_link ? 0 : -1;
}

void adaptive_routes_free(adaptive_routes *all)
{
    free(all->n_on_link);
    free(all->path.link);
}

/* Adds so many transfers to the links of choice of the present path. */
static void add(adaptive_routes *all, int n)
{
    for (int i = all->path.first_choice; i < all->path.end_choice; i++) all->n_on_link[all->path.link[i]] += n;
}

/* Load of the present path, with this transfer. */
static double load_with_this(sim *s, const adaptive_routes *all)
{
    const double *bandwidth = network_bandwidth_bytes_per_s(s);
    const platform_path *path = &all->path;
    double load = 0;
    for (int i = path->first_choice; i < path->end_choice; i++) {
        const double on_link = (all->n_on_link[path->link[i]] + 1) / bandwidth[path->link[i]];
        if (on_link > load) load = on_link;
    }
    return load;
}

/* A number of an order and a place among its detours: not 0, and small enough for an int. */
static int drawn_detour(int64_t order, int i)
{
    return (int)(mixed((uint64_t)order * ADAPTIVE_DETOURS + (uint64_t)i) >> 34) + 1;
}

static int find(sim *s, adaptive_routes *all, int source_host, int target_host, int detour)
{
    all->path.detour = detour;
    return network_route(s, source_host, target_host, &all->path);
}

int adaptive_routes_come(sim *s, adaptive_routes *all, int source_host, int target_host, int64_t order)
{
    int best = 0, found = 0, error = find(s, all, source_host, target_host, 0);
    if (error < 0) return error;
    if (all->path.first_choice == all->path.end_choice) return 0;
    double least = load_with_this(s, all);
    for (int i = 0; i < ADAPTIVE_DETOURS; i++) {
        found = drawn_detour(order, i);
        error = find(s, all, source_host, target_host, found);
        if (error < 0) return error;
        const double other = 2 * load_with_this(s, all); /* twice the way */
        if (other >= least) continue;
        least = other;
        best = found;
    }
    if (best != found) error = find(s, all, source_host, target_host, best);
    if (error < 0) return error;
    add(all, 1);
    return best;
}

void adaptive_routes_leave(sim *s, adaptive_routes *all, int source_host, int target_host, int detour)
{
    all->path.detour = detour;
    if (!platform_route(network_platform(s), source_host, target_host, &all->path)) add(all, -1);
}
