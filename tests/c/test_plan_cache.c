/* Kept plans: found by their pair alone, displaced by another pair in their slot, forgotten when the cache grows. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "machine/plan_cache.h"

static void keep(plan_cache *c, int source_host, int target_host)
{
    cached_plan *p = plan_cache_slot(c, source_host, target_host);
    p->source_host = source_host;
    p->target_host = target_host;
    p->n = 1;
    p->latency_s = source_host + 1e-3 * target_host;
}

static int finds(const plan_cache *c, int source_host, int target_host)
{
    const cached_plan *p = plan_cache_find(c, source_host, target_host);
    assert(!p || p->latency_s == source_host + 1e-3 * target_host);
    return p != NULL;
}

static void test_a_cache_without_slots_has_no_plans(void)
{
    plan_cache c = {0};
    assert(!plan_cache_slot(&c, 0, 0) && !finds(&c, 0, 0));
    plan_cache_free(&c);
}

static void test_a_free_slot_is_no_plan_of_host_0_to_itself(void)
{
    plan_cache c = {0};
    plan_cache_reserve(&c, 1);
    assert(!finds(&c, 0, 0));
    keep(&c, 0, 0);
    assert(finds(&c, 0, 0));
    plan_cache_free(&c);
}

static void test_a_pair_is_not_taken_for_its_reverse_or_for_another_one_in_its_slot(void)
{
    plan_cache c = {0};
    plan_cache_reserve(&c, 1);
    keep(&c, 3, 5);
    assert(finds(&c, 3, 5) && !finds(&c, 5, 3));
    int target = 6;
    while (plan_cache_slot(&c, 3, target) != plan_cache_slot(&c, 3, 5)) target++;
    assert(!finds(&c, 3, target));
    keep(&c, 3, target);
    assert(finds(&c, 3, target) && !finds(&c, 3, 5));
    plan_cache_free(&c);
}

static void test_the_neighbours_of_a_ring_all_have_slots_of_their_own(void)
{
    for (int n = 64; n <= PLAN_CACHE_SLOTS_MAX / 2; n *= 2) {
        plan_cache c = {0};
        plan_cache_reserve(&c, n);
        for (int i = 0; i < n; i++) keep(&c, i, i + 1);
        int n_found = 0;
        for (int i = 0; i < n; i++) n_found += finds(&c, i, i + 1);
        assert(n_found >= n - n / 16);
        plan_cache_free(&c);
    }
}

static void test_growing_forgets_and_stays_bounded(void)
{
    plan_cache c = {0};
    plan_cache_reserve(&c, 64);
    keep(&c, 1, 2);
    plan_cache_reserve(&c, 60);
    assert(finds(&c, 1, 2));
    plan_cache_reserve(&c, 100);
    assert(!finds(&c, 1, 2) && c.n_slots >= 200);
    plan_cache_reserve(&c, 1 << 24);
    assert(c.n_slots == PLAN_CACHE_SLOTS_MAX);
    plan_cache_free(&c);
}

int main(void)
{
    test_a_cache_without_slots_has_no_plans();
    test_a_free_slot_is_no_plan_of_host_0_to_itself();
    test_a_pair_is_not_taken_for_its_reverse_or_for_another_one_in_its_slot();
    test_the_neighbours_of_a_ring_all_have_slots_of_their_own();
    test_growing_forgets_and_stays_bounded();
    puts("plan cache: all well");
    return 0;
}
