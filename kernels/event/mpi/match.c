#include "mpi/match.h"

#include <stdlib.h>
#include <string.h>

/* Posted receives are in queues, hashed by (context, target, source, tag) with SIM_ANY where they have a wildcard. Unexpected
 * sends are in the queue of their exact key. A queue holds either sends or receives, never both: they would have matched.
 * An incoming send takes the oldest of the heads of the four queues that may hold a receive for it: the exact one's and those
 * with SIM_ANY for the source, for the tag, for both. So messages of one sender do not overtake, and a match takes as long
 * whatever else is posted.
 *
 * Receives and probes with a wildcard look for the oldest arrival that they accept. Every unexpected send of a program is in
 * its receiver's list of arrivals, which they search. A search that finds nothing in SEARCH_MAX steps makes an index of the
 * list: each send is put in the three queues with SIM_ANY instead, in order of arrival, and so is each that arrives from then
 * on, until the receiver has no unexpected send. Programs without such searches pay nothing for the index.
 *
 * Collectives use exact queues only. */

enum { SEARCH_MAX = 32 };

/* Pattern of a queue: the parts of its key that are SIM_ANY. */
enum { ANY_SOURCE = 1, ANY_TAG = 2, PATTERNS = 4 };

int match_init(matching *m, int n_ranks)
{
    *m = (matching){.n_buckets = 256};
    m->bucket = calloc(256, sizeof *m->bucket);
    m->arrivals = calloc((size_t)n_ranks, sizeof *m->arrivals);
    return m->bucket && m->arrivals ? 0 : SIM_OUT_OF_MEMORY;
}

