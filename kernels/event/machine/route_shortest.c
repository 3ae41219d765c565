/* route_shortest.c -- zones whose routes are the shortest sequences of declared ones, by number of links (Floyd, Dijkstra).
 *
 * The first time that a member is a source, its tree of shortest paths to all others is found (Dijkstra 1959) and kept, while there
 * is room; trees of other sources give way. Of several shortest paths to a member the tree has the one that SimGrid finds first:
 *   Dijkstra: it settles members by distance, then by their first mention in a route; the first that reaches another leads to it.
 *   Floyd: it allows members 0, 1, ... as intermediate ones (Floyd 1962), and keeps a path until there is a shorter one. So the
 *   largest intermediate member is as small as can be, then the largest behind that one, and so on. `summit` links each member to
 *   the nearest larger one before it on its path, so these sequences are compared from their common part on.
 *
 * Between zones, the way inside a zone from the gateway by which one route enters to that by which the next one leaves is added.
 *
 * Invariant: a tree has, for each member but its source, the last declared route on the path to it, or -1: there is none; for its
 * source, the last one on the way back to it. */
#include "basics/heap.h"
#include "machine/route_table.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TREES_BYTES_MAX = 64 << 20, STEPS_AT_HAND = 64 };

/* Search data computed from the routes when all of them are declared. */
typedef struct {
    int n;            /* members that routes mention have smaller indices */
    int *first_out;   /* [n + 1]: of each member in `out` */
    int *out;         /* routes by source, in order of declaration */
    int *mention;     /* order in which routes mention the members first */
    int n_trees;      /* number of trees kept; the tree of source s is at s mod n_trees */
    int *tree_source; /* -1: none */
    int **tree;
    double *distance; /* distances in the search under way */
    int *summit;
    unsigned char *is_settled;
    heap waiting;
} graph;

typedef struct {
    int is_floyd, loopback_link;
    route_table routes;
    graph *found;     /* made by the first search, which any thread may begin: NULL until then */
    atomic_flag busy; /* held while `found` is used */
} shortest;

static void graph_free(graph *g)
{
    if (!g) return;
    for (int i = 0; g->tree && i < g->n_trees; i++) free(g->tree[i]);
    free(g->first_out);
    free(g->out);
    free(g->mention);
    free(g->tree_source);
    free(g->tree);
    free(g->distance);
    free(g->summit);
    free(g->is_settled);
    heap_free(&g->waiting);
    free(g);
}

static void sort_routes(graph *g, const route_table *t)
{
    for (int i = 0; i < t->n_routes; i++) g->first_out[t->routes[i].source + 1]++;
    for (int v = 0; v < g->n; v++) g->first_out[v + 1] += g->first_out[v];
    for (int v = 0; v < g->n; v++) g->summit[v] = g->first_out[v];
    for (int i = 0; i < t->n_routes; i++) g->out[g->summit[t->routes[i].source]++] = i;
}

static void order_mentions(graph *g, const route_table *t)
{
    int n = 0;
    for (int v = 0; v < g->n; v++) g->mention[v] = -1;
    for (int i = 0; i < t->n_routes; i++) {
        if (g->mention[t->routes[i].source] < 0) g->mention[t->routes[i].source] = n++;
        if (g->mention[t->routes[i].target] < 0) g->mention[t->routes[i].target] = n++;
    }
}

static graph *graph_of(const route_table *t)
{
    graph *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    for (int i = 0; i < t->n_routes; i++) {
        if (t->routes[i].source >= g->n) g->n = t->routes[i].source + 1;
        if (t->routes[i].target >= g->n) g->n = t->routes[i].target + 1;
    }
    const size_t n = (size_t)g->n;
    const size_t n_trees = TREES_BYTES_MAX / (n * sizeof(int) + 1) + 1;
    g->n_trees = n_trees < n ? (int)n_trees : g->n;
    heap_init(&g->waiting, 0);
    g->first_out = calloc(n + 1, sizeof *g->first_out);
    g->out = malloc(((size_t)t->n_routes + 1) * sizeof *g->out);
    g->mention = malloc((n + 1) * sizeof *g->mention);
    g->tree_source = malloc(((size_t)g->n_trees + 1) * sizeof *g->tree_source);
    g->tree = calloc((size_t)g->n_trees + 1, sizeof *g->tree);
    g->distance = malloc((n + 1) * sizeof *g->distance);
    g->summit = malloc((n + 1) * sizeof *g->summit);
    g->is_settled = malloc(n + 1);
    if (!g->first_out || !g->out || !g->mention || !g->tree_source || !g->tree || !g->distance || !g->summit
        || !g->is_settled) {
        graph_free(g);
        return NULL;
    }
    for (int i = 0; i < g->n_trees; i++) g->tree_source[i] = -1;
    sort_routes(g, t);
    order_mentions(g, t);
    return g;
}

