#include "basics/freed_memory.h"

#include <limits.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

/* A heap that is never trimmed keeps all blocks but those that are mapped one by one. */
int freed_memory_keep(int64_t bytes)
{
    const int is_mapped = bytes >= 0 && bytes < INT_MAX ? mallopt(M_MMAP_THRESHOLD, (int)bytes) : mallopt(M_MMAP_MAX, 0);
    return is_mapped && mallopt(M_TRIM_THRESHOLD, -1) ? 0 : -1;
}
#else
int freed_memory_keep(int64_t bytes)
{
    (void)bytes;
    return -1;
}
#endif
