/* folded_map.c -- private memory is reserved, then shared stretches of it are replaced by the block, piece by piece. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "basics/folded_map.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HUGE_PAGE_BYTES = 1 << 21,
    WORTH_HUGE_BYTES = 1 << 22 /* private stretches as large as the arrays for which numpy asks for huge pages */
};

/* A wish: where it is refused, nothing is lost. */
static void wish_huge_pages(char *memory, byte_range s)
{
#ifdef MADV_HUGEPAGE
    madvise(memory + s.start, (size_t)(s.end - s.start), MADV_HUGEPAGE);
#else
    (void)memory, (void)s;
#endif
}

/* The shared stretch in front of private range k, or behind the last: rounded inward to pages. 0: there is none. */
static int shared_stretch(int64_t bytes, int64_t n, const byte_range *private_bytes, int64_t k, int64_t page, byte_range *out)
{
    const int64_t start = k ? private_bytes[k - 1].end : 0, end = k < n ? private_bytes[k].start : bytes;
    *out = (byte_range){(start + page - 1) / page * page, end / page * page};
    return out->start < out->end;
}

int64_t folded_map_areas(int64_t bytes, int64_t block_bytes, int64_t n_private, const byte_range *private_bytes)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    int64_t areas = n_private;
    for (int64_t k = 0; k <= n_private; k++) {
        byte_range s;
        if (shared_stretch(bytes, n_private, private_bytes, k, page, &s))
            areas += (s.end - 1) / block_bytes - s.start / block_bytes + 1;
    }
    return areas;
}

static int map_stretch(int file, char *memory, byte_range s, int64_t block_bytes)
{
    for (int64_t at = s.start; at < s.end;) {
        const int64_t next = (at / block_bytes + 1) * block_bytes, end = next < s.end ? next : s.end;
        const int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
        void *piece = mmap(memory + at, (size_t)(end - at), PROT_READ | PROT_WRITE, flags, file, (off_t)(at % block_bytes));
        if (piece == MAP_FAILED) return -1;
        at = end;
    }
    wish_huge_pages(memory, s);
    return 0;
}

/* Reserved memory that begins where a huge page may, if it is as large as one. */
static char *reserve(int64_t bytes)
{
    const int64_t slack = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : 0;
    char *all = mmap(NULL, (size_t)(bytes + slack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return NULL;
    const int64_t ahead = slack ? slack - (int64_t)((uintptr_t)all % HUGE_PAGE_BYTES) : 0;
    if (ahead) munmap(all, (size_t)ahead);
    if (slack > ahead) munmap(all + ahead + bytes, (size_t)(slack - ahead));
    return all + ahead;
}

char *folded_map_new(int file, int64_t bytes, int64_t block_bytes, int64_t n_private, const byte_range *private_bytes)
{
    const int64_t page = sysconf(_SC_PAGESIZE);
    char *memory = reserve(bytes);
    if (!memory) return NULL;
    for (int64_t k = 0; k <= n_private; k++) {
        byte_range s;
        if (shared_stretch(bytes, n_private, private_bytes, k, page, &s) && map_stretch(file, memory, s, block_bytes) < 0) {
            const int error = errno;
            folded_map_free(memory, bytes);
            errno = error;
            return NULL;
        }
    }
    for (int64_t k = 0; k < n_private; k++) {
        const byte_range s = {(private_bytes[k].start + page - 1) / page * page, private_bytes[k].end / page * page};
        if (s.end - s.start >= WORTH_HUGE_BYTES) wish_huge_pages(memory, s);
    }
    return memory;
}

void folded_map_free(char *memory, int64_t bytes)
{
    munmap(memory, (size_t)bytes);
}
