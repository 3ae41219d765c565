/* failing_memory.h -- an allocator that fails when a test asks for it.
 *
 * The linker sends the allocations of a program that includes this, and the checks of fair.c, here (see the Makefile). */
#ifndef SMPY_TESTS_FAILING_MEMORY_H
#define SMPY_TESTS_FAILING_MEMORY_H
#include <stdlib.h>

#include "solver/fair.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_fair_check(fair *f);

static long n_asked, fails_at; /* allocations so far; the one that fails, 0: none */
static int fails_for_good;     /* and so do all later ones */
static int is_checking;        /* checks of invariants never fail */

static int fails(void)
{
    if (is_checking) return 0;
    n_asked++;
    return fails_at && (n_asked == fails_at || (fails_for_good && n_asked > fails_at));
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

void __wrap_fair_check(fair *f)
{
    is_checking = 1;
    __real_fair_check(f);
    is_checking = 0;
}
#endif
