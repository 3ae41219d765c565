#include "host.h"

#include <math.h>
#include <stdlib.h>

#include "sim.h"

int hosts_init(hosts *all, const platform *p)
{
    all->n = platform_n_hosts(p);
    all->at = calloc(all->n > 0 ? (size_t)all->n : 1, sizeof *all->at);
    if (!all->at) return SIM_OUT_OF_MEMORY;
    for (int h = 0; h < all->n; h++)
        all->at[h] = (host){.cores = {.unit_per_s = platform_speed_flop_per_s(p, h), .n_units = platform_cores(p, h)},
                            .speed_flop_per_s = platform_speed_flop_per_s(p, h),
                            .fastest_flop_per_s = platform_speed_flop_per_s(p, h), .first_timeline = -1, .rescheduled_at = -1};
    return 0;
}

void hosts_free(hosts *all)
{
    for (int h = 0; all->at && h < all->n; h++) heap_free(&all->at[h].cores.users);
    free(all->at);
}

void host_changes_speed(host *h, double highest_factor)
{
    h->changes_speed = 1;
    h->fastest_flop_per_s = fmax(h->fastest_flop_per_s, highest_factor * h->speed_flop_per_s);
}

/* ---- resources ---- */

static double rate_per_s(const resource *r)
{
    return r->users.n > r->n_units ? r->unit_per_s * r->n_units / r->users.n : r->unit_per_s;
}

static void serve(resource *r, double now_s)
{
    if (r->users.n) r->served += rate_per_s(r) * (now_s - r->since_s);
    r->since_s = now_s;
}

void resource_set_speed(resource *r, double unit_per_s, double now_s)
{
    serve(r, now_s);
    r->unit_per_s = unit_per_s;
}

int resource_join(resource *r, int id, double amount, int64_t order, double now_s)
{
    serve(r, now_s);
    if (!r->users.n) r->served = 0;
    return heap_push(&r->users, r->served + amount, -order, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

double resource_next_s(const resource *r, double now_s)
{
    if (!r->users.n) return INFINITY;
    const double left = r->users.item[0].date_s - r->served;
    return now_s + (left > 0 ? left / rate_per_s(r) : 0);
}

int resource_take_served(resource *r, double now_s, double tolerance_s)
{
    if (!r->users.n) return -1;
    serve(r, now_s);
    const heap_item first = r->users.item[0];
    const double left_s = (first.date_s - r->served) / rate_per_s(r);
    if (left_s >= tolerance_s && now_s + left_s > now_s) return -1;
    heap_pop(&r->users);
    return first.id;
}

#ifdef SMPY_CHECK
#include <assert.h>

void hosts_check(const hosts *all)
{
    for (int h = 0; h < all->n; h++) {
        const host *at = &all->at[h];
        assert(heap_check(&at->cores.users));
        assert(at->n_under_way >= at->cores.users.n);
        assert(!host_knows_ends(at) || at->cores.users.n == 0);
    }
}
#endif
