#include "world/storage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "networks/transfer.h"
#include "world/world.h"

/* ---- memory ---- */

/* Room for one more in a list: 0, or SIM_OUT_OF_MEMORY. */
static int grow(void **list, int n, int *room, size_t size)
{
    if (n < *room) return 0;
    const int more = *room ? 2 * *room : 8;
    void *grown = realloc(*list, (size_t)more * size);
    if (!grown) return SIM_OUT_OF_MEMORY;
    *list = grown;
    *room = more;
    return 0;
}

static void part_step(sim *s, int id);

int storage_init(storage *all)
{
    all->free_access = all->free_part = -1;
    return disks_init(&all->disks, part_step);
}

void storage_free(storage *all)
{
    disks_free(&all->disks);
    free(all->place);
    free(all->disk_of_place);
    free(all->first_place);
    free(all->access);
    free(all->part);
    free(all->queue);
}

static int access_new(storage *all)
{
    const int id = all->free_access;
    void *list = all->access;
    if (id >= 0) {
        all->free_access = all->access[id].next;
        return id;
    }
    if (grow(&list, all->n_accesses, &all->access_room, sizeof *all->access) < 0) return SIM_OUT_OF_MEMORY;
    all->access = list;
    return all->n_accesses++;
}

static int part_new(storage *all)
{
    const int id = all->free_part;
    void *list = all->part;
    if (id >= 0) {
        all->free_part = all->part[id].next;
        return id;
    }
    if (grow(&list, all->n_parts, &all->part_room, sizeof *all->part) < 0) return SIM_OUT_OF_MEMORY;
    all->part = list;
    return all->n_parts++;
}

/* ---- places ---- */

static int is_host(const sim *s, int host)
{
    return host >= 0 && host < s->hosts.n;
}

int sim_disk_new(sim *s, int host, double read_bytes_per_s, double write_bytes_per_s, double latency_s)
{
    if (!is_host(s, host)) return SIM_BAD_RANK;
    if (!(read_bytes_per_s > 0) || !(write_bytes_per_s > 0) || !(latency_s >= 0)) return SIM_BAD_SIZE;
    return disk_new(&s->storage.disks, host, read_bytes_per_s, write_bytes_per_s, latency_s);
}

void sim_disks_round(sim *s)
{
    s->storage.disks.rounds = 1;
}

static int make_first_places(sim *s)
{
    storage *all = &s->storage;
    if (all->first_place) return 0;
    all->first_place = malloc((size_t)s->hosts.n * sizeof *all->first_place);
    for (int host = 0; all->first_place && host < s->hosts.n; host++) all->first_place[host] = -1;
    return all->first_place ? 0 : SIM_OUT_OF_MEMORY;
}

int sim_place_new(sim *s, int host, int n_disks, const int *disk, int64_t stripe_bytes, int streams)
{
    storage *all = &s->storage;
    if (!is_host(s, host)) return SIM_BAD_RANK;
    if (n_disks < 1 || stripe_bytes < 1) return SIM_BAD_SIZE;
    for (int i = 0; i < n_disks; i++)
        if (disk[i] < 0 || disk[i] >= all->disks.n) return SIM_BAD_SIZE;
    if (make_first_places(s) < 0) return SIM_OUT_OF_MEMORY;
    void *list = all->place;
    if (grow(&list, all->n_places, &all->place_room, sizeof *all->place) < 0) return SIM_OUT_OF_MEMORY;
    all->place = list;
    const int first_disk = all->n_disks_of_places;
    for (int i = 0; i < n_disks; i++) {
        list = all->disk_of_place;
        if (grow(&list, first_disk + i, &all->disk_of_place_room, sizeof *all->disk_of_place) < 0) return SIM_OUT_OF_MEMORY;
        all->disk_of_place = list;
        all->disk_of_place[first_disk + i] = disk[i];
    }
    all->n_disks_of_places += n_disks;
    int *at = &all->first_place[host], number = 0;
    for (; *at >= 0; number++) at = &all->place[*at].next_of_host;
    *at = all->n_places;
    all->place[all->n_places++] = (file_place){.stripe_bytes = stripe_bytes, .first_disk = first_disk, .n_disks = n_disks,
                                          .streams = streams, .next_of_host = -1};
    return number;
}

