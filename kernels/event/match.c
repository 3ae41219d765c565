#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Which send goes to which receive.
 *
 * Exact queues, hashed by (context, target, source, tag), hold either unexpected sends or posted receives, never both.
 * Every unexpected send is also in its receiver's list of arrivals, where wildcards and probes look; posted receives with a
 * wildcard are in a list of their own. An incoming send takes the older of its exact queue's head and the first wildcard
 * receive that accepts it; so messages of one sender do not overtake. */

int match_init(matching *m, int n_ranks)
{
    *m = (matching){.n_buckets = 256};
    m->bucket = calloc(256, sizeof *m->bucket);
    m->seen = calloc((size_t)n_ranks, sizeof *m->seen);
    return m->bucket && m->seen ? 0 : SIM_OUT_OF_MEMORY;
}

void match_free(matching *m)
{
    free(m->queue);
    free(m->bucket);
    free(m->seen);
}

static inline uint32_t hash(int context, int target, int source, int tag)
{
    uint64_t h = (uint64_t)(uint32_t)target * 0x9E3779B97F4A7C15u;
    h ^= (uint64_t)(uint32_t)source * 0xC2B2AE3D27D4EB4Fu;
    h ^= ((uint64_t)(uint32_t)context << 32 | (uint32_t)tag) * 0x165667B19E3779F9u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(h >> 32);
}

static inline int find(const matching *m, int context, int target, int source, int tag)
{
    int q = m->bucket[hash(context, target, source, tag) & (uint32_t)(m->n_buckets - 1)];
    while (q) {
        const match_queue *k = &m->queue[q];
        if (k->target == target && k->source == source && k->tag == tag && k->context == context) return q;
        q = k->next;
    }
    return 0;
}

static int rehash(matching *m)
{
    int n = 2 * m->n_buckets;
    int *bucket = calloc((size_t)n, sizeof *bucket);
    if (!bucket) return SIM_OUT_OF_MEMORY;
    for (int b = 0; b < m->n_buckets; b++) {
        for (int q = m->bucket[b], next; q; q = next) {
            match_queue *k = &m->queue[q];
            uint32_t to = hash(k->context, k->target, k->source, k->tag) & (uint32_t)(n - 1);
            next = k->next;
            k->next = bucket[to];
            bucket[to] = q;
        }
    }
    free(m->bucket);
    m->bucket = bucket;
    m->n_buckets = n;
    return 0;
}

static int queue_new(matching *m, int context, int target, int source, int tag)
{
    if (m->used >= m->n_buckets && rehash(m) < 0) return SIM_OUT_OF_MEMORY;
    int q = m->free;
    if (q) {
        m->free = m->queue[q].next;
    } else {
        if (m->n + 1 >= m->room) {
            int room = m->room ? 2 * m->room : 256;
            match_queue *queue = realloc(m->queue, (size_t)room * sizeof *queue);
            if (!queue) return SIM_OUT_OF_MEMORY;
            m->queue = queue;
            m->room = room;
        }
        q = ++m->n;
    }
    uint32_t b = hash(context, target, source, tag) & (uint32_t)(m->n_buckets - 1);
    m->queue[q] = (match_queue){context, target, source, tag, 0, 0, m->bucket[b]};
    m->bucket[b] = q;
    m->used++;
    return q;
}

static void queue_free(matching *m, int q)
{
    match_queue *k = &m->queue[q];
    int *link = &m->bucket[hash(k->context, k->target, k->source, k->tag) & (uint32_t)(m->n_buckets - 1)];
    while (*link != q) link = &m->queue[*link].next;
    *link = k->next;
    k->next = m->free;
    m->free = q;
    m->used--;
}

static void queue_append(matching *m, slot_pool *pool, int q, int id)
{
    match_queue *k = &m->queue[q];
    pool->at[id].next = 0;
    if (k->tail)
        pool->at[k->tail].next = id;
    else
        k->head = id;
    k->tail = id;
    pool->at[id].is_queued = 1;
}

static void queue_take_head(matching *m, slot_pool *pool, int q)
{
    match_queue *k = &m->queue[q];
    pool->at[k->head].is_queued = 0;
    k->head = pool->at[k->head].next;
    if (!k->head) queue_free(m, q);
}

static void queue_withdraw(matching *m, slot_pool *pool, int q, int id)
{
    match_queue *k = &m->queue[q];
    if (k->head == id) {
        queue_take_head(m, pool, q);
        return;
    }
    int before = k->head;
    while (pool->at[before].next != id) before = pool->at[before].next;
    pool->at[before].next = pool->at[id].next;
    pool->at[id].is_queued = 0;
    if (k->tail == id) k->tail = before;
}

