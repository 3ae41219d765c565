/* route_graph.c -- any network: shortest paths between nodes that are hosts and switches, by hops (breadth first) or by latency
 * (Dijkstra 1959).
 *
 * The first nodes are the hosts. Where there are switches, hosts forward nothing; where all nodes are hosts, they do. A tree of
 * shortest paths to a target is computed when the first message goes there, and trees are kept while there is room for them. Of
 * several shortest paths, each node takes the one whose next node has the lowest number. The messages from one host to another take
 * cable (source + target / cables) mod cables of each edge.
 *
 * A host with one edge, to a node that forwards, is a leaf. Trees leave leaves out: the way to a leaf leads to its neighbour.
 *
 * Invariants: (1) tree_of[i] is the number of a tree whose target is inner node i, or -1;
 *             (2) step[i] of a tree is the half-edge from inner node i towards the target; -1 at the target, and without a way;
 *             (3) lengths of edges are positive: the next node on a shortest path is nearer to the target, or its distance became
 *                 final earlier, where a sum of seconds has swallowed femtoseconds;
 *             (4) `lock` is held while a forest is in use: worlds of several threads may share a platform. */
#include "basics/heap.h"
#include "machine/zone.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TREES_MAX_BYTES = 64 << 20, TREES_MIN = 8 };

typedef struct {
    int to, edge, is_down; /* down: from the edge's second node to its first */
    int back;              /* the half-edge the other way */
    double length;         /* by hops 1; by latency whole femtoseconds, for equal sums to be equal, and one more, for (3) */
} half_edge;

typedef struct {
    int first_link, cables;
} edge;

typedef struct {
    int target; /* inner node, or -1 */
    int *step;  /* [n_inner], owned */
} tree;

typedef struct {
    atomic_flag lock;
    int n_trees, trees_max, next_tree;
    tree *trees;      /* [trees_max], the first n_trees of which have their room */
    int *tree_of;     /* [n_inner] */
    double *distance; /* [n_inner], to the target of the tree in the making */
    int *queue;       /* [n_inner], by hops */
    heap ahead;       /* by latency */
} forest;

typedef struct {
    cluster_links links;
    int n_hosts, n_nodes, n_edges, hosts_forward, is_by_latency;
    edge *edges;
    int *start;       /* [n_nodes + 1]: the first half-edge from each node */
    half_edge *half;
    int n_inner;      /* nodes that are no leaves */
    int *inner_of;    /* [n_nodes]: -1 for a leaf */
    int *node_of;     /* [n_inner] */
    forest *found;    /* changes while the platform is only read */
} graph;

static void free_forest(forest *f)
{
    if (!f) return;
    for (int i = 0; i < f->n_trees; i++) free(f->trees[i].step);
    free(f->trees);
    free(f->tree_of);
    free(f->distance);
    free(f->queue);
    heap_free(&f->ahead);
    free(f);
}

static void free_state(void *state)
{
    graph *z = state;
    free(z->edges);
    free(z->start);
    free(z->half);
    free(z->inner_of);
    free(z->node_of);
    free_forest(z->found);
    free(z);
}

/* ---- trees of shortest paths ---- */

static int is_leaf(const graph *z, int node) { return z->inner_of[node] < 0; }
static int forwards(const graph *z, int node) { return z->hosts_forward || node >= z->n_hosts; }

/* Offers inner node i, at the other end of a half-edge from a node whose distance is final, the way over it. 1: it is the first
 * one, 2: it is shorter than those before, 0: it is neither. By (3), a node whose distance is final accepts nothing more. */
static int offer(const graph *z, int *step, int from, const half_edge *h, int i)
{
    double *known = z->found->distance;
    const double distance = known[z->inner_of[from]] + h->length;
    if (distance < known[i]) {
        const int is_first = isinf(known[i]);
        known[i] = distance;
        step[i] = h->back;
        return is_first ? 1 : 2;
    }
    const int is_nearer = known[z->inner_of[from]] < distance; /* if the sum has swallowed the length, a way might turn back */
    if (distance == known[i] && is_nearer && from < z->half[step[i]].to) step[i] = h->back;
    return 0;
}

