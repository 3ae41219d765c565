/* route_rails.c -- hosts with several network cards: planes over the same hosts, of which each pair of hosts uses one.
 *
 * Messages from member s to member t take plane (s + s / k + t + t / k^2 + h(s / k^3) + h(t / k^3)) mod k of k planes, where h is
 * random and always the same. So a host meets the members of each group of k on a plane each: it sends to many, and receives
 * from many, with the bandwidth of all its cards, and has that of one card with each of them. And k^2 hosts in a row use all
 * planes alike when each sends to that at some distance, or that differs in a bit. The random numbers keep the choice apart from
 * those that networks make by numbers of hosts mod cables: within a plane, all cables are used.
 *
 * Invariant: planes are of one kind; so the members of each, hosts and maybe a router, have the local indices that they have
 * here. */
#include "basics/seeded_choice.h"
#include "machine/zone.h"

#include <stdlib.h>

typedef struct {
    const zone_kind *kind;
    void *state; /* owned */
} plane;

typedef struct {
    int n_rails, n_planes; /* to be, and so far */
    plane *planes;
} rails;

/* Amount that a member adds to the number of the plane. */
static uint64_t turn(const rails *z, int member, uint64_t step)
{
    const uint64_t k = (uint64_t)z->n_rails, m = (uint64_t)member;
    return m + m / step + mixed(m / k / k / k) % k;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const rails *z = state;
    const uint64_t k = (uint64_t)z->n_rails;
    const int rail = (int)((turn(z, source, k) + turn(z, target, k * k)) % k);
    if (rail >= z->n_planes) return PLATFORM_NO_ROUTE;
    return z->planes[rail].kind->route(p, z->planes[rail].state, source, target, path);
}

static int add_plane(void *state, const zone_kind *kind, void *plane_state)
{
    rails *z = state;
    if (z->n_planes == z->n_rails || (z->n_planes > 0 && kind != z->planes[0].kind)) return PLATFORM_BAD_ARGUMENT;
    z->planes[z->n_planes++] = (plane){.kind = kind, .state = plane_state};
    return 0;
}

static void free_state(void *state)
{
    rails *z = state;
    for (int i = 0; i < z->n_planes; i++) z->planes[i].kind->free(z->planes[i].state);
    free(z->planes);
    free(z);
}

static const zone_kind rails_kind = {.route = route, .add_plane = add_plane, .free = free_state};

int platform_add_rails(platform *p, int parent_zone, int n)
{
    if (n < 1) return PLATFORM_BAD_ARGUMENT;
    rails *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->n_rails = n;
    z->planes = calloc((size_t)n, sizeof *z->planes);
    if (z->planes) return zone_add(p, parent_zone, &rails_kind, z);
    free(z);
    return PLATFORM_NO_MEMORY;
}
