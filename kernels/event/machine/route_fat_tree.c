/* route_fat_tree.c -- fat trees: up to a lowest common ancestor chosen by D-Mod-K (Zahavi 2010), then the only way down.
 *
 * Numbering. Level 0 is the hosts; the last of its places may be empty. The nodes of level l are numbered in a mixed radix
 * whose lowest digit is digit 0: digit j has parents[j] values if j < l, and children[j] values if j >= l. A node of level l
 * and one of level l + 1 are joined, by cables[l] parallel cables, if all their digits but digit l are equal. So a switch of
 * level l is an ancestor of a host if their digits from l on are equal, and its number is low + above[l] * high, where `low` is
 * the number that its digits below l make up, and high = host / below[l]. Wires are numbered by child, then digit l of the
 * parent, then cable.
 *
 * D-Mod-K. The ports upward of a node are numbered by cable, then digit l of the parent; a message to host t takes port
 * t / above[l] mod parents[l] * cables[l]. */
#include "machine/zone.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_MAX = 16 };

typedef struct {
    cluster_links links;
    int n_levels;
    int first_position;
    int children[LEVELS_MAX], parents[LEVELS_MAX], cables[LEVELS_MAX]; /* [l]: between levels l and l + 1 */
    int below[LEVELS_MAX + 1];      /* product of children[0..l): hosts under a node of level l */
    int above[LEVELS_MAX + 1];      /* product of parents[0..l): ancestors of a host on level l */
    int first_wire[LEVELS_MAX];     /* between levels l and l + 1 */
    int first_node[LEVELS_MAX + 1]; /* first node of level l, when the nodes of all levels are numbered together */
} fat_tree;

/* The node of that level above `host` (or `host` itself) whose lower digits make up `low`. */
static int node_at(const fat_tree *z, int level, int low, int host)
{
    return low + z->above[level] * (host / z->below[level]);
}

static int wire_at(const fat_tree *z, int level, int child, int parent_digit, int cable)
{
    return z->first_wire[level] + (child * z->parents[level] + parent_digit) * z->cables[level] + cable;
}

static int append_limiter(const platform *p, const fat_tree *z, int level, int node, platform_path *path)
{
    if (z->links.limiters < 0) return 0;
    return path_append(p, path, z->links.limiters + z->first_node[level] + node);
}

typedef struct {
    int level, low;               /* the node that is reached, as in node_at() */
    int parent_digit[LEVELS_MAX]; /* digits of the parents on the way up */
} ascent;

/* From the source to a lowest common ancestor; a host that sends to itself goes up one level, too. */
static int climb(const platform *p, const fat_tree *z, int source, int target, ascent *at, platform_path *path)
{
    int error = 0;
    do {
        int level = at->level, child = node_at(z, level, at->low, source);
        int port = (z->first_position + target) / z->above[level] % (z->parents[level] * z->cables[level]);
        int digit = port % z->parents[level], cable = port / z->parents[level];
        error = append_limiter(p, z, level, child, path);
        if (!error) error = path_append(p, path, wire_up(&z->links, wire_at(z, level, child, digit, cable)));
        at->parent_digit[level] = digit;
        at->low += z->above[level] * digit;
        at->level++;
    } while (!error && source / z->below[at->level] != target / z->below[at->level]);
    return error;
}

/* From there to the target. The nodes are determined; among parallel cables the choice is SimGrid's. The ports downward of a switch
 * are numbered by cable, then digit of the child. The top switch takes the cable that is the source's position mod cables. Each
 * switch below takes the first fitting port whose number is above that of the last port, or if there is none, the cable of that
 * formula. */
