#define _GNU_SOURCE /* madvise, dl_iterate_phdr */
#include "rank_memory.h"

#include "array_handler.h"
#include "clock.h"

#ifdef __GLIBC__
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rank_heap.h"

enum {
    IS_GLIBC_MAPPED = 2, SIZE_FLAGS = 7, /* of the word before a block of glibc's */
    REUSED_MIN_BYTES = 1 << 18,     /* data of arrays that numpy reuses: its NPY_MIN_ELIDE_BYTES */
    WORTH_HUGE_BYTES = 1 << 22,     /* data for which numpy asks for huge pages */
    PAGE_MIN_BYTES = 4096
};

/* The allocator that was asked before ours: Python's, or numpy's. */
typedef struct {
    void *context;
    void *(*malloc)(void *context, size_t bytes);
    void *(*calloc)(void *context, size_t n, size_t bytes);
    void *(*realloc)(void *context, void *block, size_t bytes);
    void (*python_free)(void *context, void *block);
    void (*array_free)(void *context, void *block, size_t bytes);
} allocator;

static struct {
    size_t limit_bytes;             /* raised by blocks that lie in no rank's heap; 0: nothing has begun */
    size_t glibc_bytes;             /* glibc's own limit: the largest of all */
    allocator pythons, numpys;      /* their `free` is NULL until ours is asked before them */
    array_handler own;
    int has_huge_pages;
    PyObject *becomes_operand;      /* owned: whether the array that is being made becomes an operand */
    size_t thread_data_bytes;       /* of numpy */
    void **block;                   /* live blocks that may be mapped: a hash table by address, NULL where free */
    size_t n, room;                 /* room: a power of two */
    pthread_mutex_t mutex;          /* of all of this and of the heaps: blocks may be freed without Python's lock */
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
    pthread_mutex_lock(&all.mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&all.mutex);
}

/* ---- the table ---- */

enum { IS_RANKS = 1 };              /* in the address of a block that a rank's heap has mapped */

static void *address_of(const void *entry)
{
    return (void *)((uintptr_t)entry & ~(uintptr_t)IS_RANKS);
}

static size_t home_of(const void *entry)
{
    return ((uintptr_t)entry >> 4) * 0x9E3779B97F4A7C15u & (all.room - 1);
}

static size_t place_of(const void *block)
{
    size_t i = home_of(block);
    while (all.block[i] && address_of(all.block[i]) != block) i = (i + 1) & (all.room - 1);
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
        if (old[i]) all.block[place_of(address_of(old[i]))] = old[i];
    free(old);
    return 0;
}

static int know(void *block, int tag)
{
    if (2 * all.n >= all.room && grow() < 0) return -1;
    void **place = &all.block[place_of(block)];
    all.n += !*place;
    *place = (char *)block + tag;
    return 0;
}

enum { UNKNOWN, GLIBCS, RANKS };

/* Take a mapped block out of the table, and tell its owner. Entries behind it move up: each is found from its home. */
static int forget(void *block)
{
    if (!all.n) return UNKNOWN;
    size_t hole = place_of(block);
    if (!all.block[hole]) return UNKNOWN;
    const int owner = (uintptr_t)all.block[hole] & IS_RANKS ? RANKS : GLIBCS;
    const size_t last = all.room - 1;
    for (size_t i = (hole + 1) & last; all.block[i]; i = (i + 1) & last)
        if (((i - home_of(all.block[i])) & last) >= ((i - hole) & last)) {
            all.block[hole] = all.block[i];
            hole = i;
        }
    all.block[hole] = NULL;
    all.n--;
    return owner;
}

/* ---- the limits ---- */

static size_t word_before(const void *block)
{
    return ((const size_t *)block)[-1];
}

static void raise_glibcs_limit(size_t bytes)
{
    if (bytes <= all.glibc_bytes) return;
    all.glibc_bytes = bytes;
    mallopt(M_MMAP_THRESHOLD, (int)bytes);
    mallopt(M_TRIM_THRESHOLD, (int)(2 * bytes));
}

/* ---- blocks of ranks ---- */

/* A block of the running rank's heap, while its computing is measured; NULL: glibc is to be asked. */
static void *take(size_t bytes, int is_zero)
{
    if (bytes < RANK_HEAP_BLOCK_MIN_BYTES || !all.limit_bytes || !PyGILState_Check()) return NULL;
    if (!surface.clock.is_running || !surface_is_here()) return NULL;
    int is_mapped = 0;
    lock();
    void *block = rank_heap_take(surface.rank, bytes, is_zero, all.limit_bytes, &is_mapped);
    if (block && is_mapped && know(block, IS_RANKS) < 0) {
        rank_heap_unmap(block, all.limit_bytes);
        block = NULL;
    }
    unlock();
    return block;
}

