#define _GNU_SOURCE /* mremap, MAP_FIXED_NOREPLACE */
#include "rank_heap.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGNMENT = 16,
    HEADER_BYTES = 2 * sizeof(size_t),
    CHUNK_MIN_BYTES = 32,
    IS_BEFORE_USED = 1,             /* in the word of a chunk: the one before it is in use */
    END_KEPT_BYTES = 128 << 10,     /* glibc's DEFAULT_TOP_PAD */
    RETURNING_MIN_BYTES = 64 << 10, /* FASTBIN_CONSOLIDATION_THRESHOLD: smaller free chunks do not return memory */
    BINS_PER_DOUBLING = 8,
    BINS = 28 * BINS_PER_DOUBLING,  /* up to the size of a heap */
    MOST_HEAPS = 1 << 14
};
static const size_t HEAP_BYTES = (size_t)1 << 32;
static const uintptr_t AREA = (uintptr_t)17 << 40; /* addresses of heaps: below those that Linux gives, above a sanitizer's */

typedef struct chunk {
    size_t before_bytes;            /* size of the chunk before, while that is free; else that chunk's data */
    size_t word;                    /* size, with IS_BEFORE_USED */
    struct chunk *next, *previous;  /* of those in its bin, while it is free; else data */
} chunk;

typedef struct {
    size_t limit_bytes;             /* raised by this rank's blocks; 0 if the heap is not begun */
    size_t n_blocks, n_kept;        /* in it: those that somebody will free, and those that nobody will */
    size_t n_mapped;
    char *top, *end, *clean;
    chunk *bin[BINS];               /* free chunks by size, the newest first */
    uint64_t is_filled[(BINS + 63) / 64];
} heap;

static unsigned char is_begun[MOST_HEAPS]; /* by rank; at the beginning of its addresses is then the `heap` */
static size_t page_bytes;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static heap *heap_at(int rank)
{
    return (heap *)(AREA + (uintptr_t)rank * HEAP_BYTES);
}

static heap *heap_of(const void *block)
{
    return heap_at((int)(((uintptr_t)block - AREA) / HEAP_BYTES));
}

static char *begin_of(heap *h)
{
    return (char *)h + page_bytes;
}

/* ---- chunks ---- */

static size_t size_of(const chunk *c)
{
    return c->word & ~(size_t)IS_BEFORE_USED;
}

static chunk *chunk_of(const void *block)
{
    return (chunk *)((char *)block - HEADER_BYTES);
}

static chunk *behind(const chunk *c)
{
    return (chunk *)((char *)c + size_of(c));
}