static void list_append(slot_pool *pool, int *first, int *last, int id)
{
    slot *at = pool->at;
    at[id].next_seen = 0;
    at[id].previous_seen = *last;
    if (*last)
        at[*last].next_seen = id;
    else
        *first = id;
    *last = id;
}

static void list_remove(slot_pool *pool, int *first, int *last, int id)
{
    slot *at = pool->at;
    int before = at[id].previous_seen, after = at[id].next_seen;
    if (before)
        at[before].next_seen = after;
    else
        *first = after;
    if (after)
        at[after].previous_seen = before;
    else
        *last = before;
}

static inline int is_wild(const slot *r)
{
    return r->is.peer == SIM_ANY || r->is.tag == SIM_ANY;
}

static inline int accepts(int source, int tag, const slot *send)
{
    return (source == SIM_ANY || source == send->source) && (tag == SIM_ANY || tag == send->is.tag);
}

int match_send(matching *m, slot_pool *pool, int id)
{
    slot *send = &pool->at[id];
    match_seen *seen = &m->seen[send->target];
    int q = find(m, send->context, send->target, send->source, send->is.tag);
    int exact = q && !pool->at[m->queue[q].head].is.is_send ? m->queue[q].head : 0;
    int wild = seen->first_wild;
    while (wild) {
        const slot *r = &pool->at[wild];
        if (exact && r->posted > pool->at[exact].posted) wild = 0;
        if (!wild || (r->context == send->context && accepts(r->is.peer, r->is.tag, send))) break;
        wild = r->next_seen;
    }
    send->posted = m->posted++;
    if (wild) {
        list_remove(pool, &seen->first_wild, &seen->last_wild, wild);
        pool->at[wild].is_queued = 0;
        return wild;
    }
    if (exact) {
        queue_take_head(m, pool, q);
        return exact;
    }
    if (!q && (q = queue_new(m, send->context, send->target, send->source, send->is.tag)) < 0) return q;
    queue_append(m, pool, q, id);
    list_append(pool, &seen->first_send, &seen->last_send, id);
    return 0;
}

int match_probe(const matching *m, const slot_pool *pool, int context, int target, int source, int tag)
{
    if (source != SIM_ANY && tag != SIM_ANY) {
        int q = find(m, context, target, source, tag);
        return q && pool->at[m->queue[q].head].is.is_send ? m->queue[q].head : 0;
    }
    int send = m->seen[target].first_send;
    while (send && !(pool->at[send].context == context && accepts(source, tag, &pool->at[send])))
        send = pool->at[send].next_seen;
    return send;
}

void match_take_send(matching *m, slot_pool *pool, int id)
{
    const slot *send = &pool->at[id];
    match_seen *seen = &m->seen[send->target];
    /* The oldest arrival of its key is the head of its key's queue. */
    queue_take_head(m, pool, find(m, send->context, send->target, send->source, send->is.tag));
    list_remove(pool, &seen->first_send, &seen->last_send, id);
}

int match_withdraw(matching *m, slot_pool *pool, int id)
{
    slot *x = &pool->at[id];
    match_seen *seen = &m->seen[x->target];
    if (!x->is_queued) return 0;
    if (!x->is.is_send && is_wild(x)) {
        list_remove(pool, &seen->first_wild, &seen->last_wild, id);
        x->is_queued = 0;
        return 1;
    }
    queue_withdraw(m, pool, find(m, x->context, x->target, x->is.is_send ? x->source : x->is.peer, x->is.tag), id);
    if (x->is.is_send) list_remove(pool, &seen->first_send, &seen->last_send, id);
    return 1;
}

int match_recv(matching *m, slot_pool *pool, int id)
{
    slot *recv = &pool->at[id];
    match_seen *seen = &m->seen[recv->target];
    int send = match_probe(m, pool, recv->context, recv->target, recv->is.peer, recv->is.tag);
    recv->posted = m->posted++;
    if (send) {
        match_take_send(m, pool, send);
        return send;
    }
    if (is_wild(recv)) {
        list_append(pool, &seen->first_wild, &seen->last_wild, id);
        recv->is_queued = 1;
        return 0;
    }
    int q = find(m, recv->context, recv->target, recv->is.peer, recv->is.tag);
    if (!q && (q = queue_new(m, recv->context, recv->target, recv->is.peer, recv->is.tag)) < 0) return q;
    queue_append(m, pool, q, id);
    return 0;
}