static int search_by_hops(const graph *z, int target, int *step)
{
    int *queue = z->found->queue, n = 0;
    queue[n++] = target;
    for (int k = 0; k < n; k++) {
        const int i = queue[k], node = z->node_of[i];
        if (i != target && !forwards(z, node)) continue;
        for (int h = z->start[node]; h < z->start[node + 1]; h++) {
            const int other = z->inner_of[z->half[h].to];
            if (other >= 0 && other != target && offer(z, step, node, &z->half[h], other)) queue[n++] = other;
        }
    }
    return 0;
}

static int search_by_latency(const graph *z, int target, int *step)
{
    heap *ahead = &z->found->ahead;
    int error = heap_push(ahead, 0, target, target);
    while (!error && ahead->n > 0) {
        const int i = ahead->item[0].id, node = z->node_of[i];
        heap_pop(ahead);
        if (i != target && !forwards(z, node)) continue;
        for (int h = z->start[node]; h < z->start[node + 1] && !error; h++) {
            const int other = z->inner_of[z->half[h].to];
            if (other < 0 || other == target) continue;
            const int answer = offer(z, step, node, &z->half[h], other);
            if (answer == 1) error = heap_push(ahead, z->found->distance[other], other, other);
            if (answer == 2) heap_move(ahead, other, z->found->distance[other]);
        }
    }
    while (ahead->n > 0) heap_pop(ahead);
    return error ? PLATFORM_NO_MEMORY : 0;
}

/* The number of a tree in whose place a new one can stand, or a negative error. */
static int free_tree(forest *f, int n_inner)
{
    const int number = f->next_tree;
    tree *t = &f->trees[number];
    if (number == f->n_trees) {
        t->step = malloc((size_t)n_inner * sizeof *t->step);
        if (!t->step) return PLATFORM_NO_MEMORY;
        f->n_trees++;
    } else if (t->target >= 0) {
        f->tree_of[t->target] = -1;
    }
    t->target = -1;
    f->next_tree = (number + 1) % f->trees_max;
    return number;
}

/* The half-edges towards inner node `target`; NULL without memory. */
static const int *steps_to(const graph *z, int target)
{
    forest *f = z->found;
    if (f->tree_of[target] >= 0) return f->trees[f->tree_of[target]].step;
    const int number = free_tree(f, z->n_inner);
    if (number < 0) return NULL;
    tree *t = &f->trees[number];
    for (int i = 0; i < z->n_inner; i++) {
        t->step[i] = -1;
        f->distance[i] = INFINITY;
    }
    f->distance[target] = 0;
    if ((z->is_by_latency ? search_by_latency : search_by_hops)(z, target, t->step) < 0) return NULL;
    t->target = target;
    f->tree_of[target] = number;
    return t->step;
}

/* ---- routes ---- */

static int append_limiter(const platform *p, const graph *z, int node, platform_path *path)
{
    return z->links.limiters >= 0 && node < z->n_hosts ? path_append(p, path, z->links.limiters + node) : 0;
}

static int link_of(const graph *z, const half_edge *h, const host_pair *pair)
{
    const edge *e = &z->edges[h->edge];
    const int stride = z->links.wire_stride;
    return e->first_link + cable_between(pair, e->cables) * stride + (h->is_down ? stride - 1 : 0);
}

/* Over a half-edge, with the limiter of the host that it reaches. */
static int append_hop(const platform *p, const graph *z, const half_edge *h, const host_pair *pair, platform_path *path)
{
    const int error = path_append(p, path, link_of(z, h, pair));
    return error ? error : append_limiter(p, z, h->to, path);
}

