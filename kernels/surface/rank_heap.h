/* rank_heap.h -- a heap for each rank, which takes and returns pages as glibc's does for a process of its own.
 *
 * Ranks share one process, and so glibc's one heap: a block of one rank above another's free memory keeps that from being
 * returned to the system, and memory that one rank frees serves the next. The page faults would be those of no real rank. So the
 * large blocks of a measured rank lie in a heap of its own, which follows the rules of glibc's main heap. A block is a chunk with
 * its size in the word before it; free neighbours are one; the smallest free chunk that is large enough is taken, else the end
 * grows, by 128 KiB more than needed. A block from a limit on is mapped by itself; freed, it raises that limit to its size. Free
 * memory at the end is returned from twice the limit on, but for 128 KiB.
 * Laws: (1) chunks lie one behind the other from the heap's begin to `top`; no two neighbours are free, nor is the last one;
 *       (2) memory from `clean` to `end` reads zero, and memory behind `end` is not there. */
#ifndef SMPY_SURFACE_RANK_HEAP_H
#define SMPY_SURFACE_RANK_HEAP_H
#include <stddef.h>

enum {
    RANK_HEAP_BLOCK_MIN_BYTES = 1033, /* smaller ones are kept in caches by glibc, and do not cost page faults */
    HEAP_LIMIT_MIN_BYTES = 128 << 10, /* glibc's DEFAULT_MMAP_THRESHOLD_MIN, */
    HEAP_LIMIT_MAX_BYTES = 32 << 20   /* and _MAX on 64 bits */
};

/* Ends the heaps that have no blocks: those of the same ranks begin anew. */
void rank_heaps_begin(void);
/* A block, of zeros if asked, mapped by itself from the larger limit on: the rank's own, or this one; NULL: there is no room. */
void *rank_heap_take(int rank, size_t bytes, int is_zero, size_t limit_bytes, int *is_mapped);

/* A block that nobody frees: it is there until the heap ends. */
void rank_heap_keep(int rank, size_t bytes);
int rank_heap_keeps(int rank);      /* whether there is one */

/* The limit of a rank: the larger of its own and this one. */
size_t rank_heap_limit(int rank, size_t limit_bytes);

/* Whether a block lies in a heap. */
int rank_heap_has(const void *block);
void rank_heap_free(void *block, size_t limit_bytes);
/* Another size for a block that lies in a heap, if there is room for it where it is; 0: there is none. */
int rank_heap_resize(void *block, size_t bytes, size_t limit_bytes);
/* Bytes that the owner of a block in a heap may use. */
size_t rank_heap_bytes(const void *block);

/* The same for blocks that are mapped by themselves. The limit that the rank then has is returned; 0: no other than before. */
size_t rank_heap_unmap(void *block, size_t limit_bytes);
void *rank_heap_remap(void *block, size_t bytes);

/* Number of the first law that a rank's heap breaks, or 0. */
int rank_heap_check(int rank);
#endif
