/* pages.h -- pages of memory that nothing has touched yet: the first access to each is a page fault.
 *
 * Linux gives a large untouched stretch huge pages if the program asks for them, as numpy does for arrays from 4 MiB on. */
#ifndef SMPY_PAGES_H
#define SMPY_PAGES_H
#include <stdint.h>

enum { PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20, HUGE_PAGES_FROM_BYTES = 4 << 20 };

typedef struct {
    int64_t n_small;                     /* of PAGE_BYTES, in no huge page */
    int64_t n_huge;                      /* of HUGE_PAGE_BYTES, in stretches of at least HUGE_PAGES_FROM_BYTES */
} page_counts;

/* Untouched pages that a stretch of memory lies in; none where the system does not say. */
page_counts pages_untouched(const char *data, int64_t bytes);
#endif
