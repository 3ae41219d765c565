#include "world/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basics/errors.h"
#include "machine/power.h"

int hosts_init(hosts *all, const platform *p)
{
    all->n = platform_n_hosts(p);
    all->at = calloc(all->n > 0 ? (size_t)all->n : 1, sizeof *all->at);
    if (!all->at) return SIM_OUT_OF_MEMORY;
    for (int h = 0; h < all->n; h++)
        all->at[h] = (host){.cores = {.unit_per_s = platform_speed_flop_per_s(p, h), .n_units = platform_cores(p, h)},
                            .fastest_flop_per_s = platform_speed_flop_per_s(p, h), .cores_per_rank = 1, .first_timeline = -1,
                            .rescheduled_at = -1};
    for (int h = 0; h < all->n; h++) {
        const power_states *states = power_of_host(platform_power(p), h);
        if (!states || states->n == 1) continue;
        double highest = 0;
        for (int i = 0; i < states->n; i++) highest = fmax(highest, states->state[i].speed_flop_per_s);
        all->at[h].state = states->first;
        if (host_changes_speed(&all->at[h], highest / states->state[states->first].speed_flop_per_s) < 0) return SIM_OUT_OF_MEMORY;
    }
    return 0;
}

void resource_free(resource *r)
{
    heap_free(&r->free.users);
    if (r->limited) heap_free(&r->limited->queue.users);
    free(r->limited);
}

void hosts_free(hosts *all)
{
    for (int h = 0; all->at && h < all->n; h++) {
        resource_free(&all->at[h].cores);
        if (all->at[h].memory) resource_free(all->at[h].memory);
        free(all->at[h].memory);
    }
    while (all->busy) {
        busy_shares *next = all->busy->next;
        free(all->busy);
        all->busy = next;
    }
    free(all->at);
}

/* A limit, if there is none yet. */
static int limit(resource *r, double part)
{
    if (r->limited) return 0;
    r->limited = calloc(1, sizeof *r->limited);
    if (!r->limited) return SIM_OUT_OF_MEMORY;
    r->limited->nominal_per_s = r->unit_per_s;
    r->limited->per_s = part * r->unit_per_s;
    return 0;
}

int resource_like(resource *r, const resource *other, double n_units)
{
    *r = (resource){.unit_per_s = other->unit_per_s, .n_units = n_units};
    if (!other->limited) return 0;
    if (limit(r, 1) < 0) return SIM_OUT_OF_MEMORY;
    r->limited->nominal_per_s = other->limited->nominal_per_s;
    r->limited->per_s = other->limited->per_s;
    return 0;
}

int hosts_limit(hosts *all, double part)
{
    for (int h = 0; h < all->n; h++)
        if (limit(&all->at[h].cores, part) < 0) return SIM_OUT_OF_MEMORY;
    return 0;
}

int host_changes_speed(host *h, double highest_factor)
{
    if (limit(&h->cores, 1) < 0) return SIM_OUT_OF_MEMORY;
    h->fastest_flop_per_s = fmax(1, highest_factor) * h->fastest_flop_per_s;
    return 0;
}

int host_busy_speed(hosts *all, int first, int n_hosts, int n, const double *share)
{
    if (first < 0 || n_hosts < 0 || first > all->n - n_hosts) return SIM_BAD_RANK;
    if (n < 1) return SIM_BAD_SIZE;
    busy_shares *kept = malloc(sizeof *kept + (size_t)n * sizeof *share);
    if (!kept) return SIM_OUT_OF_MEMORY;
    memcpy(kept->share, share, (size_t)n * sizeof *share);
    kept->next = all->busy;
    all->busy = kept;
    for (int h = first; h < first + n_hosts; h++) {
        resource *cores = &all->at[h].cores;
        if (limit(cores, 1) < 0) return SIM_OUT_OF_MEMORY;
        cores->busy_share = kept->share;
        cores->n_busy = n;
    }
    return 0;
}

/* ---- resources ---- */

/* Part of its speed that each unit has while n users are served. */
static double busy_share(const resource *r, int n)
{
    if (!r->busy_share || !n) return 1;
    return r->busy_share[(n < r->n_busy ? n : r->n_busy) - 1];
}

/* Rates at which the users of each queue are served. */
typedef struct {
    double free_per_s, limited_per_s;
} rates;

