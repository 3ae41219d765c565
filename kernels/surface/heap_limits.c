#include "heap_limits.h"

#include "array_handler.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <stdlib.h>

enum {
    LIMIT_MIN_BYTES = 128 << 10,    /* glibc's DEFAULT_MMAP_THRESHOLD_MIN, */
    LIMIT_MAX_BYTES = 32 << 20,     /* and _MAX on 64 bits */
    IS_MAPPED = 2, SIZE_FLAGS = 7   /* of the word before a block */
};

typedef struct heap_limits {
    size_t limit_bytes;
    PyMemAllocatorEx pythons;       /* PYMEM_DOMAIN_RAW before ours; its `free` is NULL until then */
    const array_handler *numpys;
    array_handler own;
    void **block;                   /* live blocks that may be mapped: a hash table by address, NULL where free */
    size_t n, room;                 /* room: a power of two */
} heap_limits;

static heap_limits all;

/* ---- the table ---- */

static size_t home_of(const void *block)
{
    return ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u & (all.room - 1);
}

static size_t place_of(const void *block)
{
    size_t i = home_of(block);
    while (all.block[i] && all.block[i] != block) i = (i + 1) & (all.room - 1);
    return i;
}

static int grow(void)
{
    void **old = all.block;
    const size_t old_room = all.room, room = old_room ? 2 * old_room : 256;
    void **grown = calloc(room, sizeof *grown);
    if (!grown) return -1;
    all.block = grown;
    all.room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i]) all.block[place_of(old[i])] = old[i];
    free(old);
    return 0;
}

/* A block that is not known moves no limit: nothing worse happens when there is no memory for the table. */
static void know(void *block, size_t bytes)
{
    if (!block || bytes < LIMIT_MIN_BYTES - sizeof(size_t) || !PyGILState_Check()) return;
    if (2 * all.n >= all.room && grow() < 0) return;
    void **place = &all.block[place_of(block)];
    all.n += !*place;
    *place = block;
}

/* Whether a block was known. Those behind it in its run move up, so that each is found from its home. */
static int forget(void *block)
{
    if (!block || !all.n || !PyGILState_Check()) return 0;
    size_t hole = place_of(block);
    if (!all.block[hole]) return 0;
    const size_t last = all.room - 1;
    for (size_t i = (hole + 1) & last; all.block[i]; i = (i + 1) & last)
        if (((i - home_of(all.block[i])) & last) >= ((i - hole) & last)) {
            all.block[hole] = all.block[i];
            hole = i;
        }
    all.block[hole] = NULL;
    all.n--;
    return 1;
}

/* ---- the limits ---- */

static size_t word_before(const void *block)
{
    return ((const size_t *)block)[-1];
}

static void set_limit(size_t bytes)
{
    all.limit_bytes = bytes;
    mallopt(M_MMAP_THRESHOLD, (int)bytes);
    mallopt(M_TRIM_THRESHOLD, (int)(2 * bytes));
}

/* Size of a known block that glibc mapped by itself, as it counts; 0: not such a one. */
static size_t mapped_bytes(void *block)
{
    const size_t word = forget(block) ? word_before(block) : 0;
    return word & IS_MAPPED ? word & ~(size_t)SIZE_FLAGS : 0;
}

static void raise_limit(size_t freed_bytes)
{
    if (freed_bytes > all.limit_bytes && freed_bytes <= LIMIT_MAX_BYTES) set_limit(freed_bytes);
}

/* ---- for Python ---- */

static void *raw_malloc(void *context, size_t bytes)
{
    void *block = all.pythons.malloc(context, bytes);
    know(block, bytes);
    return block;
}

static void *raw_calloc(void *context, size_t n, size_t bytes)
{
    void *block = all.pythons.calloc(context, n, bytes);
    know(block, n * bytes);         /* there is a block, so this is no overflow */
    return block;
}

static void *raw_realloc(void *context, void *block, size_t bytes)
{
    const int was_known = forget(block);
    void *moved = all.pythons.realloc(context, block, bytes);
    if (moved)
        know(moved, bytes);
    else if (was_known)
        know(block, LIMIT_MIN_BYTES);
    return moved;
}

static void raw_free(void *context, void *block)
{
    const size_t bytes = mapped_bytes(block);
    all.pythons.free(context, block);
    raise_limit(bytes);
}

/* ---- for numpy ---- */

static void *array_malloc(void *context, size_t bytes)
{
    void *block = all.numpys->allocator.malloc(context, bytes);
    know(block, bytes);
    return block;
}

static void *array_calloc(void *context, size_t n, size_t bytes)
{
    void *block = all.numpys->allocator.calloc(context, n, bytes);
    know(block, n * bytes);
    return block;
}

static void *array_realloc(void *context, void *block, size_t bytes)
{
    const int was_known = forget(block);
    void *moved = all.numpys->allocator.realloc(context, block, bytes);
    if (moved)
        know(moved, bytes);
    else if (was_known)
        know(block, LIMIT_MIN_BYTES);
    return moved;
}

static void array_free(void *context, void *block, size_t bytes)
{
    const size_t freed_bytes = mapped_bytes(block);
    all.numpys->allocator.free(context, block, bytes);
    raise_limit(freed_bytes);
}

/* ---- the module's ---- */

/* Whether the word before a block of Python's is glibc's: debug marks would stand there. */
static int are_blocks_glibcs(void)
{
    const size_t bytes = LIMIT_MIN_BYTES / 2;
    void *block = PyMem_RawMalloc(bytes);
    if (!block) return 0;
    const size_t found = word_before(block) & ~(size_t)SIZE_FLAGS;
    PyMem_RawFree(block);
    return found >= bytes && found < bytes + LIMIT_MIN_BYTES;
}

PyObject *heap_limits_begin(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    if (!are_blocks_glibcs()) Py_RETURN_FALSE;
    if (!all.pythons.free) {
        PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &all.pythons);
        PyMemAllocatorEx ours = {all.pythons.ctx, raw_malloc, raw_calloc, raw_realloc, raw_free};
        PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &ours);
    }
    for (size_t i = 0; i < all.room; i++) all.block[i] = NULL;
    all.n = 0;
    set_limit(LIMIT_MIN_BYTES);
    Py_RETURN_TRUE;
}

PyObject *heap_limits_watch_arrays(PyObject *module, PyObject *api)
{
    (void)module;
    if (!all.numpys && all.limit_bytes) {
        const array_handler *numpys = array_handler_present(api);
        if (!numpys && PyErr_Occurred()) return NULL;
        if (numpys) {
            all.own = (array_handler){"smpy_heap_limits", 1,
                                      {numpys->allocator.context, array_malloc, array_calloc, array_realloc, array_free}};
            all.numpys = numpys;
            if (array_handler_replace(api, &all.own) < 0) {
                all.numpys = NULL;
                return NULL;
            }
        }
    }
    Py_RETURN_NONE;
}

PyObject *heap_limit(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyLong_FromSize_t(all.limit_bytes);
}
#else
PyObject *heap_limits_begin(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    Py_RETURN_FALSE;
}

PyObject *heap_limits_watch_arrays(PyObject *module, PyObject *api)
{
    (void)module;
    (void)api;
    Py_RETURN_NONE;
}

PyObject *heap_limit(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyLong_FromLong(0);
}
#endif
