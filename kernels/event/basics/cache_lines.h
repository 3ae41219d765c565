/* cache_lines.h -- arrays that begin at a cache line, so that their elements touch as few cache lines as possible. */
#ifndef SMPY_CACHE_LINES_H
#define SMPY_CACHE_LINES_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Grows an array to `bytes`, and keeps the first `used` bytes. NULL: there is no memory, and the array is as it was.
 * `memory` is the block to free; it and `at` are NULL at first. */
static inline void *cache_lines_grow(void **memory, const void *at, size_t used, size_t bytes)
{
    const size_t before = at ? (size_t)((const char *)at - (const char *)*memory) : 0;
    char *grown = realloc(*memory, bytes + CACHE_LINE - 1);
    if (!grown) return NULL;
    *memory = grown;
    char *lines = (char *)(((uintptr_t)grown + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (lines != grown + before && used) memmove(lines, grown + before, used);
    return lines;
}

/* Prefetches bytes that will soon be changed: with thousands of ranks, those of one leave the near caches before its next turn. A
 * function that does nothing else must be inlined, too: GCC counts prefetching as no effect, and drops calls without one. */
__attribute__((always_inline)) static inline void cache_lines_fetch(const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE) __builtin_prefetch((const char *)at + i, 1);
}
#endif
