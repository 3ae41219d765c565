/* Matching: random programs against a matcher that searches one list from its beginning, and the steps that a search takes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/match.h"

enum { TARGETS = 3, SLOTS = 4000 };

static unsigned long long state;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)below);
}

/* A slot pool of which the test knows who is queued, in order of posting. */
typedef struct {
    matching m;
    slot_pool pool;
    int queued[SLOTS], n_queued;
    int spare[SLOTS], n_spare;
} bench;

static void bench_init(bench *b)
{
    *b = (bench){.pool = {.at = calloc(SLOTS + 1, sizeof(slot)), .n = SLOTS, .room = SLOTS + 1}};
    assert(b->pool.at && match_init(&b->m, TARGETS) == 0);
    for (int i = 0; i < SLOTS; i++) b->spare[b->n_spare++] = SLOTS - i;
}

static void bench_free(bench *b)
{
    match_free(&b->m);
    free(b->pool.at);
}

static int new_slot(bench *b, int is_send, int context, int target, int source, int tag)
{
    assert(b->n_spare > 0);
    int id = b->spare[--b->n_spare];
    slot *x = &b->pool.at[id];
    *x = (slot){.context = context, .target = target};
    x->is.is_send = (uint8_t)is_send;
    x->is.tag = tag;
    *(is_send ? &x->is.matched_source : &x->is.peer) = source;
    return id;
}

static void forget(bench *b, int id)
{
    int i = 0;
    while (b->queued[i] != id) i++;
    memmove(b->queued + i, b->queued + i + 1, (size_t)(--b->n_queued - i) * sizeof *b->queued);
    memset(&b->pool.at[id], 0xA5, sizeof(slot)); /* nobody looks at it any more */
    b->spare[b->n_spare++] = id;
}

static int is_match(const slot *send, int context, int target, int source, int tag)
{
    return send->context == context && send->target == target && (source == SIM_ANY || source == send->is.matched_source) &&
           (tag == SIM_ANY || tag == send->is.tag);
}

static int first_send(const bench *b, int context, int target, int source, int tag)
{
    for (int i = 0; i < b->n_queued; i++) {
        const slot *x = &b->pool.at[b->queued[i]];
        if (x->is.is_send && is_match(x, context, target, source, tag)) return b->queued[i];
    }
    return 0;
}

static int first_recv(const bench *b, const slot *send)
{
    for (int i = 0; i < b->n_queued; i++) {
        const slot *x = &b->pool.at[b->queued[i]];
        if (!x->is.is_send && is_match(send, x->context, x->target, x->is.peer, x->is.tag)) return b->queued[i];
    }
    return 0;
}

static void post(bench *b, int id, int expected)
{
    int is_send = b->pool.at[id].is.is_send;
    int other = is_send ? match_send(&b->m, &b->pool, id) : match_recv(&b->m, &b->pool, id);
    assert(other == expected);
    assert(b->pool.at[id].is_queued == !other);
    b->queued[b->n_queued++] = id;
    if (!other) return;
    assert(!b->pool.at[other].is_queued && !match_withdraw(&b->m, &b->pool, other));
    forget(b, other);
    forget(b, id);
}

/* A phase has a bias to sends or receives, so that thousands of either pile up. */
static void random_programs(int sources, int tags)
{
    bench b;
    bench_init(&b);
    for (int n = 0; n < 60000; n++) {
        int bias = n / 6000 % 3; /* equal numbers, more sends, more receives */
        int context = draw(4) ? 2 * draw(2) : 1, target = draw(4) ? 0 : draw(TARGETS), source = draw(sources), tag = draw(tags);
        int is_wild = !(context & 1) && draw(3) == 0, what = draw(20);
        int from = is_wild && draw(2) ? SIM_ANY : source, with = is_wild && draw(2) ? SIM_ANY : tag;
        if (what < 8) {
            int found = match_probe(&b.m, &b.pool, context, target, from, with);
            assert(found == first_send(&b, context, target, from, with));
            if (!found || what > (bias == 1 ? 0 : 3)) continue;
            match_take_send(&b.m, &b.pool, found);
            assert(!b.pool.at[found].is_queued);
            forget(&b, found);
        } else if (what == 8 && b.n_queued) {
            int id = b.queued[draw(b.n_queued)];
            assert(match_withdraw(&b.m, &b.pool, id) == 1 && match_withdraw(&b.m, &b.pool, id) == 0);
            forget(&b, id);
        } else if (b.n_queued > SLOTS - 8) {
            while (b.n_queued > SLOTS / 8) {
                int id = b.queued[draw(2) ? 0 : b.n_queued - 1];
                assert(match_withdraw(&b.m, &b.pool, id) == 1);
                forget(&b, id);
            }
        } else if (bias == 1 ? what < 18 : bias == 2 ? what < 11 : what < 14) {
            int id = new_slot(&b, 1, context, target, source, tag);
            post(&b, id, first_recv(&b, &b.pool.at[id]));
        } else {
            int id = new_slot(&b, 0, context, target, from, with);
            post(&b, id, first_send(&b, context, target, from, with));
        }
    }
    while (b.n_queued) {
        int id = b.queued[draw(b.n_queued)];
        assert(match_withdraw(&b.m, &b.pool, id) == 1);
        forget(&b, id);
    }
    for (int r = 0; r < TARGETS; r++) {
        const match_arrivals *seen = &b.m.arrivals[r];
        assert(!seen->first_send && !seen->last_send && !seen->n_indexed);
        assert(!seen->n_wild[0] && !seen->n_wild[1] && !seen->n_wild[2] && !seen->n_wild[3]);
    }
    assert(b.m.used == 0);
    bench_free(&b);
}

