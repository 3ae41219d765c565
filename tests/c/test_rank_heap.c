/* A rank's heap: blocks keep what is written to them, zeros are zeros, and pages come and go by glibc's rules. */
#include "../../kernels/surface/rank_heap.c"

#include <assert.h>
#include <stdio.h>

enum { N_RANKS = 3, SLOTS = 100, KIB = 1 << 10, LIMIT = 128 << 10 };

typedef struct {
    unsigned char *block;
    size_t bytes;
    unsigned char mark;
    int is_mapped;
} slot;

static unsigned long long state = 1;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void check_marks(const slot *s, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 97) assert(s->block[i] == s->mark);
    if (bytes) assert(s->block[bytes - 1] == s->mark);
}

static void mark(slot *s)
{
    s->mark = (unsigned char)(1 + draw(255));
    memset(s->block, s->mark, s->bytes);
}

static size_t drawn_bytes(void)
{
    const unsigned kind = draw(10);
    return kind == 0 ? draw(400 * KIB) : kind < 4 ? draw(100 * KIB) : 1 + draw(4 * KIB);
}

static void blocks_keep_what_is_written_to_them(void)
{
    static slot slots[N_RANKS][SLOTS];
    rank_heaps_begin();
    for (int step = 0; step < 60000; step++) {
        const int rank = (int)draw(N_RANKS);
        slot *s = &slots[rank][draw(SLOTS)];
        if (!s->block) {
            const int is_zero = (int)draw(2);
            *s = (slot){.bytes = drawn_bytes()};
            s->block = rank_heap_take(rank, s->bytes, is_zero, LIMIT, &s->is_mapped);
            assert(s->block && (size_t)s->block % ALIGNMENT == 0);
            assert(s->is_mapped || (rank_heap_has(s->block) && rank_heap_bytes(s->block) >= s->bytes));
            if (is_zero)
                for (size_t i = 0; i < s->bytes; i++) assert(!s->block[i]);
            mark(s);
        } else if (draw(4) == 0) {
            const size_t bytes = drawn_bytes(), kept = bytes < s->bytes ? bytes : s->bytes;
            if (s->is_mapped)
                s->block = rank_heap_remap(s->block, bytes);
            else if (!rank_heap_resize(s->block, bytes, LIMIT))
                continue;
            check_marks(s, kept);
            s->bytes = bytes;
            mark(s);
        } else {
            check_marks(s, s->bytes);
            if (s->is_mapped)
                rank_heap_unmap(s->block, LIMIT);
            else
                rank_heap_free(s->block, LIMIT);
            s->block = NULL;
        }
        if (step % 100 == 0)
            for (int r = 0; r < N_RANKS; r++) assert(!rank_heap_check(r));
    }
    for (int rank = 0; rank < N_RANKS; rank++) {
        for (slot *s = slots[rank]; s < slots[rank] + SLOTS; s++)
            if (s->block) s->is_mapped ? (void)rank_heap_unmap(s->block, LIMIT) : rank_heap_free(s->block, LIMIT);
        assert(!rank_heap_check(rank));
        const heap *h = begun_heap(rank);
        assert(!h->n_blocks && h->top == begin_of(begun_heap(rank)));
        assert((size_t)(h->end - h->top) < 2 * h->limit_bytes);
    }
}

static size_t end_bytes(int rank)
{
    heap *h = begun_heap(rank);
    return (size_t)(h->end - h->top);
}

static void pages_come_and_go_by_rules(void)
{
    int is_mapped;
    rank_heaps_begin();
    /* the end grows by the block and 128 KiB, and what is beyond that is returned from 128 KiB on */
    void *a = rank_heap_take(0, 100 * KIB, 0, LIMIT, &is_mapped);
    assert(!is_mapped && end_bytes(0) >= END_KEPT_BYTES && end_bytes(0) < END_KEPT_BYTES + 2 * page_bytes);
    void *b = rank_heap_take(0, 100 * KIB, 0, LIMIT, &is_mapped);
    rank_heap_free(b, LIMIT);
    assert(end_bytes(0) < END_KEPT_BYTES + 2 * page_bytes);
    /* a block from the limit on is mapped; freed, it is the limit, and twice as much stays at the end */
    void *c = rank_heap_take(0, 400 * KIB, 0, LIMIT, &is_mapped);
    assert(is_mapped && !rank_heap_has(c));
    assert(rank_heap_unmap(c, LIMIT) == 400 * KIB + page_bytes);
    assert(rank_heap_take(1, 300 * KIB, 0, LIMIT, &is_mapped) && is_mapped); /* another rank's is its own */
    c = rank_heap_take(0, 300 * KIB, 0, LIMIT, &is_mapped);
    assert(!is_mapped);
    rank_heap_free(c, LIMIT);
    assert(end_bytes(0) > 300 * KIB);
    /* free memory below a block in use is not returned, and the smallest that is large enough is taken */
    void *low = rank_heap_take(0, 50 * KIB, 0, LIMIT, &is_mapped);
    void *wall = rank_heap_take(0, 2 * KIB, 0, LIMIT, &is_mapped);
    void *high = rank_heap_take(0, 20 * KIB, 0, LIMIT, &is_mapped);
    void *end = rank_heap_take(0, 2 * KIB, 0, LIMIT, &is_mapped);
    rank_heap_free(low, LIMIT);
    rank_heap_free(high, LIMIT);
    assert(rank_heap_take(0, 10 * KIB, 0, LIMIT, &is_mapped) == high);
    assert(rank_heap_take(0, 40 * KIB, 0, LIMIT, &is_mapped) == low);
    /* no block above 32 MiB raises a limit */
    void *huge = rank_heap_take(0, (size_t)40 << 20, 0, LIMIT, &is_mapped);
    assert(is_mapped && !rank_heap_unmap(huge, LIMIT));
    /* no room is no block */
    assert(!rank_heap_take(MOST_HEAPS, 2 * KIB, 0, LIMIT, &is_mapped));
    assert(!rank_heap_take(0, (size_t)-8, 0, LIMIT, &is_mapped));
    /* what is kept holds back the memory below it, and does not keep a heap from ending */
    assert(!rank_heap_keeps(2));
    void *below = rank_heap_take(2, 100 * KIB, 0, LIMIT, &is_mapped);
    rank_heap_keep(2, 40 * KIB);
    rank_heap_free(below, LIMIT);
    assert(rank_heap_keeps(2) && end_bytes(2) < END_KEPT_BYTES + 2 * page_bytes && !rank_heap_check(2));
    assert(rank_heap_take(2, 100 * KIB, 0, LIMIT, &is_mapped) == below);
    rank_heap_free(below, LIMIT);
    rank_heaps_begin();
    assert(!rank_heap_keeps(2) && rank_heap_limit(2, 0) == LIMIT && rank_heap_keeps(0) == 0 && rank_heap_has(a));
    (void)a, (void)wall, (void)end;
    assert(!rank_heap_check(0) && !rank_heap_check(1) && !rank_heap_check(2));
}

int main(void)
{
    blocks_keep_what_is_written_to_them();
    pages_come_and_go_by_rules(); /* in heaps that begin anew */
    puts("ok");
    return 0;
}
