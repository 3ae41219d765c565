/* sort.h -- sorts what is mostly in order already. */
#ifndef SMPY_SORT_H
#define SMPY_SORT_H
#include <stdlib.h>

static inline void sort_nearly(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
    const char *at = array;
    for (int i = 1; i < n; i++) {
        if (compare(at + (size_t)(i - 1) * size, at + (size_t)i * size) <= 0) continue;
        qsort(array, (size_t)n, size, compare);
        return;
    }
}
#endif