static int queue_up(matching *m, slot_pool *pool, int n, int is_send, int source, int tag, int context)
{
    for (int i = 0; i < n; i++) {
        int id = ++pool->n;
        slot *x = &pool->at[id];
        *x = (slot){.context = context};
        x->is.is_send = (uint8_t)is_send;
        x->is.tag = tag == SIM_ANY || !is_send ? tag : tag + i % 100;
        *(is_send ? &x->is.matched_source : &x->is.peer) = source == SIM_ANY || !is_send ? source : source + i % 1000;
        assert((is_send ? match_send(m, pool, id) : match_recv(m, pool, id)) == 0);
    }
    return pool->n;
}

/* So many messages lie unexpected; what the receiver asks for is the last of them, or none. */
static void a_search_does_not_depend_on_how_many_messages_lie_unexpected(int n)
{
    matching m;
    slot_pool pool = {.at = calloc((size_t)n + 1200, sizeof(slot))};
    assert(pool.at && match_init(&m, 1) == 0);
    queue_up(&m, &pool, n / 2, 1, 10, 100, 0);
    queue_up(&m, &pool, n - n / 2, 1, 10, 3, 2);
    int last = queue_up(&m, &pool, 1, 1, 2000, 7, 0);
    static const struct {
        int context, source, tag, is_there;
    } asked[] = {{0, SIM_ANY, 7, 1}, {0, 2000, SIM_ANY, 1}, {0, 2000, 7, 1}, {0, SIM_ANY, 3, 0}, {2, 2000, SIM_ANY, 0},
                 {4, SIM_ANY, SIM_ANY, 0}};
    match_probe(&m, &pool, 0, 0, SIM_ANY, 7); /* makes the index */
    assert(m.arrivals[0].n_indexed == n + 1);
    const int64_t before = m.steps;
    for (int i = 0; i < 6000; i++) {
        int k = i % 6;
        assert(match_probe(&m, &pool, asked[k].context, 0, asked[k].source, asked[k].tag) == (asked[k].is_there ? last : 0));
    }
    assert(m.steps - before < 6000 * 8);
    for (int i = 0; i < 1000; i++) { /* and receives that come between the arrivals */
        int id = queue_up(&m, &pool, 1, 1, 3000, 8, 0);
        pool.at[0] = (slot){.context = 0};
        pool.at[0].is.peer = SIM_ANY;
        pool.at[0].is.tag = 8;
        assert(match_recv(&m, &pool, 0) == id);
        pool.n--;
    }
    assert(m.steps - before < 7000 * 16);
    match_free(&m);
    free(pool.at);
}

static void an_arrival_does_not_depend_on_how_many_receives_are_posted(int n)
{
    matching m;
    slot_pool pool = {.at = calloc((size_t)n + 1200, sizeof(slot))};
    assert(pool.at && match_init(&m, 1) == 0);
    queue_up(&m, &pool, n / 4, 0, SIM_ANY, 5, 0);
    queue_up(&m, &pool, n / 4, 0, 3, SIM_ANY, 0);
    queue_up(&m, &pool, n / 4, 0, SIM_ANY, SIM_ANY, 2);
    queue_up(&m, &pool, n / 4, 0, 9, 9, 0);
    int first = queue_up(&m, &pool, 1, 0, SIM_ANY, 7, 0);
    queue_up(&m, &pool, 1000, 0, SIM_ANY, 7, 0);
    const int64_t before = m.steps;
    for (int i = 0; i < 1000; i++) {
        pool.at[0] = (slot){.context = 0};
        pool.at[0].is.is_send = 1;
        pool.at[0].is.matched_source = 1;
        pool.at[0].is.tag = 7;
        assert(match_send(&m, &pool, 0) == first + i);
    }
    for (int id = pool.n - 1001; id > 0; id--) assert(match_withdraw(&m, &pool, id) == 1);
    assert(m.steps - before < 1000 * 16 + n * 4);
    match_free(&m);
    free(pool.at);
}

int main(void)
{
    state = 5;
    random_programs(3, 3);
    random_programs(2, 40);
    random_programs(300, 2);
    random_programs(300, 300);
    a_search_does_not_depend_on_how_many_messages_lie_unexpected(10000);
    an_arrival_does_not_depend_on_how_many_receives_are_posted(10000);
    puts("matching: all well");
    return 0;
}
