#define _GNU_SOURCE /* mremap, madvise */
#include "array_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array_handler.h"
#include "guard.h"

enum {
    CHUNK_BYTES = 1 << 20,
    LARGE_BYTES = 1 << 18,
    CLASSES = 7,                    /* powers of two of pages below LARGE_BYTES, for pages of 4 kB */
    SMALL_CHUNKS_MAX = 256,         /* further small arrays get numpy's memory */
    SPARES = 8,
    SPARE_BYTES_MAX = 1 << 25,      /* as the largest block that malloc keeps */
    WORTH_HUGE_BYTES = 1 << 22      /* arrays for which numpy asks for huge pages */
};

typedef struct {
    char *begin;
    size_t bytes, block_bytes;
    size_t n_begun;                 /* blocks from here on are zeros that nobody has had */
    size_t array_bytes[];           /* by block: of its array */
} chunk;

typedef struct array_memory {
    array_handler own;
    const array_handler *numpys;
    int is_on;
    size_t page_bytes;
    chunk **at;                     /* in the order of their addresses */
    int n, room, n_small;
    chunk *begun[CLASSES];          /* has blocks that nobody has had, or NULL */
    void *freed[CLASSES];           /* a block, which begins with the next one's address; or NULL */
    chunk *spare[SPARES];           /* mappings without an array */
    int oldest_spare;
} array_memory;

/* ---- chunks ---- */

