/* cache_lines.h -- arrays that begin with a cache line, so that an element of some lines' size lies in as few as it can. */
#ifndef SMPY_CACHE_LINES_H
#define SMPY_CACHE_LINES_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* The array, with room for so many bytes, and its first `used` bytes as they were in `at`; or NULL without memory: then nothing
 * has changed. `memory` is what to free: NULL at first, as is `at`. */
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

/* Asks for the lines of what will soon be changed: with thousands of ranks no near cache holds those of one until its next turn.
 * Whoever calls this and does nothing else must be inlined, too: GCC drops calls that have no effect, and counts this as none. */
__attribute__((always_inline)) static inline void cache_lines_fetch(const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE) __builtin_prefetch((const char *)at + i, 1);
}
#endif