/* Between two inner nodes. */
static int append_shortest(const platform *p, const graph *z, int node, int goal, const host_pair *pair, platform_path *path)
{
    while (atomic_flag_test_and_set_explicit(&z->found->lock, memory_order_acquire)) {}
    const int *step = steps_to(z, z->inner_of[goal]);
    int error = step ? 0 : PLATFORM_NO_MEMORY;
    while (!error && node != goal) {
        const int h = step[z->inner_of[node]];
        error = h < 0 ? PLATFORM_NO_ROUTE : append_hop(p, z, &z->half[h], pair, path);
        if (!error) node = z->half[h].to;
    }
    atomic_flag_clear_explicit(&z->found->lock, memory_order_release);
    return error;
}

/* Without a loopback: over the host's first edge and back. */
static int append_return(const platform *p, const graph *z, int host, const host_pair *pair, platform_path *path)
{
    if (z->start[host] == z->start[host + 1]) return PLATFORM_NO_ROUTE;
    const half_edge *out = &z->half[z->start[host]];
    const int there = link_of(z, out, pair), home = link_of(z, &z->half[out->back], pair);
    int error = append_limiter(p, z, host, path);
    if (!error) error = path_append(p, path, there);
    if (!error && home != there) error = path_append(p, path, home);
    return error;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const graph *z = state;
    const host_pair pair = {source, target};
    if (source == target && z->links.loopbacks >= 0) return cluster_append_loopback(p, &z->links, source, path);
    if (source == target) return append_return(p, z, source, &pair, path);
    const half_edge *first = &z->half[z->start[source]], *last = &z->half[z->start[target]];
    int node = source, goal = is_leaf(z, target) ? last->to : target;
    int error = append_limiter(p, z, source, path);
    if (!error && is_leaf(z, source)) {
        error = append_hop(p, z, first, &pair, path);
        node = first->to;
    }
    if (!error && node != goal) error = append_shortest(p, z, node, goal, &pair, path);
    if (!error && is_leaf(z, target)) error = append_hop(p, z, &z->half[last->back], &pair, path);
    return error;
}

static const zone_kind graph_kind = {.route = route, .free = free_state};

/* ---- building ---- */

static void *room_for(int n, size_t size) { return calloc((size_t)n + 1, size); } /* never for nothing */

static int edges_are_valid(const graph_edges *list, int n_nodes)
{
    for (int i = 0; i < list->n; i++) {
        const int a = list->a[i], b = list->b[i];
        if (a < 0 || a >= n_nodes || b < 0 || b >= n_nodes || a == b || list->cables[i] < 1) return 0;
    }
    return 1;
}

/* Each node's half-edges, in the order of the edges. */
static int plug_in(graph *z, const graph_edges *list)
{
    z->start = room_for(z->n_nodes + 1, sizeof *z->start);
    z->half = room_for(2 * z->n_edges, sizeof *z->half);
    int *next = room_for(z->n_nodes, sizeof *next);
    if (!z->start || !z->half || !next) {
        free(next);
        return PLATFORM_NO_MEMORY;
    }
    for (int i = 0; i < list->n; i++) {
        z->start[list->a[i] + 1]++;
        z->start[list->b[i] + 1]++;
    }
    for (int node = 0; node < z->n_nodes; node++) {
        z->start[node + 1] += z->start[node];
        next[node] = z->start[node];
    }
    for (int i = 0; i < list->n; i++) {
        const int up = next[list->a[i]]++, down = next[list->b[i]]++;
        const double length = z->is_by_latency ? round(list->latency_s[i] * 1e15) + 1 : 1;
        z->half[up] = (half_edge){.to = list->b[i], .edge = i, .is_down = 0, .back = down, .length = length};
        z->half[down] = (half_edge){.to = list->a[i], .edge = i, .is_down = 1, .back = up, .length = length};
    }
    free(next);
    return 0;
}

static int has_one_edge(const graph *z, int node) { return z->start[node + 1] - z->start[node] == 1; }