/* Number of chunks that begin at an address or before. */
static int n_before(const array_memory *m, const char *address)
{
    int low = 0, high = m->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (m->at[middle]->begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static chunk *chunk_of(const array_memory *m, const char *address)
{
    const int i = n_before(m, address) - 1;
    return i >= 0 && address < m->at[i]->begin + m->at[i]->bytes ? m->at[i] : NULL;
}

static void put_in_order(array_memory *m, chunk *c)
{
    const int i = n_before(m, c->begin);
    memmove(m->at + i + 1, m->at + i, (size_t)(m->n++ - i) * sizeof(chunk *));
    m->at[i] = c;
}

static void take_out(array_memory *m, const chunk *c)
{
    const int i = n_before(m, c->begin);
    memmove(m->at + i - 1, m->at + i, (size_t)(m->n-- - i) * sizeof(chunk *));
}

static chunk *chunk_new(array_memory *m, size_t bytes, size_t block_bytes)
{
    if (m->n == m->room) {
        const int room = m->room ? 2 * m->room : 64;
        chunk **grown = realloc(m->at, (size_t)room * sizeof *grown);
        if (!grown) return NULL;
        m->at = grown;
        m->room = room;
    }
    chunk *c = calloc(1, sizeof *c + bytes / block_bytes * sizeof(size_t));
    if (!c) return NULL;
    *c = (chunk){.bytes = bytes, .block_bytes = block_bytes};
    c->begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->begin == MAP_FAILED) {
        free(c);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (block_bytes >= WORTH_HUGE_BYTES) madvise(c->begin, bytes, MADV_HUGEPAGE);
#endif
    put_in_order(m, c);
    return c;
}

/* ---- blocks ---- */

static int is_large(size_t bytes)
{
    return bytes > LARGE_BYTES;
}

static size_t rounded(const array_memory *m, size_t bytes)
{
    return (bytes + m->page_bytes - 1) & ~(m->page_bytes - 1);
}

static size_t *array_bytes_of(const chunk *c, const char *block)
{
    return (size_t *)&c->array_bytes[(size_t)(block - c->begin) / c->block_bytes];
}

static char *large_block(array_memory *m, size_t bytes, int is_zeroed)
{
    for (int i = 0; i < SPARES; i++) {
        chunk *c = m->spare[i];
        if (!c || c->bytes != bytes) continue;
        m->spare[i] = NULL;
        if (is_zeroed) madvise(c->begin, bytes, MADV_DONTNEED);
        return c->begin;
    }
    const chunk *c = chunk_new(m, bytes, bytes);
    return c ? c->begin : NULL;
}

static int class_of(const array_memory *m, size_t bytes)
{
    int class = 0;
    while (m->page_bytes << class < bytes) class++;
    return class;
}

static char *small_block(array_memory *m, size_t bytes, int is_zeroed)
{
    const int class = class_of(m, bytes);
    char *block = m->freed[class];
    if (block) {
        memcpy(&m->freed[class], block, sizeof(void *));
        if (is_zeroed) memset(block, 0, bytes);
        return block;
    }
    chunk *c = m->begun[class];
    if (!c) {
        if (m->n_small == SMALL_CHUNKS_MAX || !(c = chunk_new(m, CHUNK_BYTES, m->page_bytes << class))) return NULL;
        m->begun[class] = c;
        m->n_small++;
    }
    block = c->begin + c->n_begun++ * c->block_bytes;
    if (c->n_begun == c->bytes / c->block_bytes) m->begun[class] = NULL;
    return block;
}

/* NULL: there is none. */
static char *block_new(array_memory *m, size_t bytes, int is_zeroed)
{
    if (!m->is_on || bytes > SIZE_MAX / 2) return NULL;
    char *block = is_large(bytes) ? large_block(m, rounded(m, bytes), is_zeroed) : small_block(m, bytes ? bytes : 1, is_zeroed);
    if (block) *array_bytes_of(chunk_of(m, block), block) = bytes;
    return block;
}

static void block_free(array_memory *m, chunk *c, char *block)
{
    guard_forget(block, block + c->block_bytes);
    if (!is_large(c->block_bytes)) {
        const int class = class_of(m, c->block_bytes);
        memcpy(block, &m->freed[class], sizeof(void *));
        m->freed[class] = block;
        return;
    }
    chunk *over = c;
    if (c->bytes <= SPARE_BYTES_MAX) {
        over = m->spare[m->oldest_spare];
        m->spare[m->oldest_spare] = c;
        m->oldest_spare = (m->oldest_spare + 1) % SPARES;
    }
    if (!over) return;
    take_out(m, over);
    munmap(over->begin, over->bytes);
    free(over);
}

/* A large block stays one: its pages move. NULL: there is no memory. */
static char *large_resize(array_memory *m, chunk *c, size_t bytes)
{
    const size_t new_bytes = rounded(m, bytes);
    void *moved = mremap(c->begin, c->bytes, new_bytes, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return NULL;
    take_out(m, c);
    c->begin = moved;
    c->bytes = c->block_bytes = new_bytes;
    c->array_bytes[0] = bytes;
    put_in_order(m, c);
    return moved;
}

/* ---- for numpy ---- */

static void *array_malloc(void *context, size_t bytes)
{
    array_memory *m = context;
    char *block = block_new(m, bytes, 0);
    return block ? block : m->numpys->allocator.malloc(m->numpys->allocator.context, bytes);
}

static void *array_calloc(void *context, size_t n, size_t bytes)
{
    array_memory *m = context;
    size_t all;
    char *block = __builtin_mul_overflow(n, bytes, &all) ? NULL : block_new(m, all, 1);
    return block ? block : m->numpys->allocator.calloc(m->numpys->allocator.context, n, bytes);
}

static void array_free(void *context, void *data, size_t bytes)
{
    array_memory *m = context;
    chunk *c = data ? chunk_of(m, data) : NULL;
    if (c)
        block_free(m, c, data);
    else
        m->numpys->allocator.free(m->numpys->allocator.context, data, bytes);
}

static void *array_realloc(void *context, void *data, size_t bytes)
{
    array_memory *m = context;
    chunk *c = data ? chunk_of(m, data) : NULL;
    if (!c) return m->numpys->allocator.realloc(m->numpys->allocator.context, data, bytes);
    guard_forget(data, (char *)data + c->block_bytes);
    size_t *array_bytes = array_bytes_of(c, data);
    if (is_large(bytes) && is_large(c->block_bytes)) return large_resize(m, c, bytes);
    if (!is_large(c->block_bytes) && bytes <= c->block_bytes) {
        *array_bytes = bytes;
        return data;
    }
    const size_t kept = *array_bytes < bytes ? *array_bytes : bytes;
    void *moved = array_malloc(context, bytes);
    if (!moved) return NULL;
    memcpy(moved, data, kept);
    block_free(m, c, data);
    return moved;
}

page_range array_memory_pages(const char *data, int64_t bytes)
{
    const array_memory *m = surface.arrays;
    const chunk *c = m && bytes > 0 ? chunk_of(m, data) : NULL;
    if (!c) return (page_range){NULL, NULL, 0};
    const uintptr_t last = (uintptr_t)m->page_bytes - 1, from = (uintptr_t)data, to = from + (uintptr_t)bytes;
    const char *block = c->begin + (size_t)(data - c->begin) / c->block_bytes * c->block_bytes;
    const int ends_with_array = data + bytes == block + *array_bytes_of(c, block);
    const uintptr_t begin = (from + last) & ~last, end = ends_with_array ? (to + last) & ~last : to & ~last;
    if (begin >= end) return (page_range){NULL, NULL, 0};
    return (page_range){(char *)begin, (char *)end, begin == from && end >= to};
}

void array_memory_stop(void)
{
    if (surface.arrays) surface.arrays->is_on = 0;
}

void array_memory_resume(void)
{
    if (surface.arrays) surface.arrays->is_on = 1;
}

PyObject *array_memory_start(PyObject *module, PyObject *api)
{
    (void)module;
    const array_handler *numpys = array_handler_present(api);
    if (!numpys && PyErr_Occurred()) return NULL;
    if (!surface.arrays && numpys) {
        array_memory *m = calloc(1, sizeof *m);
        if (!m) return PyErr_NoMemory();
        m->own = (array_handler){"smpy_own_pages", 1, {m, array_malloc, array_calloc, array_realloc, array_free}};
        m->numpys = numpys;
        m->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
        if (array_handler_replace(api, &m->own) < 0) {
            free(m);
            return NULL;
        }
        surface.arrays = m;
    }
    if (surface.checks) array_memory_resume();
    Py_RETURN_NONE;
}