int match_add_rank(matching *m, int n_ranks)
{
    match_arrivals *grown = realloc(m->arrivals, ((size_t)n_ranks + 1) * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    grown[n_ranks] = (match_arrivals){0};
    m->arrivals = grown;
    return 0;
}

void match_free(matching *m)
{
    free(m->queue);
    free(m->entry);
    free(m->bucket);
    free(m->arrivals);
}

typedef struct {
    int context, target, source, tag;
} match_key;

static inline match_key key_of(const slot *x, int pattern)
{
    return (match_key){x->context, x->target,
                       pattern & ANY_SOURCE ? SIM_ANY : x->is.is_send ? x->is.matched_source : x->is.peer,
                       pattern & ANY_TAG ? SIM_ANY : x->is.tag};
}

/* The pattern is part of it: queues of equal hashes have equal patterns. Targets at the same distance from their sources follow
 * each other, so that ranks which do the same one after the other find their buckets side by side. */
static inline uint32_t hash(match_key k, int pattern)
{
    uint64_t h = (uint64_t)((uint32_t)k.source - (uint32_t)k.target) * 0xC2B2AE3D27D4EB4Fu;
    h ^= ((uint64_t)(uint32_t)k.context << 32 | (uint32_t)k.tag) * 0x165667B19E3779F9u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    return (((uint32_t)(h >> 34) + (uint32_t)k.target) & 0x3FFFFFFFu) | (uint32_t)pattern << 30;
}

/* Counts what searches look at. */
static inline void step(matching *m)
{
#ifdef SMPY_CHECK
    m->steps++;
#else
    (void)m;
#endif
}

/* Address of the number of the key's queue, 0 when it has none. Valid until a queue comes or goes. */
static inline int *find(matching *m, const slot_pool *pool, match_key k, int pattern)
{
    const uint32_t h = hash(k, pattern);
    int *at = &m->bucket[h & (uint32_t)(m->n_buckets - 1)];
    for (; *at; at = &m->queue[*at].next) {
        step(m);
        if (m->queue[*at].hash != h) continue;
        const match_key other = key_of(&pool->at[m->queue[*at].head], pattern);
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

static int queue_new(matching *m, const slot_pool *pool, int id, int pattern)
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
    const uint32_t h = hash(key_of(&pool->at[id], pattern), pattern);
    int *first = &m->bucket[h & (uint32_t)(m->n_buckets - 1)];
    m->queue[q] = (match_queue){id, id, *first, h};
    *first = q;
    m->used++;
    return q;
}

/* Behind the others of its key, whose queue is `q`, or 0. */
static int queue_append(matching *m, slot_pool *pool, int q, int id, int pattern)
{
    slot *x = &pool->at[id];
    x->next = 0;
    x->is_queued = 1;
    if (!q) return queue_new(m, pool, id, pattern) < 0 ? SIM_OUT_OF_MEMORY : 0;
    if (!x->is.is_send) x->previous = m->queue[q].tail;
    pool->at[m->queue[q].tail].next = id;
    m->queue[q].tail = id;
    return 0;
}

static void queue_free(matching *m, int *at)
{
    int q = *at;
    *at = m->queue[q].next;
    m->queue[q].next = m->free;
    m->free = q;
    m->used--;
}

static void queue_take_head(matching *m, slot_pool *pool, int *at)
{
    match_queue *k = &m->queue[*at];
    slot *head = &pool->at[k->head];
    head->is_queued = 0;
    if (head->next)
        k->head = head->next;
    else
        queue_free(m, at);
}

/* Receives know the one before them; the head does not, and sends do not. */
static void queue_withdraw(matching *m, slot_pool *pool, int *at, int id)
{
    match_queue *k = &m->queue[*at];
    slot *x = &pool->at[id];
    if (k->head == id) {
        queue_take_head(m, pool, at);
        return;
    }
    int before = x->is.is_send ? k->head : x->previous;
    while (pool->at[before].next != id) before = pool->at[before].next;
    pool->at[before].next = x->next;
    x->is_queued = 0;
    if (k->tail == id)
        k->tail = before;
    else if (!x->is.is_send)
        pool->at[x->next].previous = before;
}

/* ---- unexpected sends of programs ---- */

static void list_append(match_arrivals *arrivals, slot_pool *pool, int id)
{
    slot *at = pool->at;
    at[id].next_arrival = 0;
    at[id].previous = arrivals->last_send;
    if (arrivals->last_send)
        at[arrivals->last_send].next_arrival = id;
    else
        arrivals->first_send = id;
    arrivals->last_send = id;
}

static void list_remove(match_arrivals *arrivals, slot_pool *pool, int id)
{
    slot *at = pool->at;
    int before = at[id].previous, after = at[id].next_arrival;
    if (before)
        at[before].next_arrival = after;
    else
        arrivals->first_send = after;
    if (after)
        at[after].previous = before;
    else
        arrivals->last_send = before;
}

static int entry_new(matching *m)
{
    int e = m->free_entry;
    if (e) {
        m->free_entry = m->entry[e].in[0].next;
        return e;
    }
    if (m->n_entries + 1 >= m->entry_room) {
        int room = m->entry_room ? 2 * m->entry_room : 256;
        match_entry *entry = realloc(m->entry, (size_t)room * sizeof *entry);
        if (!entry) return SIM_OUT_OF_MEMORY;
        m->entry = entry;
        m->entry_room = room;
    }
    return ++m->n_entries;
}

/* Place of a send of the index in its queue of the pattern. */
static inline match_place *place_of(matching *m, const slot_pool *pool, int id, int pattern)
{
    return &m->entry[pool->at[id].entry].in[pattern - 1];
}

static int index_append(matching *m, slot_pool *pool, int id)
{
    slot *send = &pool->at[id];
    int e = entry_new(m);
    if (e < 0) return e;
    send->entry = e;
    for (int pattern = 1; pattern < PATTERNS; pattern++) {
        int q = *find(m, pool, key_of(send, pattern), pattern), tail = 0;
        if (q) {
            tail = m->queue[q].tail;
            place_of(m, pool, tail, pattern)->next = id;
            m->queue[q].tail = id;
        } else if ((q = queue_new(m, pool, id, pattern)) < 0) {
            return q;
        }
        *place_of(m, pool, id, pattern) = (match_place){.queue = q, .previous = tail};
    }
    m->arrivals[send->target].n_indexed++;
    return 0;
}

static void index_remove(matching *m, slot_pool *pool, int id)
{
    for (int pattern = 1; pattern < PATTERNS; pattern++) {
        const match_place place = *place_of(m, pool, id, pattern);
        match_queue *k = &m->queue[place.queue];
        if (place.previous)
            place_of(m, pool, place.previous, pattern)->next = place.next;
        else
            k->head = place.next;
        if (place.next)
            place_of(m, pool, place.next, pattern)->previous = place.previous;
        else
            k->tail = place.previous;
        if (k->head) continue;
        int *at = &m->bucket[k->hash & (uint32_t)(m->n_buckets - 1)];
        while (*at != place.queue) at = &m->queue[*at].next;
        queue_free(m, at);
    }
    int e = pool->at[id].entry;
    m->entry[e].in[0].next = m->free_entry;
    m->free_entry = e;
    m->arrivals[pool->at[id].target].n_indexed--;
}

static int make_index(matching *m, slot_pool *pool, match_arrivals *arrivals)
{
    for (int id = arrivals->first_send, next; id; id = next) {
        next = pool->at[id].next_arrival;
        int error = index_append(m, pool, id);
        if (error < 0) return error;
    }
    arrivals->first_send = arrivals->last_send = 0;
    return 0;
}

static int arrival_append(matching *m, slot_pool *pool, int id)
{
    match_arrivals *arrivals = &m->arrivals[pool->at[id].target];
    if (arrivals->n_indexed) return index_append(m, pool, id);
    list_append(arrivals, pool, id);
    return 0;
}

static void arrival_remove(matching *m, slot_pool *pool, int id)
{
    match_arrivals *arrivals = &m->arrivals[pool->at[id].target];
    if (arrivals->n_indexed)
        index_remove(m, pool, id);
    else
        list_remove(arrivals, pool, id);
}

/* ---- matching ---- */

static inline int is_of_program(const slot *x)
{
    return !(x->context & 1);
}

static inline int pattern_of(int source, int tag)
{
    return (source == SIM_ANY ? ANY_SOURCE : 0) | (tag == SIM_ANY ? ANY_TAG : 0);
}

static inline int accepts(int source, int tag, const slot *send)
{
    return (source == SIM_ANY || source == send->is.matched_source) && (tag == SIM_ANY || tag == send->is.tag);
}

static inline int head_if(const matching *m, const slot_pool *pool, int q, int is_send)
{
    int head = q ? m->queue[q].head : 0;
    return head && pool->at[head].is.is_send == is_send ? head : 0;
}

/* The queue of the oldest wildcard receive that takes the message, when that was posted before the exact one; or NULL. */
static int *wild_for(matching *m, const slot_pool *pool, const slot *send, int exact, int *pattern)
{
    const match_arrivals *arrivals = &m->arrivals[send->target];
    int *oldest = NULL;
    int64_t before = exact ? pool->at[exact].posted : INT64_MAX;
    for (int p = 1; p < PATTERNS; p++) {
        if (!arrivals->n_wild[p]) continue;
        int *at = find(m, pool, key_of(send, p), p), head = head_if(m, pool, *at, 0);
        if (!head || pool->at[head].posted >= before) continue;
        before = pool->at[head].posted;
        oldest = at;
        *pattern = p;
    }
    return oldest;
}

int match_send(matching *m, slot_pool *pool, int id)
{
    slot *send = &pool->at[id];
    match_arrivals *arrivals = &m->arrivals[send->target];
    int *at = find(m, pool, key_of(send, 0), 0), q = *at, pattern = 0;
    int exact = head_if(m, pool, q, 0);
    send->posted = m->posted++;
    if (is_of_program(send) && (arrivals->n_wild[1] | arrivals->n_wild[2] | arrivals->n_wild[3])) {
        int *wild = wild_for(m, pool, send, exact, &pattern);
        if (wild) at = wild;
        if (wild) exact = m->queue[*wild].head;
    }
    if (exact) {
        arrivals->n_wild[pattern] -= pattern > 0;
        queue_take_head(m, pool, at);
        return exact;
    }
    if (is_of_program(send) && arrival_append(m, pool, id) < 0) return SIM_OUT_OF_MEMORY;
    return queue_append(m, pool, q, id, 0);
}

int match_probe(matching *m, slot_pool *pool, int context, int target, int source, int tag)
{
    const match_key key = {context, target, source, tag};
    const int pattern = pattern_of(source, tag);
    match_arrivals *arrivals = &m->arrivals[target];
    if (!pattern) return head_if(m, pool, *find(m, pool, key, 0), 1);
    if (!arrivals->n_indexed) {
        int send = arrivals->first_send;
        for (int n = 0; send && n < SEARCH_MAX; n++) {
            step(m);
            const slot *x = &pool->at[send];
            if (x->context == context && accepts(source, tag, x)) return send;
            send = x->next_arrival;
        }
        if (!send) return 0;
        if (make_index(m, pool, arrivals) < 0) return SIM_OUT_OF_MEMORY;
    }
    return head_if(m, pool, *find(m, pool, key, pattern), 1);
}

int match_is_free(matching *m, slot_pool *pool, int context, int target, int source, int send_tag, int recv_tag)
{
    const slot send = {.context = context, .target = target,
                       .is = {.is_send = 1, .matched_source = source, .tag = send_tag}};
    int pattern;
    if (recv_tag != SIM_ANY && recv_tag != send_tag) return 0;
    if (head_if(m, pool, *find(m, pool, key_of(&send, 0), 0), 0) || wild_for(m, pool, &send, 0, &pattern)) return 0;
    return match_probe(m, pool, context, target, source, recv_tag) == 0;
}

/* The oldest arrival of its key is the head of its key's queue. */
static void take_send(matching *m, slot_pool *pool, int *at)
{
    int id = m->queue[*at].head;
    queue_take_head(m, pool, at);
    if (is_of_program(&pool->at[id])) arrival_remove(m, pool, id);
}

void match_take_send(matching *m, slot_pool *pool, int id)
{
    take_send(m, pool, find(m, pool, key_of(&pool->at[id], 0), 0));
}

int match_withdraw(matching *m, slot_pool *pool, int id)
{
    slot *x = &pool->at[id];
    if (!x->is_queued) return 0;
    int pattern = x->is.is_send ? 0 : pattern_of(x->is.peer, x->is.tag);
    queue_withdraw(m, pool, find(m, pool, key_of(x, pattern), pattern), id);
    if (pattern) m->arrivals[x->target].n_wild[pattern]--;
    if (x->is.is_send && is_of_program(x)) arrival_remove(m, pool, id);
    return 1;
}

int match_recv(matching *m, slot_pool *pool, int id)
{
    slot *recv = &pool->at[id];
    const int pattern = pattern_of(recv->is.peer, recv->is.tag);
    recv->posted = m->posted++;
    if (pattern) {
        int send = match_probe(m, pool, recv->context, recv->target, recv->is.peer, recv->is.tag);
        if (send > 0) match_take_send(m, pool, send);
        if (send) return send;
        m->arrivals[recv->target].n_wild[pattern]++;
        return queue_append(m, pool, *find(m, pool, key_of(recv, pattern), pattern), id, pattern);
    }
    int *at = find(m, pool, key_of(recv, 0), 0), send = head_if(m, pool, *at, 1);
    if (!send) return queue_append(m, pool, *at, id, 0);
    take_send(m, pool, at);
    return send;
}

#ifdef SMPY_CHECK
#include <assert.h>

void match_check(const matching *m, const slot_pool *pool)
{
    int n_used = 0;
    for (int b = 0; b < m->n_buckets; b++) {
        for (int q = m->bucket[b]; q; q = m->queue[q].next) {
            const slot *head = &pool->at[m->queue[q].head], *tail = &pool->at[m->queue[q].tail];
            assert((m->queue[q].hash & (uint32_t)(m->n_buckets - 1)) == (uint32_t)b);
            assert(head->is_queued && tail->is_queued && head->is.is_send == tail->is.is_send);
            assert(head->target == tail->target && head->context == tail->context);
            n_used++;
        }
    }
    assert(n_used == m->used);
}
#endif