static int becomes_operand(void)
{
    const double computed_s = clock_pause();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *answer = PyObject_CallNoArgs(all.becomes_operand);
    const int is_operand = answer ? PyObject_IsTrue(answer) : 0;
    if (!answer) PyErr_WriteUnraisable(all.becomes_operand);
    Py_XDECREF(answer);
    PyErr_Restore(type, value, trace);
    clock_resume(computed_s);
    return is_operand;
}

/* Let numpy's thread-local data follow the rank's first array that may be reused. */
static void keep_thread_data(size_t bytes)
{
    if (bytes < REUSED_MIN_BYTES || !all.thread_data_bytes || rank_heap_keeps(surface.rank) || !becomes_operand()) return;
    lock();
    rank_heap_keep(surface.rank, all.thread_data_bytes);
    unlock();
}

static void *take_for(const allocator *theirs, size_t bytes, int is_zero)
{
    char *block = take(bytes, is_zero);
    if (!block || theirs != &all.numpys) return block;
    if (bytes >= WORTH_HUGE_BYTES && all.has_huge_pages) {
        char *page = (char *)(((uintptr_t)block | (PAGE_MIN_BYTES - 1)) + 1);
        madvise(page, bytes - (size_t)(page - block), MADV_HUGEPAGE);
    }
    keep_thread_data(bytes);
    return block;
}

/* Free a block of a rank; 0: it is none, and `*glibcs_bytes` have been mapped for it by glibc. */
static int is_freed(void *block, size_t *glibcs_bytes)
{
    *glibcs_bytes = 0;
    if (!block) return 0;
    lock();
    const int is_in_heap = rank_heap_has(block), owner = is_in_heap ? RANKS : forget(block);
    if (is_in_heap)
        rank_heap_free(block, all.limit_bytes);
    else if (owner == RANKS)
        raise_glibcs_limit(rank_heap_unmap(block, all.limit_bytes));
    unlock();
    const size_t word = owner == GLIBCS ? word_before(block) : 0;
    if (word & IS_GLIBC_MAPPED) *glibcs_bytes = word & ~(size_t)SIZE_FLAGS;
    return owner == RANKS;
}

/* ---- allocators ---- */

/* Remember a block that glibc may have mapped. If there is no memory for that, it raises no limit. */
static void *noted(void *block, size_t bytes)
{
    if (!block || bytes < HEAP_LIMIT_MIN_BYTES - sizeof(size_t)) return block;
    lock();
    know(block, 0);
    unlock();
    return block;
}

static void glibcs_block_was_freed(size_t bytes)
{
    lock();
    if (bytes > all.limit_bytes && bytes <= HEAP_LIMIT_MAX_BYTES) raise_glibcs_limit(all.limit_bytes = bytes);
    unlock();
}

static void *our_malloc(void *context, size_t bytes)
{
    const allocator *theirs = context;
    void *block = take_for(theirs, bytes, 0);
    return block ? block : noted(theirs->malloc(theirs->context, bytes), bytes);
}

static void *our_calloc(void *context, size_t n, size_t bytes)
{
    const allocator *theirs = context;
    const int is_too_large = bytes && n > SIZE_MAX / bytes;
    void *block = is_too_large ? NULL : take_for(theirs, n * bytes, 1);
    return block ? block : noted(theirs->calloc(theirs->context, n, bytes), n * bytes);
}

static void python_free(void *context, void *block)
{
    const allocator *theirs = context;
    size_t glibcs_bytes;
    if (is_freed(block, &glibcs_bytes)) return;
    theirs->python_free(theirs->context, block);
    glibcs_block_was_freed(glibcs_bytes);
}

static void array_free(void *context, void *block, size_t bytes)
{
    const allocator *theirs = context;
    size_t glibcs_bytes;
    if (is_freed(block, &glibcs_bytes)) return;
    theirs->array_free(theirs->context, block, bytes);
    glibcs_block_was_freed(glibcs_bytes);
}

static void *move(void *context, void *block, size_t bytes)
{
    void *moved = our_malloc(context, bytes);
    if (!moved) return NULL;
    const size_t before = rank_heap_bytes(block);
    memcpy(moved, block, before < bytes ? before : bytes);
    size_t glibcs_bytes;
    is_freed(block, &glibcs_bytes);
    return moved;
}