/* ---- the search ---- */

/* Does Floyd's search prefer the path by way of `a` to that by way of `b`, when both are as long? */
static int is_lower(const graph *g, int source, int a, int b)
{
    if (a == source || b == source) return a == source && b != source;
    int last_a = -1, last_b = -1;
    while (a != b) {
        if (b < 0 || (a >= 0 && a < b)) {
            last_a = a;
            a = g->summit[a];
        } else {
            last_b = b;
            b = g->summit[b];
        }
    }
    return last_a < 0 || (last_b >= 0 && last_a < last_b);
}

static void settle(graph *g, const route_table *t, const int *tree, int source, int v)
{
    g->is_settled[v] = 1;
    if (v == source) return;
    int before = t->routes[tree[v]].source;
    if (before == source) before = -1;
    while (before >= 0 && before < v) before = g->summit[before];
    g->summit[v] = before;
}

/* Fills the tree of a source. 0, or a negative error. */
static int search(const shortest *z, graph *g, int source, int *tree)
{
    const route_table *t = &z->routes;
    int error = 0;
    double back = INFINITY; /* length of the way from the source to itself */
    for (int v = 0; v < g->n; v++) {
        g->distance[v] = INFINITY;
        g->is_settled[v] = 0;
        tree[v] = -1;
    }
    g->distance[source] = 0;
    while (g->waiting.n) heap_pop(&g->waiting);
    error = heap_push(&g->waiting, 0, 0, source);
    while (!error && g->waiting.n) {
        const int v = g->waiting.item[0].id;
        heap_pop(&g->waiting);
        if (g->is_settled[v]) continue;
        settle(g, t, tree, source, v);
        for (int k = g->first_out[v]; k < g->first_out[v + 1] && !error; k++) {
            const table_route *r = &t->routes[g->out[k]];
            const int u = r->target, returns = u == source;
            double *known = returns ? &back : &g->distance[u];
            const double distance = g->distance[v] + r->n;
            if (v == u && !returns) continue;
            if (returns && v != source && !z->is_floyd) continue;
            if (distance > *known) continue;
            if (distance == *known && !(z->is_floyd && is_lower(g, source, v, t->routes[tree[u]].source))) continue;
            if (distance < *known && !returns)
                error = heap_push(&g->waiting, distance, z->is_floyd ? u : g->mention[u], u);
            *known = distance;
            tree[u] = g->out[k];
        }
    }
    return error ? PLATFORM_NO_MEMORY : 0;
}

/* The tree of a source, which stays while the zone is held. NULL without memory. */
static const int *tree_of(const shortest *z, graph *g, int source)
{
    const int at = source % g->n_trees;
    if (g->tree_source[at] == source) return g->tree[at];
    if (!g->tree[at]) g->tree[at] = malloc((size_t)g->n * sizeof **g->tree);
    if (!g->tree[at]) return NULL;
    g->tree_source[at] = -1;
    if (search(z, g, source, g->tree[at]) < 0) return NULL;
    g->tree_source[at] = source;
    return g->tree[at];
}

/* ---- paths ---- */

typedef struct {
    int n;                       /* declared routes on the path */
    int *step;                   /* the last one first */
    int at_hand[STEPS_AT_HAND];
} steps;

static void steps_free(steps *s)
{
    if (s->step != s->at_hand) free(s->step);
}

/* Follows the tree from the target back. 0, or a negative error: then there is nothing to free. */
static int follow(const shortest *z, const int *tree, int source, int target, steps *s)
{
    s->n = 0;
    s->step = s->at_hand;
    int v = target;
    do {
        const int i = tree[v];
        if (i < 0) return PLATFORM_NO_ROUTE;
        s->n++;
        v = z->routes.routes[i].source;
    } while (v != source);
    if (s->n > STEPS_AT_HAND) s->step = malloc((size_t)s->n * sizeof *s->step);
    if (!s->step) return PLATFORM_NO_MEMORY;
    for (int k = 0, u = target; k < s->n; k++, u = z->routes.routes[tree[u]].source) s->step[k] = tree[u];
    return 0;
}