/* The place that an access asks for, or the host's first one; NULL: it has none, or the access asks for none. */
static const file_place *place_of(const storage *all, int host, int number)
{
    const int first = all->first_place && number >= 0 ? all->first_place[host] : -1;
    int at = first;
    for (int i = 0; i < number && at >= 0; i++) at = all->place[at].next_of_host;
    return at >= 0 ? &all->place[at] : first >= 0 ? &all->place[first] : NULL;
}

/* ---- an access ---- */

enum { OVER_AT_ONCE = 1 };

static int begin(sim *s, int id);

/* An access is over: the next one of its queue, or -1. */
static int close_access(sim *s, int id)
{
    storage *all = &s->storage;
    const file_access ended = all->access[id];
    const int queue = ended.range.queue, next = queue ? ended.next : -1;
    if (queue) all->queue[queue].first = next;
    if (queue && next < 0) all->queue[queue].last = -1;
    all->access[id].next = all->free_access;
    all->free_access = id;
    all->n_under_way--;
    s->stats.progress++;
    ended.ended(s, ended.number);
    return next;
}

static void end(sim *s, int id)
{
    for (int next = close_access(s, id); next >= 0; next = close_access(s, next)) {
        const int begun = begin(s, next);
        keep_error(s, begun);
        if (begun != OVER_AT_ONCE) return;
    }
}

static void end_part(sim *s, int id)
{
    storage *all = &s->storage;
    const int access = all->part[id].access;
    all->part[id].next = all->free_part;
    all->free_part = id;
    if (--all->access[access].n_parts == 0) end(s, access);
}

/* ---- a part: its steps, in order or at once ---- */

enum { PART_DELAY, PART_FIRST, PART_SECOND, PART_OVER };

static void transfer_ended(sim *s, const transfer *t)
{
    part_step(s, t->number[0]);
}

static const transfer_owner part_owner = {.ended = transfer_ended};

static int is_remote(const sim *s, const access_part *p)
{
    return p->bytes > 0 && s->storage.disks.at[p->disk].host != s->storage.access[p->access].range.host;
}

static int start_operation(sim *s, int id)
{
    const access_part *p = &s->storage.part[id];
    const int direction = s->storage.access[p->access].range.is_write ? DISK_WRITE : DISK_READ;
    return disk_start(&s->storage.disks, &s->clock, p->disk, direction, (double)p->bytes, id);
}

static int start_transfer(sim *s, int id)
{
    const access_part *p = &s->storage.part[id];
    const storage_range *range = &s->storage.access[p->access].range;
    const int there = s->storage.disks.at[p->disk].host, from = range->is_write ? range->host : there;
    return transfer_start_bare(s, from, range->is_write ? there : range->host, p->bytes, &part_owner, id);
}

/* Starts what is next for a part, whose steps so far are over: 0, or an error. */
static int part_go_on(sim *s, int id)
{
    access_part *p = &s->storage.part[id];
    const storage_range *range = &s->storage.access[p->access].range;
    const int remote = is_remote(s, p), is_write = range->is_write, stage = p->stage++;
    const file_place *at = place_of(&s->storage, range->host, range->place);
    p->n_left = 1;
    if (stage == PART_DELAY) {
        const double latency_s = s->storage.disks.at[p->disk].latency_s;
        return latency_s > 0 ? disk_delay(&s->storage.disks, &s->clock, latency_s, id) : part_go_on(s, id);
    }
    if (stage == PART_FIRST && remote && at->streams) {
        p->n_left = 2;
        p->stage = PART_OVER;
        const int error = start_operation(s, id);
        return error < 0 ? error : start_transfer(s, id);
    }
    if (stage == PART_FIRST) return remote && is_write ? start_transfer(s, id) : start_operation(s, id);
    if (stage == PART_SECOND && remote) return is_write ? start_operation(s, id) : start_transfer(s, id);
    end_part(s, id);
    return 0;
}

static void part_step(sim *s, int id)
{
    if (--s->storage.part[id].n_left == 0) keep_error(s, part_go_on(s, id));
}

/* ---- its beginning ---- */

