#include "world/device.h"

#include <math.h>
#include <string.h>

#include "basics/reserve.h"
#include "world/world.h"

/* ---- memory ---- */

static void step(sim *s, int id);

int devices_init(devices *all)
{
    all->free_operation = -1;
    return disks_init(&all->servers, step);
}

void devices_free(devices *all)
{
    disks_free(&all->servers);
    free(all->at);
    free(all->first_of_host);
    free(all->next_of_host);
    free(all->of_rank);
    free(all->operation);
    free(all->stream);
}

/* ---- devices ---- */

static int make_hosts(devices *all, int n_hosts)
{
    if (all->first_of_host) return 0;
    all->first_of_host = malloc((size_t)n_hosts * sizeof *all->first_of_host);
    all->next_of_host = malloc((size_t)n_hosts * sizeof *all->next_of_host);
    if (!all->first_of_host || !all->next_of_host) return SIM_OUT_OF_MEMORY;
    for (int host = 0; host < n_hosts; host++) all->first_of_host[host] = all->next_of_host[host] = -1;
    return 0;
}

static int has_numbers(const device_numbers *is)
{
    double sum = is->memory_bytes_per_s + is->peer_bytes_per_s + is->link_latency_s + is->peer_latency_s;
    int are_possible = is->link_bytes_per_s > 0 && is->memory_bytes_per_s >= 0 && is->peer_bytes_per_s >= 0 &&
                       is->link_latency_s >= 0 && is->peer_latency_s >= 0;
    for (int type = 0; type < DEVICE_TYPES; type++) {
        are_possible &= is->flop_per_s[type] >= 0;
        sum += is->flop_per_s[type];
    }
    return are_possible && isfinite(sum + is->link_bytes_per_s);
}

int sim_device_new(sim *s, int host, const device_numbers *is)
{
    devices *all = &s->devices;
    if (host < 0 || host >= s->hosts.n) return SIM_BAD_RANK;
    if (!has_numbers(is)) return SIM_BAD_SIZE;
    void *list = all->at;
    if (make_hosts(all, s->hosts.n) < 0 || reserve(&list, &all->room, all->n + 1, sizeof *all->at) < 0) return SIM_OUT_OF_MEMORY;
    all->at = list;
    const double bytes_per_s[DEVICE_SERVERS] = {1, is->link_bytes_per_s, is->link_bytes_per_s, is->peer_bytes_per_s,
                                                is->peer_bytes_per_s};
    for (int server = 0; server < DEVICE_SERVERS; server++) {
        const int number = disk_new(&all->servers, host, bytes_per_s[server], bytes_per_s[server], 0);
        if (number < 0) return number;
    }
    int *at = &all->first_of_host[host];
    while (*at >= 0) at = &all->at[*at].next_of_host;
    *at = all->n;
    all->next_of_host[host] = all->first_of_host[host];
    all->at[all->n] = (device){.is = *is, .host = host, .next_of_host = -1};
    return all->n++;
}

/* The ranks' devices, up to one: 0, or SIM_OUT_OF_MEMORY. */
static int reach_rank(sim *s, int rank)
{
    devices *all = &s->devices;
    while (all->n_ranks <= rank) {
        void *list = all->of_rank;
        if (reserve(&list, &all->rank_room, all->n_ranks + 1, sizeof *all->of_rank) < 0) return SIM_OUT_OF_MEMORY;
        all->of_rank = list;
        const int host = s->timelines.rank[all->n_ranks].host, is = all->next_of_host[host];
        all->of_rank[all->n_ranks++] = is;
        if (is < 0) continue;
        all->next_of_host[host] = all->at[is].next_of_host >= 0 ? all->at[is].next_of_host : all->first_of_host[host];
    }
    return 0;
}

int sim_device_of(sim *s, int rank)
{
    if (rank < 0 || rank >= s->timelines.n_ranks) return SIM_BAD_RANK;
    if (!s->devices.n) return -1;
    const int error = reach_rank(s, rank);
    return error < 0 ? error : s->devices.of_rank[rank];
}

double device_alone_s(const device *d, int type, double flop, double bytes)
{
    const double flop_per_s = d->is.flop_per_s[type], bytes_per_s = d->is.memory_bytes_per_s;
    if (flop > 0 && flop_per_s == 0) return -1;
    return fmax(flop > 0 ? flop / flop_per_s : 0, bytes_per_s > 0 ? bytes / bytes_per_s : 0);
}

double sim_device_busy_s(const sim *s, int number)
{
    const device *d = &s->devices.at[number];
    return d->busy_s + (d->n_computing ? s->clock.now_s - d->since_s : 0);
}

/* An operation begins (1) or ends (-1) to compute. */
static void count(const sim *s, device *d, int change)
{
    if (d->n_computing) d->busy_s += s->clock.now_s - d->since_s;
    d->since_s = s->clock.now_s;
    d->n_computing += change;
}