/* The latency of the steps alone, added up from the last one: so SimGrid does with Dijkstra's search, to the last bit. */
static double latency_from_behind(const platform *p, const route_table *t, const steps *s, const platform_path *path,
                                  double latency_s)
{
    for (int k = 0; k < s->n; k++) {
        const table_route *r = &t->routes[s->step[k]];
        for (int i = 0; i < r->n; i++) latency_s += path_link_latency_s(p, path, t->pool[r->first + i]);
    }
    return latency_s;
}

static int find_steps(shortest *z, int source, int target, steps *s)
{
    int error = 0;
    while (atomic_flag_test_and_set_explicit(&z->busy, memory_order_acquire)) {}
    if (!z->found) z->found = graph_of(&z->routes);
    if (!z->found) {
        error = PLATFORM_NO_MEMORY;
    } else if (source >= z->found->n || target >= z->found->n) {
        error = PLATFORM_NO_ROUTE; /* no route mentions it */
    } else {
        const int *tree = tree_of(z, z->found, source);
        error = tree ? follow(z, tree, source, target, s) : PLATFORM_NO_MEMORY;
    }
    atomic_flag_clear_explicit(&z->busy, memory_order_release);
    return error;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    shortest *z = (shortest *)(uintptr_t)state; /* its graph is found when it is asked for */
    if (source == target && z->loopback_link >= 0 && route_table_find(&z->routes, source, target) < 0)
        return path_append(p, path, z->loopback_link);
    steps s;
    int error = find_steps(z, source, target, &s), entered = -1; /* entered: the gateway by which a zone was */
    if (error < 0) return error;
    const double before_s = path->latency_s;
    int is_through = 0; /* zones, whose own latencies are between those of the steps */
    for (int k = s.n - 1; k >= 0 && !error; k--) {
        const int *gateway = z->routes.routes[s.step[k]].gateway;
        const int has_way_inside = entered != gateway[0] && k < s.n - 1;
        if (has_way_inside) error = path_append_route(p, entered, gateway[0], path);
        is_through |= has_way_inside;
        if (!error) error = route_table_append(p, &z->routes, s.step[k], path);
        entered = gateway[1];
    }
    if (!z->is_floyd && !is_through) path->latency_s = latency_from_behind(p, &z->routes, &s, path, before_s);
    steps_free(&s);
    return error;
}

static int gateways(const void *state, int source, int target, int gateway[2])
{
    shortest *z = (shortest *)(uintptr_t)state;
    steps s;
    const int error = find_steps(z, source, target, &s);
    if (error < 0) return error;
    gateway[0] = z->routes.routes[s.step[s.n - 1]].gateway[0];
    gateway[1] = z->routes.routes[s.step[0]].gateway[1];
    steps_free(&s);
    return 0;
}

static int add_route(void *state, const declared_route *r)
{
    shortest *z = state;
    graph_free(z->found);
    z->found = NULL;
    return route_table_add(&z->routes, r);
}

static int declared(const void *state, int i, declared_route *r)
{
    const shortest *z = state;
    return route_table_declared(&z->routes, i, r);
}

static void check(const void *state)
{
    const shortest *z = state;
    route_table_check(&z->routes);
}

static void free_state(void *state)
{
    shortest *z = state;
    graph_free(z->found);
    route_table_free(&z->routes);
    free(z);
}

static const zone_kind shortest_kind = {.route = route, .gateways = gateways, .takes_members = 1, .add_route = add_route,
                                        .declared = declared, .check = check, .free = free_state};

int platform_add_shortest_zone(platform *p, int parent_zone, int rule, int loopback_link)
{
    if (loopback_link < -1 || loopback_link >= platform_n_links(p)) return PLATFORM_BAD_ARGUMENT;
    if (rule != SHORTEST_FLOYD && rule != SHORTEST_DIJKSTRA) return PLATFORM_BAD_ARGUMENT;
    shortest *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->is_floyd = rule == SHORTEST_FLOYD;
    z->loopback_link = loopback_link;
    atomic_flag_clear(&z->busy);
    return zone_add(p, parent_zone, &shortest_kind, z);
}
