#include "machine/plan_cache.h"

#include <stdint.h>
#include <stdlib.h>

enum { LINE = 64 };

void plan_cache_free(plan_cache *c)
{
    free(c->memory);
    *c = (plan_cache){0};
}

void plan_cache_reserve(plan_cache *c, int n)
{
    int n_slots = c->n_slots ? c->n_slots : 64;
    while (n_slots < PLAN_CACHE_SLOTS_MAX && n_slots / 2 < n) n_slots *= 2;
    if (n_slots == c->n_slots) return;
    void *memory = calloc(1, (size_t)n_slots * sizeof *c->slot + LINE);
    if (!memory) return;
    plan_cache_free(c);
    c->memory = memory;
    c->slot = (cached_plan *)(((uintptr_t)memory + LINE - 1) / LINE * LINE);
    c->n_slots = n_slots;
}

/* Pairs at equal distances, as those of a ring, spread evenly (Knuth, vol. 3, 6.4: Fibonacci hashing). */
cached_plan *plan_cache_slot(const plan_cache *c, int source_host, int target_host)
{
    if (!c->n_slots) return NULL;
    const uint64_t pair = ((uint64_t)(uint32_t)source_host << 32) | (uint32_t)target_host;
    return &c->slot[(pair * 0x9E3779B97F4A7C15u >> 32) & (uint64_t)(c->n_slots - 1)];
}

const cached_plan *plan_cache_find(const plan_cache *c, int source_host, int target_host)
{
    const cached_plan *p = plan_cache_slot(c, source_host, target_host);
    return p && p->n && p->source_host == source_host && p->target_host == target_host ? p : NULL;
}
