/* plan_cache.h -- routes between hosts that messages took lately, with what they load.
 *
 * A program sends most of its messages between few pairs of hosts, and composing the routes of a pair both ways takes longer than
 * all else that the network does for a small message. A pair has one slot; another pair with the same slot takes its place. A miss
 * changes nothing but the time it takes.
 *
 * Invariants: (1) a slot is free (n is 0) or holds what the pair's plan would be if it were composed again, so a network whose
 *                 links change has no slots;
 *             (2) there are at most PLAN_CACHE_SLOTS_MAX slots. */
#ifndef SMPY_PLAN_CACHE_H
#define SMPY_PLAN_CACHE_H

enum { PLAN_CACHE_LINKS = 12, PLAN_CACHE_SLOTS_MAX = 1 << 13 };

typedef struct {
    _Alignas(64) int source_host;
    int target_host;
    int n;                       /* its links, which are all different; 0: free */
    double latency_s, penalty;
    double least_bandwidth_bytes_per_s; /* on the way there */
    int link[PLAN_CACHE_LINKS];
    double coefficient[PLAN_CACHE_LINKS];
} cached_plan;

typedef struct {
    cached_plan *slot;           /* in `memory`, at the start of a cache line */
    void *memory;
    int n_slots;                 /* 0, or a power of two */
} plan_cache;

void plan_cache_free(plan_cache *c);
/* Makes room for about n pairs, and forgets all if that takes more slots; without memory, it keeps what it has. */
void plan_cache_reserve(plan_cache *c, int n);
/* The slot of a pair, whoever is in it; NULL if there are none. */
cached_plan *plan_cache_slot(const plan_cache *c, int source_host, int target_host);
/* The plan of a pair, or NULL. */
const cached_plan *plan_cache_find(const plan_cache *c, int source_host, int target_host);
#endif
