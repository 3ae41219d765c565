#define _DEFAULT_SOURCE /* mincore */
#include "basics/pages.h"

#include <sys/mman.h>

enum { PAGES_IN_HUGE = HUGE_PAGE_BYTES / PAGE_BYTES };

page_counts pages_untouched(const char *data, int64_t bytes)
{
    page_counts counts = {0, 0};
    const uintptr_t first = (uintptr_t)data / PAGE_BYTES * PAGE_BYTES, end = (uintptr_t)data + (uintptr_t)bytes;
    const int is_for_huge = bytes >= HUGE_PAGES_FROM_BYTES;
    for (uintptr_t at = first, next; bytes > 0 && at < end; at = next) {
        unsigned char is_there[PAGES_IN_HUGE];
        next = (at / HUGE_PAGE_BYTES + 1) * HUGE_PAGE_BYTES;
        const int is_whole = at % HUGE_PAGE_BYTES == 0 && next <= end;
        if (next > end) next = end;
        const int n = (int)((next - at + PAGE_BYTES - 1) / PAGE_BYTES);
        if (mincore((void *)at, next - at, (void *)is_there)) return (page_counts){0, 0};
        int n_untouched = 0;
        for (int i = 0; i < n; i++) n_untouched += !(is_there[i] & 1);
        if (is_for_huge && is_whole && n_untouched == PAGES_IN_HUGE)
            counts.n_huge++;
        else
            counts.n_small += n_untouched;
    }
    return counts;
}