/* Tells leaves from inner nodes, of which there is at least one. */
static int number_inner_nodes(graph *z)
{
    z->inner_of = room_for(z->n_nodes, sizeof *z->inner_of);
    z->node_of = room_for(z->n_nodes, sizeof *z->node_of);
    if (!z->inner_of || !z->node_of) return PLATFORM_NO_MEMORY;
    for (int node = 0; node < z->n_nodes; node++) {
        z->inner_of[node] = -1;
        if (node < z->n_hosts && has_one_edge(z, node)) {
            const int beside = z->half[z->start[node]].to;
            if (forwards(z, beside) && (beside >= z->n_hosts || !has_one_edge(z, beside))) continue;
        }
        z->inner_of[node] = z->n_inner;
        z->node_of[z->n_inner++] = node;
    }
    return 0;
}

static int plant(graph *z)
{
    forest *f = z->found = calloc(1, sizeof *f);
    if (!f) return PLATFORM_NO_MEMORY;
    atomic_flag_clear(&f->lock);
    const int fitting = TREES_MAX_BYTES / (int)sizeof(int) / z->n_inner;
    f->trees_max = fitting > TREES_MIN ? fitting : TREES_MIN;
    if (f->trees_max > z->n_inner) f->trees_max = z->n_inner;
    f->trees = room_for(f->trees_max, sizeof *f->trees);
    f->tree_of = room_for(z->n_inner, sizeof *f->tree_of);
    f->distance = room_for(z->n_inner, sizeof *f->distance);
    f->queue = room_for(z->n_inner, sizeof *f->queue);
    heap_init(&f->ahead, 1);
    if (!f->trees || !f->tree_of || !f->distance || !f->queue || !f->ahead.place) return PLATFORM_NO_MEMORY;
    for (int i = 0; i < z->n_inner; i++) f->tree_of[i] = -1;
    return 0;
}

static int add_edge_links(platform *p, graph *z, const graph_edges *list, int stride)
{
    z->edges = room_for(z->n_edges, sizeof *z->edges);
    if (!z->edges) return PLATFORM_NO_MEMORY;
    for (int i = 0; i < list->n; i++) {
        if (list->cables[i] > INT_MAX / stride) return PLATFORM_TOO_LARGE;
        const int first = platform_add_links(p, list->cables[i] * stride, list->bandwidth_bytes_per_s[i], list->latency_s[i],
                                             LINK_SHARED);
        if (first < 0) return first;
        z->edges[i] = (edge){.first_link = first, .cables = list->cables[i]};
    }
    return 0;
}

int platform_add_graph(platform *p, int parent_zone, const cluster *c, int n_switches, const graph_edges *list,
                       int is_by_latency)
{
    if (!cluster_is_valid(c) || c->backbone_bandwidth_bytes_per_s > 0 || n_switches < 0 || list->n < 0)
        return PLATFORM_BAD_ARGUMENT;
    if (n_switches > INT_MAX - 2 - c->n_hosts || list->n > INT_MAX / 2 - 1) return PLATFORM_TOO_LARGE;
    if (!edges_are_valid(list, c->n_hosts + n_switches)) return PLATFORM_BAD_ARGUMENT;
    graph *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->n_hosts = c->n_hosts;
    z->n_nodes = c->n_hosts + n_switches;
    z->n_edges = list->n;
    z->hosts_forward = n_switches == 0;
    z->is_by_latency = is_by_latency;
    int error = plug_in(z, list);
    if (!error) error = number_inner_nodes(z);
    if (!error) error = plant(z);
    if (error < 0) {
        free_state(z);
        return error;
    }
    const int zone_point = zone_add(p, parent_zone, &graph_kind, z); /* owns z from here on */
    if (zone_point < 0) return zone_point;
    const int first = platform_n_links(p);
    error = add_edge_links(p, z, list, c->is_split ? 2 : 1);
    if (error >= 0) error = cluster_set_wire_power(p, c, first, 1);
    if (error >= 0) error = cluster_add_links(p, c, 0, 0, &z->links);
    if (error >= 0) error = zone_add_hosts(p, zone_point, c->n_hosts, c->speed_flop_per_s, c->cores);
    return error < 0 ? error : zone_point;
}
