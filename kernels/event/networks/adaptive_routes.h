/* adaptive_routes.h -- the way of each transfer through networks whose routes adapt to load: UGAL with the loads of the whole
 * network (Singh 2005, "UGAL-G"; Kim, Dally, Scott, Abts 2008, section 4.2).
 *
 * A transfer that sets out has the minimal route and ADAPTIVE_DETOURS others, each by way of a place that is drawn. It takes the
 * detour with the least load if twice that is below the minimal route's: UGAL weighs loads by hops, and a detour is twice the way.
 * The load of a route is that of its most loaded link between switches: transfers that are under way over it, this one included,
 * over its bandwidth. A transfer counts from when it sets out until it ends, and keeps its way.
 *
 * Invariant: n_on_link[l] is the number of transfers that have come and not left, and whose way has l among its links of choice. */
#ifndef SMPY_ADAPTIVE_ROUTES_H
#define SMPY_ADAPTIVE_ROUTES_H
#include "networks/network.h"

enum { ADAPTIVE_DETOURS = 2 };

typedef struct {
    int *n_on_link;              /* NULL: no route of this machine adapts */
    platform_path path;
} adaptive_routes;

int adaptive_routes_init(adaptive_routes *all, const platform *p); /* 0, or -1 without memory */
void adaptive_routes_free(adaptive_routes *all);
/* A transfer, the `order`-th one, sets out: the detour of its path (0: none), or an error. */
int adaptive_routes_come(sim *s, adaptive_routes *all, int source_host, int target_host, int64_t order);
/* A transfer that has come ends. */
void adaptive_routes_leave(sim *s, adaptive_routes *all, int source_host, int target_host, int detour);
#endif