static size_t chunk_bytes(size_t bytes)
{
    const size_t rounded = (bytes + sizeof(size_t) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return larger(rounded, CHUNK_MIN_BYTES);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

/* Whether a chunk below top is free: the next one tells. */
static int is_free(const heap *h, const chunk *c)
{
    return (char *)behind(c) != h->top && !(behind(c)->word & IS_BEFORE_USED);
}

static int bin_of(size_t bytes)
{
    int doublings = 0;
    for (size_t left = bytes / CHUNK_MIN_BYTES; left > 1; left /= 2) doublings++;
    const size_t step = ((size_t)CHUNK_MIN_BYTES << doublings) / BINS_PER_DOUBLING;
    return doublings * BINS_PER_DOUBLING + (int)((bytes - ((size_t)CHUNK_MIN_BYTES << doublings)) / step);
}

static void put_free(heap *h, chunk *c)
{
    const int at = bin_of(size_of(c));
    c->previous = NULL;
    c->next = h->bin[at];
    if (c->next) c->next->previous = c;
    h->bin[at] = c;
    h->is_filled[at / 64] |= (uint64_t)1 << at % 64;
    behind(c)->before_bytes = size_of(c);
    behind(c)->word &= ~(size_t)IS_BEFORE_USED;
}

static void take_free(heap *h, chunk *c)
{
    const int at = bin_of(size_of(c));
    if (c->next) c->next->previous = c->previous;
    if (c->previous)
        c->previous->next = c->next;
    else
        h->bin[at] = c->next;
    if (!h->bin[at]) h->is_filled[at / 64] &= ~((uint64_t)1 << at % 64);
    behind(c)->word |= IS_BEFORE_USED;
}

/* The smallest free chunk of at least so many bytes, the oldest of such; NULL: there is none. */
static chunk *best_fit(const heap *h, size_t bytes)
{
    const int first = bin_of(bytes);
    for (int word = first / 64; word < (BINS + 63) / 64; word++) {
        uint64_t bins = h->is_filled[word];
        if (word == first / 64) bins &= ~(uint64_t)0 << first % 64;
        for (; bins; bins &= bins - 1) {
            chunk *best = NULL;
            for (chunk *c = h->bin[word * 64 + __builtin_ctzll(bins)]; c; c = c->next)
                if (size_of(c) >= bytes && (!best || size_of(c) <= size_of(best))) best = c;
            if (best) return best;
        }
    }
    return NULL;
}

/* Shorten a used chunk to these bytes; the rest becomes free, and one with free memory behind it. */
static void cut(heap *h, chunk *c, size_t bytes)
{
    const size_t left = size_of(c) - bytes;
    if (left < CHUNK_MIN_BYTES) return;
    chunk *rest = (chunk *)((char *)c + bytes);
    if ((char *)behind(c) == h->top) {
        h->top = (char *)rest;
        c->word -= left;
        return;
    }
    chunk *after = behind(c);
    rest->word = left | IS_BEFORE_USED;
    c->word -= left;
    if (is_free(h, after)) {
        take_free(h, after);
        rest->word += size_of(after);
    }
    put_free(h, rest);
}

/* ---- the end ---- */

/* Memory at an address; 0: there is none, or something else is there. */
static int map_at(void *address, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    void *mapped = mmap(address, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == address) return 1;
    if (mapped != MAP_FAILED) munmap(mapped, bytes); /* Linux before 4.17 */
    return 0;
}

/* Memory for so many bytes from top on; 0: there is none. */
static int extend(heap *h, size_t bytes)
{
    const size_t present = (size_t)(h->end - h->top);
    if (present >= bytes + CHUNK_MIN_BYTES) return 1;
    const size_t more = whole_pages(bytes + END_KEPT_BYTES + CHUNK_MIN_BYTES - present);
    if (more > (size_t)((char *)h + HEAP_BYTES - h->end) || !map_at(h->end, more)) return 0;
    h->end += more;
    return 1;
}

/* Return free memory at the end. */
static void trim(heap *h, size_t limit_bytes)
{
    const size_t present = (size_t)(h->end - h->top);
    const size_t from = limit_bytes > HEAP_LIMIT_MIN_BYTES ? 2 * limit_bytes : HEAP_LIMIT_MIN_BYTES;
    if (present < from || present < END_KEPT_BYTES + CHUNK_MIN_BYTES + page_bytes) return;
    const size_t returned = (present - CHUNK_MIN_BYTES - 1 - END_KEPT_BYTES) & ~(page_bytes - 1);
    if (!returned || munmap(h->end - returned, returned)) return;
    h->end -= returned;
    if (h->clean > h->end) h->clean = h->end;
}

/* ---- blocks ---- */

static void *map_block(heap *h, size_t bytes)
{
    const size_t mapped = whole_pages(chunk_bytes(bytes) + sizeof(size_t));
    chunk *c = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED) return NULL;
    c->before_bytes = (size_t)h;
    c->word = mapped;
    h->n_mapped++;
    return (char *)c + HEADER_BYTES;
}

/* A rank's heap; NULL: there is no memory for it. */
static heap *begun_heap(int rank)
{
    if (rank >= MOST_HEAPS) return NULL;
    heap *h = heap_at(rank);
    if (is_begun[rank]) return h;
    if (!map_at(h, page_bytes)) return NULL;
    is_begun[rank] = 1;
    h->limit_bytes = HEAP_LIMIT_MIN_BYTES;
    h->top = h->end = h->clean = begin_of(h);
    return h;
}

void rank_heaps_begin(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int rank = 0; rank < MOST_HEAPS; rank++) {
        heap *h = heap_at(rank);
        if (!is_begun[rank] || h->n_blocks || h->n_mapped) continue;
        munmap(h, (size_t)(h->end - (char *)h));
        is_begun[rank] = 0;
    }
}

void *rank_heap_take(int rank, size_t bytes, int is_zero, size_t limit_bytes, int *is_mapped)
{
    heap *h = begun_heap(rank);
    const size_t needed = chunk_bytes(bytes);
    if (!h || needed < bytes) return NULL;
    *is_mapped = needed >= larger(h->limit_bytes, limit_bytes);
    if (*is_mapped) return map_block(h, bytes);
    chunk *c = best_fit(h, needed);
    size_t used = bytes;            /* of these, some may not be zero */
    if (c) {
        take_free(h, c);
        cut(h, c, needed);
    } else {
        if (!extend(h, needed)) return NULL;
        c = (chunk *)h->top;
        c->word = needed | IS_BEFORE_USED;
        h->top += needed;
        const size_t before_clean = (char *)c + HEADER_BYTES < h->clean ? (size_t)(h->clean - (char *)c) - HEADER_BYTES : 0;
        if (used > before_clean) used = before_clean;
        if (h->clean < h->top + HEADER_BYTES) h->clean = h->top + HEADER_BYTES;
    }
    h->n_blocks++;
    char *block = (char *)c + HEADER_BYTES;
    if (is_zero) memset(block, 0, used);
    return block;
}