static rates rates_of(const resource *r)
{
    const int n = resource_n_users(r), n_free = r->free.users.n;
    const double share = busy_share(r, n), unit_per_s = share * r->unit_per_s;
    const double fair_per_s = n > r->n_units ? unit_per_s * r->n_units / n : unit_per_s;
    if (n == n_free) return (rates){fair_per_s, fair_per_s};
    const double limit_per_s = share * r->limited->per_s;
    if (fair_per_s <= limit_per_s) return (rates){fair_per_s, fair_per_s};
    const double left_per_s = unit_per_s * r->n_units - limit_per_s * (n - n_free);
    return (rates){n_free ? fmin(unit_per_s, left_per_s / n_free) : unit_per_s, limit_per_s};
}

double resource_rate_per_s(const resource *r)
{
    const rates each = rates_of(r);
    const int n_limited = resource_n_users(r) - r->free.users.n;
    return r->free.users.n * each.free_per_s + n_limited * each.limited_per_s;
}

double host_load_flop_per_s(const host *h)
{
    const int n_alone = h->n_executing - h->n_sharing - resource_n_users(&h->cores);
    const double rate_per_s = resource_rate_per_s(&h->cores) + h->sharing_flop_per_s + n_alone * h->cores.unit_per_s;
    return fmin(rate_per_s, h->cores.n_units * h->cores.unit_per_s);
}

static void serve(resource *r, double now_s)
{
    const rates each = rates_of(r);
    if (r->free.users.n) r->free.served += each.free_per_s * (now_s - r->since_s);
    if (r->limited && r->limited->queue.users.n) r->limited->queue.served += each.limited_per_s * (now_s - r->since_s);
    r->since_s = now_s;
}

void resource_set_speed(resource *r, double unit_per_s, double now_s)
{
    serve(r, now_s);
    r->unit_per_s = unit_per_s;
}

void resource_set_nominal_speed(resource *r, double nominal_per_s, double now_s)
{
    const double factor = r->unit_per_s / r->limited->nominal_per_s, part = r->limited->per_s / r->limited->nominal_per_s;
    serve(r, now_s);
    r->unit_per_s = factor * nominal_per_s;
    r->limited->per_s = part * nominal_per_s;
    r->limited->nominal_per_s = nominal_per_s;
}

int resource_join(resource *r, int id, int n, double amount, int is_limited, int64_t order, double now_s)
{
    resource_queue *q = is_limited && r->limited ? &r->limited->queue : &r->free;
    serve(r, now_s);
    if (!q->users.n) q->served = 0;
    for (int i = 0; i < n; i++)
        if (heap_push(&q->users, q->served + amount, -order, id) < 0) return SIM_OUT_OF_MEMORY;
    return 0;
}

/* Until the first user of a queue will have been served; less than 0 if it had been some time ago. */
static double left_s(const resource_queue *q, double rate_per_s)
{
    if (!q->users.n) return INFINITY;
    const double left = q->users.item[0].date_s - q->served;
    return left != 0 ? left / rate_per_s : 0;
}

static double limited_left_s(const resource *r, double rate_per_s)
{
    return r->limited ? left_s(&r->limited->queue, rate_per_s) : INFINITY;
}

double resource_next_s(const resource *r, double now_s)
{
    const rates each = rates_of(r);
    return now_s + fmax(0, fmin(left_s(&r->free, each.free_per_s), limited_left_s(r, each.limited_per_s)));
}

int resource_take_served(resource *r, double now_s, double tolerance_s)
{
    serve(r, now_s);
    const rates each = rates_of(r);
    const double free_s = left_s(&r->free, each.free_per_s), limited_s = limited_left_s(r, each.limited_per_s);
    resource_queue *q = limited_s < free_s ? &r->limited->queue : &r->free;
    const double soonest_s = fmin(free_s, limited_s);
    if (!q->users.n || (soonest_s >= tolerance_s && now_s + soonest_s > now_s)) return -1;
    const int id = q->users.item[0].id;
    heap_pop(&q->users);
    return id;
}

#ifdef SMPY_CHECK
#include <assert.h>

void hosts_check(const hosts *all)
{
    for (int h = 0; h < all->n; h++) {
        const host *at = &all->at[h];
        assert(heap_check(&at->cores.free.users));
        assert(!at->cores.limited || heap_check(&at->cores.limited->queue.users));
        assert(at->n_executing >= resource_n_users(&at->cores));
        assert(!at->cores.busy_share || (at->cores.n_busy >= 1 && at->cores.limited));
        assert(!host_knows_ends(at) || resource_n_users(&at->cores) == 0);
    }
}
#endif
