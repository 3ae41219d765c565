/* route_table.h -- declared routes: a hash table from (source, target), as large as there are routes.
 *
 * Invariants, which route_table_check() checks:
 *   (1) `slot` has each route exactly once, reachable from its home slot without a free slot between;
 *   (2) at least half of the slots are free. */
#ifndef SMPY_ROUTE_TABLE_H
#define SMPY_ROUTE_TABLE_H
#include "machine/zone.h"

typedef struct {
    int source, target;
    int gateway[2];
    int first, n; /* its links in the pool */
} table_route;

struct route_table {
    int n_routes, route_room;
    table_route *routes; /* in order of declaration */
    int n_pooled, pool_room;
    int *pool;           /* the links of all routes */
    int n_slots;         /* a power of two; 0 before the first route */
    int *slot;           /* index of a route; -1: free. Probed linearly */
};                       /* an empty table is all zeros */

int route_table_add(route_table *t, const declared_route *r);               /* 0, or a negative error */
int route_table_find(const route_table *t, int source, int target);         /* the index of the route, or -1 */
int route_table_declared(const route_table *t, int i, declared_route *r);   /* zone_kind.declared */
void route_table_free(route_table *t);                                      /* frees the members, not the table itself */
void route_table_check(const route_table *t);                               /* aborts where an invariant is broken */

/* Appends the links of the i-th route. 0, or a negative error. */
static inline int route_table_append(const platform *p, const route_table *t, int i, platform_path *path)
{
    const table_route *r = &t->routes[i];
    int error = 0;
    for (int k = 0; k < r->n && !error; k++) error = path_append(p, path, t->pool[r->first + k]);
    return error;
}
#endif