/* ---- operations ---- */

static int operation_new(devices *all)
{
    const int id = all->free_operation;
    void *list = all->operation;
    if (id >= 0) {
        all->free_operation = all->operation[id].next;
        return id;
    }
    if (reserve(&list, &all->operation_room, all->n_operations + 1, sizeof *all->operation) < 0) return SIM_OUT_OF_MEMORY;
    all->operation = list;
    return all->n_operations++;
}

static device_stream *stream_of(devices *all, const device_work *work)
{
    return work->stream < 0 ? NULL : &all->stream[work->rank * DEVICE_STREAMS + work->stream];
}

static int start(sim *s, int id);

/* Ends an operation, and starts the next one of its stream. */
static int end(sim *s, int id)
{
    devices *all = &s->devices;
    const device_operation ended = all->operation[id];
    device_stream *stream = stream_of(all, &ended.is);
    for (int i = 0; i < ended.is.n_parts; i++)
        if (ended.is.part[i].server == DEVICE_COMPUTES) count(s, &all->at[ended.is.part[i].device], -1);
    if (stream) {
        stream->first = ended.next;
        if (ended.next < 0) stream->last = -1;
    }
    all->operation[id].next = all->free_operation;
    all->free_operation = id;
    s->stats.progress++;
    ended.is.ended(s, ended.is.number);
    return stream && ended.next >= 0 ? start(s, ended.next) : 0;
}

static int start_parts(sim *s, int id)
{
    devices *all = &s->devices;
    const device_work is = all->operation[id].is;
    all->operation[id].is_delayed = 0;
    all->operation[id].n_left = is.n_parts;
    if (!is.n_parts) return end(s, id);
    for (int i = 0; i < is.n_parts; i++) {
        const device_part *part = &is.part[i];
        if (part->server == DEVICE_COMPUTES) count(s, &all->at[part->device], 1);
        const int server = part->device * DEVICE_SERVERS + part->server;
        const int error = disk_start(&all->servers, &s->clock, server, DISK_READ, part->amount, id);
        if (error < 0) return error;
    }
    return 0;
}

static int start(sim *s, int id)
{
    device_operation *o = &s->devices.operation[id];
    if (o->is.begins) o->is.begins(s, o->is.number);
    if (!(o->is.delay_s > 0)) return start_parts(s, id);
    o->is_delayed = o->n_left = 1;
    return disk_delay(&s->devices.servers, &s->clock, o->is.delay_s, id);
}

static void step(sim *s, int id)
{
    device_operation *o = &s->devices.operation[id];
    if (--o->n_left) return;
    keep_error(s, o->is_delayed ? start_parts(s, id) : end(s, id));
}

/* Room for the streams of a rank: 0, or SIM_OUT_OF_MEMORY. */
static int reach_streams(sim *s, int rank)
{
    devices *all = &s->devices;
    if (rank * DEVICE_STREAMS < all->n_streams) return 0;
    const int n = s->timelines.n_ranks * DEVICE_STREAMS;
    device_stream *grown = realloc(all->stream, (size_t)n * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    all->stream = grown;
    memset(&grown[all->n_streams], -1, (size_t)(n - all->n_streams) * sizeof *grown); /* -1 in each */
    all->n_streams = n;
    return 0;
}

int device_begin(sim *s, const device_work *work)
{
    devices *all = &s->devices;
    if (work->stream >= 0 && reach_streams(s, work->rank) < 0) return SIM_OUT_OF_MEMORY;
    const int id = operation_new(all);
    if (id < 0) return id;
    all->operation[id] = (device_operation){.is = *work, .next = -1};
    device_stream *stream = stream_of(all, work);
    if (stream) {
        const int last = stream->last;
        stream->last = id;
        if (last >= 0) {
            all->operation[last].next = id;
            return 0;
        }
        stream->first = id;
    }
    return start(s, id);
}

#ifdef SMPY_CHECK
#include <assert.h>

void devices_check(const devices *all)
{
    int n_live = all->n_operations, n_under_way = 0;
    disks_check(&all->servers);
    assert(all->servers.n == all->n * DEVICE_SERVERS);
    for (int id = all->free_operation; id >= 0; id = all->operation[id].next) n_live--;
    for (int i = 0; i < all->n_streams; i++) {
        int at = all->stream[i].first;
        assert((at < 0) == (all->stream[i].last < 0));
        if (at >= 0) assert(all->operation[at].n_left > 0);
        for (; at >= 0; at = all->operation[at].next) {
            n_under_way += all->operation[at].n_left;
            n_live--;
            if (all->operation[at].next < 0) assert(at == all->stream[i].last);
        }
    }
    assert(n_live >= 0 && n_under_way <= all->servers.n_under_way);
}
#endif