static void *our_realloc(void *context, void *block, size_t bytes)
{
    const allocator *theirs = context;
    if (!block) return our_malloc(context, bytes);
    lock();
    const int is_in_heap = rank_heap_has(block), owner = is_in_heap ? RANKS : forget(block);
    void *resized = NULL;
    if (is_in_heap) {
        resized = rank_heap_resize(block, bytes, all.limit_bytes) ? block : NULL;
    } else if (owner == RANKS) {
        resized = rank_heap_remap(block, bytes);
        know(resized ? resized : block, IS_RANKS);
    }
    unlock();
    if (owner == RANKS) return resized || !is_in_heap ? resized : move(context, block, bytes);
    resized = theirs->realloc(theirs->context, block, bytes);
    if (!resized && owner == GLIBCS) noted(block, HEAP_LIMIT_MIN_BYTES);
    return noted(resized, bytes);
}

/* ---- the module's ---- */

/* Whether the word before a block of Python's is glibc's: debug marks would stand there. */
static int are_blocks_glibcs(void)
{
    const size_t bytes = HEAP_LIMIT_MIN_BYTES / 2;
    void *block = PyMem_RawMalloc(bytes);
    if (!block) return 0;
    const size_t found = word_before(block) & ~(size_t)SIZE_FLAGS;
    PyMem_RawFree(block);
    return found >= bytes && found < bytes + HEAP_LIMIT_MIN_BYTES;
}

PyObject *rank_memory_begin(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    if (!are_blocks_glibcs()) Py_RETURN_FALSE;
    if (!all.pythons.python_free) {
        PyMemAllocatorEx present;
        PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &present);
        all.pythons = (allocator){present.ctx, present.malloc, present.calloc, present.realloc, present.free, NULL};
        PyMemAllocatorEx ours = {&all.pythons, our_malloc, our_calloc, our_realloc, python_free};
        PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &ours);
        pthread_atfork(lock, unlock, unlock);
    }
    lock();
    rank_heaps_begin();
    all.limit_bytes = HEAP_LIMIT_MIN_BYTES;
    all.glibc_bytes = 0;
    raise_glibcs_limit(HEAP_LIMIT_MIN_BYTES);
    unlock();
    Py_RETURN_TRUE;
}

/* Size of the block that glibc takes for the thread-local data of the library that an address lies in. */
static int find_thread_data(struct dl_phdr_info *library, size_t bytes, void *address)
{
    (void)bytes;
    size_t thread_data_bytes = 0;
    int is_there = 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        const uintptr_t begin = library->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_TLS) thread_data_bytes = part->p_memsz + (part->p_align > sizeof(max_align_t) ? part->p_align : 0);
        if (part->p_type == PT_LOAD) is_there |= (uintptr_t)address - begin < part->p_memsz;
    }
    if (is_there) all.thread_data_bytes = thread_data_bytes;
    return is_there;
}

PyObject *rank_memory_place_arrays(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *api, *operand;
    int has_huge_pages;
    if (!PyArg_ParseTuple(arguments, "OpO:place_arrays", &api, &has_huge_pages, &operand)) return NULL;
    if (all.numpys.array_free || !all.limit_bytes) Py_RETURN_NONE;
    const array_handler *present = array_handler_present(api);
    if (!present && PyErr_Occurred()) return NULL;
    if (!present || strcmp(present->name, "default_allocator")) Py_RETURN_NONE;
    all.numpys = (allocator){present->allocator.context, present->allocator.malloc, present->allocator.calloc,
                             present->allocator.realloc, NULL, present->allocator.free};
    all.own = (array_handler){"smpy_rank_memory", 1, {&all.numpys, our_malloc, our_calloc, our_realloc, array_free}};
    if (array_handler_replace(api, &all.own) < 0) {
        all.numpys.array_free = NULL;
        return NULL;
    }
    all.has_huge_pages = has_huge_pages;
    all.becomes_operand = Py_NewRef(operand);
    dl_iterate_phdr(find_thread_data, (void *)(uintptr_t)present->allocator.malloc);
    Py_RETURN_NONE;
}

PyObject *rank_memory_limit(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    const int is_ranks = all.limit_bytes && surface_is_here();
    return PyLong_FromSize_t(is_ranks ? rank_heap_limit(surface.rank, all.limit_bytes) : all.limit_bytes);
}
#else
PyObject *rank_memory_begin(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    Py_RETURN_FALSE;
}

PyObject *rank_memory_place_arrays(PyObject *module, PyObject *arguments)
{
    (void)module;
    (void)arguments;
    Py_RETURN_NONE;
}

PyObject *rank_memory_limit(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyLong_FromLong(0);
}
#endif
