/* sort.h -- sorts what is mostly in order already, or in the opposite order. */
#ifndef SMPY_SORT_H
#define SMPY_SORT_H
#include <stdlib.h>

static inline void sort_nearly(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
    char *at = array;
    int n_up = 1, n_down = 1; /* entries that come first, and are in order or in the opposite order */
    while (n_up < n && compare(at + (size_t)(n_up - 1) * size, at + (size_t)n_up * size) <= 0) n_up++;
    if (n_up >= n) return;
    while (n_down < n && compare(at + (size_t)(n_down - 1) * size, at + (size_t)n_down * size) > 0) n_down++;
    if (n_down < n) {
        qsort(array, (size_t)n, size, compare);
        return;
    }
    for (size_t first = 0, last = ((size_t)n - 1) * size; first < last; first += size, last -= size) {
        for (size_t i = 0; i < size; i++) {
            const char moved = at[first + i];
            at[first + i] = at[last + i];
            at[last + i] = moved;
        }
    }
}
#endif