void rank_heap_keep(int rank, size_t bytes)
{
    int is_mapped;
    if (!rank_heap_take(rank, bytes, 0, HEAP_LIMIT_MAX_BYTES, &is_mapped)) return;
    heap *h = begun_heap(rank);
    h->n_blocks--;
    h->n_kept++;
}

int rank_heap_keeps(int rank)
{
    const heap *h = begun_heap(rank);
    return h && h->n_kept;
}

size_t rank_heap_limit(int rank, size_t limit_bytes)
{
    const heap *h = begun_heap(rank);
    return larger(h ? h->limit_bytes : 0, limit_bytes);
}

int rank_heap_has(const void *block)
{
    const uintptr_t beyond = (uintptr_t)block - AREA;
    return beyond < MOST_HEAPS * HEAP_BYTES && is_begun[beyond / HEAP_BYTES];
}

void rank_heap_free(void *block, size_t limit_bytes)
{
    heap *h = heap_of(block);
    chunk *c = chunk_of(block);
    h->n_blocks--;
    if (!(c->word & IS_BEFORE_USED)) {
        chunk *before = (chunk *)((char *)c - c->before_bytes);
        take_free(h, before);
        before->word += size_of(c);
        c = before;
    }
    chunk *after = behind(c);
    if ((char *)after == h->top) {
        h->top = (char *)c;
    } else {
        if (is_free(h, after)) {
            take_free(h, after);
            c->word += size_of(after);
        }
        put_free(h, c);
    }
    const size_t whole = h->top == (char *)c ? (size_t)(h->end - h->top) : size_of(c);
    if (whole >= RETURNING_MIN_BYTES) trim(h, larger(h->limit_bytes, limit_bytes));
}

int rank_heap_resize(void *block, size_t bytes, size_t limit_bytes)
{
    heap *h = heap_of(block);
    chunk *c = chunk_of(block);
    const size_t needed = chunk_bytes(bytes);
    if (needed < bytes) return 0;
    chunk *after = behind(c);
    if (needed > size_of(c)) {
        const size_t more = needed - size_of(c);
        if ((char *)after == h->top) {
            if (needed >= larger(h->limit_bytes, limit_bytes) || !extend(h, more)) return 0;
            h->top += more;
            c->word += more;
            if (h->clean < h->top + HEADER_BYTES) h->clean = h->top + HEADER_BYTES;
            return 1;
        }
        if (!is_free(h, after) || size_of(after) < more) return 0;
        take_free(h, after);
        c->word += size_of(after);
    }
    cut(h, c, needed);
    return 1;
}

size_t rank_heap_bytes(const void *block)
{
    return size_of(chunk_of(block)) - sizeof(size_t);
}

size_t rank_heap_unmap(void *block, size_t limit_bytes)
{
    chunk *c = chunk_of(block);
    heap *h = (heap *)c->before_bytes;
    const size_t bytes = c->word;
    munmap(c, bytes);
    h->n_mapped--;
    if (bytes <= larger(h->limit_bytes, limit_bytes) || bytes > HEAP_LIMIT_MAX_BYTES) return 0;
    return h->limit_bytes = bytes;
}

void *rank_heap_remap(void *block, size_t bytes)
{
    chunk *c = chunk_of(block);
    const size_t mapped = whole_pages(chunk_bytes(bytes) + sizeof(size_t));
    if (mapped < bytes) return NULL;
    c = mremap(c, c->word, mapped, MREMAP_MAYMOVE);
    if (c == MAP_FAILED) return NULL;
    c->word = mapped;
    return (char *)c + HEADER_BYTES;
}

int rank_heap_check(int rank)
{
    if (!is_begun[rank]) return 0;
    const heap *h = heap_at(rank);
    size_t n_free = 0, n_used = 0, n_in_bins = 0;
    int was_free = 0;
    for (const chunk *c = (const chunk *)((const char *)h + page_bytes); (const char *)c != h->top; c = behind(c)) {
        if ((const char *)c > h->top || was_free == (int)(c->word & IS_BEFORE_USED)) return 1;
        const int is_now_free = is_free(h, c);
        if (is_now_free && (was_free || behind(c)->before_bytes != size_of(c))) return 1;
        n_free += (size_t)is_now_free;
        n_used += (size_t)!is_now_free;
        was_free = is_now_free;
    }
    for (int i = 0; i < BINS; i++) {
        if ((h->bin[i] != NULL) != (h->is_filled[i / 64] >> i % 64 & 1)) return 1;
        for (const chunk *c = h->bin[i]; c; c = c->next, n_in_bins++)
            if (bin_of(size_of(c)) != i || !is_free(h, c) || (c->next && c->next->previous != c)) return 1;
    }
    if (was_free || n_free != n_in_bins || n_used != h->n_blocks + h->n_kept) return 1;
    if (h->clean > h->end || h->top > h->end) return 2;
    for (const char *at = h->clean; at < h->end; at++)
        if (*at) return 2;
    return 0;
}