static int descend(const platform *p, const fat_tree *z, int source, int target, ascent *at, platform_path *path)
{
    int error = 0, next = -1;
    while (at->level > 0 && !error) {
        int parent = node_at(z, at->level, at->low, target);
        int level = --at->level, n_children = z->children[level], digit = target / z->below[level] % n_children;
        int cable = (next + n_children - 1 - digit) / n_children; /* cable of the first fitting port from `next` on */
        if (next < 0 || cable >= z->cables[level]) cable = (z->first_position + source) % z->cables[level];
        at->low -= z->above[level] * at->parent_digit[level];
        int wire = wire_at(z, level, node_at(z, level, at->low, target), at->parent_digit[level], cable);
        error = path_append(p, path, wire_down(&z->links, wire));
        if (!error) error = append_limiter(p, z, level + 1, parent, path);
        next = cable * n_children + digit + 1;
    }
    return error;
}

static int route(const platform *p, const void *state, int source, int target, platform_path *path)
{
    const fat_tree *z = state;
    if (source == target && z->links.loopbacks >= 0) return cluster_append_loopback(p, &z->links, source, path);
    ascent at = {0};
    int error = climb(p, z, source, target, &at, path);
    if (!error) error = descend(p, z, source, target, &at, path);
    return error ? error : append_limiter(p, z, 0, target, path);
}

static const zone_kind fat_tree_kind = {.route = route, .free = free};

/* Computes all that follows from the shape, which must have a place for each host. 0, or a negative error. */
static int lay_out(fat_tree *z, int n_hosts, int *n_wires, int *n_nodes)
{
    int64_t wires = 0, nodes = 0, below = 1, above = 1, over = 1; /* over: product of the children above the level */
    for (int l = 0; l < z->n_levels; l++) {
        if (z->children[l] < 1 || z->parents[l] < 1 || z->cables[l] < 1) return PLATFORM_BAD_ARGUMENT;
        over *= z->children[l];
        if (over > INT_MAX) return PLATFORM_TOO_LARGE;
    }
    if (over < n_hosts || z->first_position > INT_MAX - over) return PLATFORM_BAD_ARGUMENT;
    for (int l = 0; l <= z->n_levels; l++) {
        z->below[l] = (int)below;
        z->above[l] = (int)above;
        z->first_node[l] = (int)nodes;
        int64_t here = above * over;
        nodes += here;
        if (nodes > INT_MAX || above > INT_MAX) return PLATFORM_TOO_LARGE;
        if (l == z->n_levels) break;
        z->first_wire[l] = (int)wires;
        int64_t each = (int64_t)z->parents[l] * z->cables[l];
        if (each > INT_MAX / here) return PLATFORM_TOO_LARGE;
        wires += here * each;
        if (wires > INT_MAX) return PLATFORM_TOO_LARGE;
        below *= z->children[l];
        over /= z->children[l];
        above *= z->parents[l];
    }
    *n_wires = (int)wires;
    *n_nodes = (int)nodes;
    return 0;
}

int platform_add_fat_tree(platform *p, int parent_zone, const cluster *c, int n_levels, const int *children,
                          const int *parents, const int *cables, int first_position)
{
    if (!cluster_is_valid(c) || c->backbone_bandwidth_bytes_per_s > 0 || n_levels < 1 || n_levels > LEVELS_MAX)
        return PLATFORM_BAD_ARGUMENT;
    if (first_position < 0) return PLATFORM_BAD_ARGUMENT;
    fat_tree *z = calloc(1, sizeof *z);
    if (!z) return PLATFORM_NO_MEMORY;
    z->n_levels = n_levels;
    memcpy(z->children, children, (size_t)n_levels * sizeof *children);
    memcpy(z->parents, parents, (size_t)n_levels * sizeof *parents);
    memcpy(z->cables, cables, (size_t)n_levels * sizeof *cables);
    z->first_position = first_position;
    int n_wires = 0, n_nodes = 0, error = lay_out(z, c->n_hosts, &n_wires, &n_nodes);
    if (error < 0) {
        free(z);
        return error;
    }
    int zone_point = zone_add(p, parent_zone, &fat_tree_kind, z); /* owns z from here on */
    if (zone_point < 0) return zone_point;
    error = cluster_add_links(p, c, n_wires, n_nodes - c->n_hosts, &z->links);
    if (error >= 0) error = zone_add_hosts(p, zone_point, c->n_hosts, c->speed_flop_per_s, c->cores);
    return error < 0 ? error : zone_point;
}
