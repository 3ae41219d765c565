#include "world/disk.h"

#include <math.h>
#include <stdlib.h>

#include "basics/sort.h"

int disks_init(disks *all, disk_owner *owner)
{
    heap_init(&all->next, 1);
    heap_init(&all->delays, 0);
    all->owner = owner;
    return all->next.place ? 0 : SIM_OUT_OF_MEMORY;
}

void disks_free(disks *all)
{
    for (int i = 0; i < all->n; i++)
        for (int direction = 0; direction < DISK_DIRECTIONS; direction++) heap_free(&all->at[i].of[direction].ends);
    free(all->at);
    heap_free(&all->next);
    heap_free(&all->delays);
    free(all->ended);
}

int disk_new(disks *all, int host, double read_bytes_per_s, double write_bytes_per_s, double latency_s)
{
    if (all->n == all->room) {
        const int room = all->room ? 2 * all->room : 4;
        disk *grown = realloc(all->at, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->at = grown;
        all->room = room;
    }
    disk *d = &all->at[all->n];
    *d = (disk){.host = host, .latency_s = latency_s};
    d->of[DISK_READ].bytes_per_s = read_bytes_per_s;
    d->of[DISK_WRITE].bytes_per_s = write_bytes_per_s;
    for (int direction = 0; direction < DISK_DIRECTIONS; direction++) heap_init(&d->of[direction].ends, 0);
    return all->n++;
}

/* ---- shares ---- */

/* The rate of one operation in a direction, in which there are some. Of the three limits, the one that gives each operation least
 * is reached first; if it is the other direction's, this one has what the other leaves. */
static double rate_bytes_per_s(const disk *d, int direction)
{
    const disk_direction *own = &d->of[direction], *other = &d->of[1 - direction];
    const double both_bytes_per_s = fmax(own->bytes_per_s, other->bytes_per_s);
    const double alone = own->bytes_per_s / own->ends.n, together = both_bytes_per_s / (own->ends.n + other->ends.n);
    if (!other->ends.n || alone <= together) return alone;
    if (other->bytes_per_s / other->ends.n >= together) return together;
    return fmin(alone, (both_bytes_per_s - other->bytes_per_s) / own->ends.n);
}

static void serve_for(const disks *all, disk *d, double passed_s, double now_s)
{
    double bytes[DISK_DIRECTIONS] = {0};
    for (int direction = 0; direction < DISK_DIRECTIONS; direction++)
        if (d->of[direction].ends.n) bytes[direction] = rate_bytes_per_s(d, direction) * passed_s;
    for (int direction = 0; direction < DISK_DIRECTIONS; direction++)
        d->of[direction].served += all->rounds ? rint(bytes[direction]) : bytes[direction];
    d->since_s = now_s;
}

static void serve(const disks *all, disk *d, double now_s)
{
    serve_for(all, d, now_s - d->since_s, now_s);
}

static double left_bytes(const disk_direction *of)
{
    return of->ends.item[0].date_s - of->served;
}

/* The date of the first end anew. */
static int date(disks *all, int id, double now_s)
{
    disk *d = &all->at[id];
    double left_s = INFINITY;
    for (int direction = 0; direction < DISK_DIRECTIONS; direction++)
        if (d->of[direction].ends.n) left_s = fmin(left_s, left_bytes(&d->of[direction]) / rate_bytes_per_s(d, direction));
    if (isinf(left_s)) {
        heap_remove(&all->next, id);
        return 0;
    }
    d->left_s = fmax(left_s, 0);
    const double next_s = now_s + d->left_s;
    if (heap_has(&all->next, id)) {
        heap_move(&all->next, id, next_s);
        return 0;
    }
    return heap_push(&all->next, next_s, id, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* ---- operations ---- */

int disk_delay(disks *all, const sim_clock *c, double seconds, int id)
{
    if (heap_push(&all->delays, c->now_s + seconds, all->n_started++, id) < 0) return SIM_OUT_OF_MEMORY;
    all->n_under_way++;
    return 0;
}

int disk_start(disks *all, const sim_clock *c, int to, int direction, double bytes, int id)
{
    disk *d = &all->at[to];
    disk_direction *of = &d->of[direction];
    serve(all, d, c->now_s);
    if (!of->ends.n) of->served = 0;
    if (heap_push(&of->ends, of->served + bytes, all->n_started++, id) < 0) return SIM_OUT_OF_MEMORY;
    all->n_under_way++;
    return date(all, to, c->now_s);
}

double disks_next_s(const disks *all)
{
    const double end_s = all->next.n ? all->next.item[0].date_s : INFINITY;
    return all->delays.n ? fmin(end_s, all->delays.item[0].date_s) : end_s;
}

void disks_reach(disks *all, const sim_clock *c)
{
    if (!all->rounds || !all->next.n) return;
    const heap_item first = all->next.item[0];
    const double left_s = all->at[first.id].left_s; /* all disks with operations were served at the last date */
    for (int i = 0; i < all->n; i++) {
        disk *d = &all->at[i];
        if (!heap_has(&all->next, i)) continue;
        serve_for(all, d, first.date_s == c->now_s ? left_s : c->now_s - d->since_s, c->now_s);
        (void)date(all, i, c->now_s); /* it is moved: that needs no memory */
    }
}

/* The direction whose first operation has had all its bytes, or -1. */
static int direction_served(const disks *all, const disk *d, double now_s)
{
    for (int direction = 0; direction < DISK_DIRECTIONS; direction++) {
        const disk_direction *of = &d->of[direction];
        const double left_s = of->ends.n ? left_bytes(of) / rate_bytes_per_s(d, direction) : INFINITY;
        if (now_s + left_s <= now_s || (!all->rounds && left_s < CLOCK_SAME_DATE_S)) return direction;
    }
    return -1;
}

/* The first of a heap ends: 0, or SIM_OUT_OF_MEMORY. */
static int end_first(disks *all, heap *of)
{
    if (all->n_ended == all->ended_room) {
        const int room = all->ended_room ? 2 * all->ended_room : 16;
        disk_end *grown = realloc(all->ended, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->ended = grown;
        all->ended_room = room;
    }
    all->ended[all->n_ended++] = (disk_end){of->item[0].order, of->item[0].id};
    heap_pop(of);
    return 0;
}

/* Ends operations of one disk: 0, or SIM_OUT_OF_MEMORY. */
static int end_served(disks *all, int id, double now_s)
{
    disk *d = &all->at[id];
    serve(all, d, now_s);
    for (int direction; (direction = direction_served(all, d, now_s)) >= 0;)
        if (end_first(all, &d->of[direction].ends) < 0) return SIM_OUT_OF_MEMORY;
    return date(all, id, now_s);
}

static int in_order(const void *a, const void *b)
{
    const disk_end *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

int disks_fire(sim *s, disks *all, const sim_clock *c)
{
    const double soon_s = clock_same_date_s(c), limit_s = all->rounds ? nextafter(c->now_s, INFINITY) : soon_s;
    all->n_ended = 0;
    while (all->delays.n && all->delays.item[0].date_s < soon_s)
        if (end_first(all, &all->delays) < 0) return SIM_OUT_OF_MEMORY;
    while (all->next.n && all->next.item[0].date_s < limit_s)
        if (end_served(all, all->next.item[0].id, c->now_s) < 0) return SIM_OUT_OF_MEMORY;
    const int n = all->n_ended;
    sort_nearly(all->ended, n, sizeof *all->ended, in_order);
    all->n_under_way -= n;
    for (int i = 0; i < n; i++) all->owner(s, all->ended[i].id);
    return n;
}

#ifdef SMPY_CHECK
#include <assert.h>

void disks_check(const disks *all)
{
    int n = all->delays.n;
    assert(heap_check(&all->next) && heap_check(&all->delays));
    for (int i = 0; i < all->n; i++) {
        const disk *d = &all->at[i];
        const int n_operations = d->of[DISK_READ].ends.n + d->of[DISK_WRITE].ends.n;
        double sum_bytes_per_s = 0;
        n += n_operations;
        assert(heap_has(&all->next, i) == (n_operations > 0));
        for (int direction = 0; direction < DISK_DIRECTIONS; direction++) {
            const disk_direction *of = &d->of[direction];
            const double rate = of->ends.n ? of->ends.n * rate_bytes_per_s(d, direction) : 0;
            sum_bytes_per_s += rate;
            assert(heap_check(&of->ends) && rate <= of->bytes_per_s * (1 + 1e-12));
        }
        assert(sum_bytes_per_s <= fmax(d->of[DISK_READ].bytes_per_s, d->of[DISK_WRITE].bytes_per_s) * (1 + 1e-12));
    }
    assert(n == all->n_under_way);
}
#endif