/* Bytes of a range that lie on one of n disks. */
static int64_t bytes_on(const file_place *at, int64_t offset, int64_t bytes, int disk)
{
    const int64_t stripe = at->stripe_bytes, row = stripe * at->n_disks, begin_on = stripe * disk;
    if (at->n_disks == 1) return bytes;
    int64_t sum = 0;
    for (int is_end = 0; is_end < 2; is_end++) { /* bytes on it before the end of the range, less those before its beginning */
        const int64_t upto = is_end ? offset + bytes : offset, rest = upto % row - begin_on;
        const int64_t before = upto / row * stripe + (rest <= 0 ? 0 : rest < stripe ? rest : stripe);
        sum += is_end ? before : -before;
    }
    return sum;
}

static int begin_parts(sim *s, int id, const file_place *at)
{
    storage *all = &s->storage;
    const storage_range range = all->access[id].range;
    const int first_disk = at->first_disk, n_disks = at->n_disks;
    for (int i = 0; i < n_disks; i++) {
        const int64_t bytes = bytes_on(at, range.offset, range.bytes, i);
        if (bytes <= 0 && (i || range.bytes > 0)) continue;
        const int part = part_new(all);
        if (part < 0) return part;
        all->part[part] = (access_part){.access = id, .disk = all->disk_of_place[first_disk + i], .bytes = bytes};
        all->access[id].n_parts++;
        const int error = part_go_on(s, part);
        if (error < 0) return error;
    }
    return 0;
}

/* 0, OVER_AT_ONCE, or an error. */
static int begin(sim *s, int id)
{
    const file_access access = s->storage.access[id];
    const file_place *at = place_of(&s->storage, access.range.host, access.range.place);
    access.begins(s, access.number);
    return at ? begin_parts(s, id, at) : OVER_AT_ONCE;
}

/* Room for queues up to a number: 0, or an error. */
static int reach_queue(storage *all, int queue)
{
    if (queue < all->n_queues) return 0;
    int n = all->n_queues ? all->n_queues : 8;
    while (n <= queue) n *= 2;
    void *grown = realloc(all->queue, (size_t)n * sizeof *all->queue);
    if (!grown) return SIM_OUT_OF_MEMORY;
    all->queue = grown;
    memset(&all->queue[all->n_queues], -1, (size_t)(n - all->n_queues) * sizeof *all->queue); /* -1 in each */
    all->n_queues = n;
    return 0;
}

int storage_access(sim *s, const storage_range *range, access_owner *begins, access_owner *ended, int number)
{
    storage *all = &s->storage;
    const int queue = range->queue;
    if (queue && reach_queue(all, queue) < 0) return SIM_OUT_OF_MEMORY;
    const int id = access_new(all);
    if (id < 0) return id;
    all->access[id] = (file_access){.range = *range, .begins = begins, .ended = ended, .number = number, .next = -1};
    all->n_under_way++;
    if (queue) {
        const int last = all->queue[queue].last;
        all->queue[queue].last = id;
        if (last >= 0) {
            all->access[last].next = id;
            return 0;
        }
        all->queue[queue].first = id;
    }
    const int begun = begin(s, id);
    if (begun == OVER_AT_ONCE) end(s, id);
    return begun < 0 ? begun : 0;
}

#ifdef SMPY_CHECK
#include <assert.h>

void storage_check(const storage *all)
{
    int n_free = 0, n_live_parts = all->n_parts, n_waiting = 0, n_parts = 0;
    disks_check(&all->disks);
    for (int id = all->free_access; id >= 0; id = all->access[id].next) n_free++;
    for (int id = all->free_part; id >= 0; id = all->part[id].next) n_live_parts--;
    assert(all->n_under_way == all->n_accesses - n_free);
    for (int queue = 1; queue < all->n_queues; queue++) {
        const int first = all->queue[queue].first;
        assert((first < 0) == (all->queue[queue].last < 0));
        for (int id = first; id >= 0; id = all->access[id].next) {
            assert(all->access[id].range.queue == queue && (all->access[id].n_parts > 0) == (id == first));
            n_waiting += id != first;
            n_parts += all->access[id].n_parts;
        }
    }
    assert(n_waiting <= all->n_under_way && n_parts <= n_live_parts);
}
#endif
