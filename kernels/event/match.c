#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Which send goes to which receive.
 *
 * Exact queues, hashed by (context, target, source, tag), hold either unexpected sends or posted receives, never both.
 * Every unexpected send of a program is also in its receiver's list of arrivals, where wildcards and probes look; posted
 * receives with a wildcard are in a list of their own. Collectives use neither. An incoming send takes the older of its exact queue's head and the first wildcard
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

typedef struct {
    int context, target, source, tag;
} match_key;

static inline match_key key_of(const slot *x)
{
    return (match_key){x->context, x->target, x->is.is_send ? x->is.matched_source : x->is.peer, x->is.tag};
}

static inline uint32_t hash(match_key k)
{
    uint64_t h = (uint64_t)(uint32_t)k.target * 0x9E3779B97F4A7C15u;
    h ^= (uint64_t)(uint32_t)k.source * 0xC2B2AE3D27D4EB4Fu;
    h ^= ((uint64_t)(uint32_t)k.context << 32 | (uint32_t)k.tag) * 0x165667B19E3779F9u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    return (uint32_t)(h >> 32);
}

/* Where the number of the key's queue stands, 0 when it has none. Good until a queue comes or goes. */
static inline int *find(matching *m, const slot_pool *pool, match_key k)
{
    const uint32_t h = hash(k);
    int *at = &m->bucket[h & (uint32_t)(m->n_buckets - 1)];
    for (; *at; at = &m->queue[*at].next) {
        if (m->queue[*at].hash != h) continue;
        const match_key other = key_of(&pool->at[m->queue[*at].head]);
        if (other.target == k.target && other.source == k.source && other.tag == k.tag && other.context == k.context) break;
    }
    return at;
}

static int rehash(matching *m)
{
    int n = 2 * m->n_buckets;
    int *bucket = calloc((size_t)n, sizeof *bucket);
    if (!bucket) return SIM_OUT_OF_MEMORY;
    for (int b = 0; b < m->n_buckets; b++) {
        for (int q = m->bucket[b], next; q; q = next) {
            match_queue *k = &m->queue[q];
            uint32_t to = k->hash & (uint32_t)(n - 1);
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

static int queue_new(matching *m, const slot_pool *pool, int id)
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
    const uint32_t h = hash(key_of(&pool->at[id]));
    int *first = &m->bucket[h & (uint32_t)(m->n_buckets - 1)];
    m->queue[q] = (match_queue){id, id, *first, h};
    *first = q;
    m->used++;
    return q;
}

/* Behind the others of its key, whose queue is `q`, or 0. */
static int queue_append(matching *m, slot_pool *pool, int q, int id)
{
    pool->at[id].next = 0;
    pool->at[id].is_queued = 1;
    if (!q) return queue_new(m, pool, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
    pool->at[m->queue[q].tail].next = id;
    m->queue[q].tail = id;
    return 0;
}

static void queue_take_head(matching *m, slot_pool *pool, int *at)
{
    int q = *at;
    match_queue *k = &m->queue[q];
    slot *head = &pool->at[k->head];
    head->is_queued = 0;
    if (head->next) {
        k->head = head->next;
        return;
    }
    *at = k->next;
    k->next = m->free;
    m->free = q;
    m->used--;
}

static void queue_withdraw(matching *m, slot_pool *pool, int *at, int id)
{
    match_queue *k = &m->queue[*at];
    if (k->head == id) {
        queue_take_head(m, pool, at);
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

static inline int is_of_program(const slot *x)
{
    return !(x->context & 1);
}

static inline int is_wild(const slot *r)
{
    return r->is.peer == SIM_ANY || r->is.tag == SIM_ANY;
}

static inline int accepts(int source, int tag, const slot *send)
{
    return (source == SIM_ANY || source == send->is.matched_source) && (tag == SIM_ANY || tag == send->is.tag);
}

/* The first wildcard receive that takes the message and was posted before the exact one, if there is one. */
static int wild_for(const matching *m, const slot_pool *pool, const slot *send, int exact)
{
    int wild = m->seen[send->target].first_wild;
    while (wild) {
        const slot *r = &pool->at[wild];
        if (exact && r->posted > pool->at[exact].posted) return 0;
        if (r->context == send->context && accepts(r->is.peer, r->is.tag, send)) break;
        wild = r->next_seen;
    }
    return wild;
}

int match_send(matching *m, slot_pool *pool, int id)
{
    slot *send = &pool->at[id];
    match_seen *seen = &m->seen[send->target];
    int *at = find(m, pool, key_of(send)), q = *at;
    int exact = q && !pool->at[m->queue[q].head].is.is_send ? m->queue[q].head : 0;
    int wild = is_of_program(send) ? wild_for(m, pool, send, exact) : 0;
    send->posted = m->posted++;
    if (wild) {
        list_remove(pool, &seen->first_wild, &seen->last_wild, wild);
        pool->at[wild].is_queued = 0;
        return wild;
    }
    if (exact) {
        queue_take_head(m, pool, at);
        return exact;
    }
    if (is_of_program(send)) list_append(pool, &seen->first_send, &seen->last_send, id);
    return queue_append(m, pool, q, id);
}

int match_probe(matching *m, const slot_pool *pool, int context, int target, int source, int tag)
{
    if (source != SIM_ANY && tag != SIM_ANY) {
        int q = *find(m, pool, (match_key){context, target, source, tag});
        return q && pool->at[m->queue[q].head].is.is_send ? m->queue[q].head : 0;
    }
    int send = m->seen[target].first_send;
    while (send && !(pool->at[send].context == context && accepts(source, tag, &pool->at[send])))
        send = pool->at[send].next_seen;
    return send;
}

/* The oldest arrival of its key is the head of its key's queue. */
static void take_send(matching *m, slot_pool *pool, int *at)
{
    int id = m->queue[*at].head;
    match_seen *seen = &m->seen[pool->at[id].target];
    queue_take_head(m, pool, at);
    if (is_of_program(&pool->at[id])) list_remove(pool, &seen->first_send, &seen->last_send, id);
}

void match_take_send(matching *m, slot_pool *pool, int id)
{
    take_send(m, pool, find(m, pool, key_of(&pool->at[id])));
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
    queue_withdraw(m, pool, find(m, pool, key_of(x)), id);
    if (x->is.is_send && is_of_program(x)) list_remove(pool, &seen->first_send, &seen->last_send, id);
    return 1;
}

int match_recv(matching *m, slot_pool *pool, int id)
{
    slot *recv = &pool->at[id];
    match_seen *seen = &m->seen[recv->target];
    recv->posted = m->posted++;
    if (is_wild(recv)) {
        int send = match_probe(m, pool, recv->context, recv->target, recv->is.peer, recv->is.tag);
        if (send) {
            match_take_send(m, pool, send);
            return send;
        }
        list_append(pool, &seen->first_wild, &seen->last_wild, id);
        recv->is_queued = 1;
        return 0;
    }
    int *at = find(m, pool, key_of(recv)), q = *at;
    int first = q ? m->queue[q].head : 0;
    if (!first || !pool->at[first].is.is_send) return queue_append(m, pool, q, id);
    take_send(m, pool, at);
    return first;
}
