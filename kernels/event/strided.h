/* strided.h -- layouts with regular strides: blocks of bytes in a nest of loops, moved between a program's memory and packed.
 *
 * Invariants: packed, the blocks follow one another in the order of the loops, the outermost first, entry after entry;
 * `size_bytes` is the block times all `times`. Strides and the extent may be negative or overlap: later blocks overwrite. */
#ifndef SMPY_STRIDED_H
#define SMPY_STRIDED_H
#include <stdint.h>

/* cdef */
enum { STRIDED_LOOPS = 6 };

typedef struct {
    int64_t size_bytes, extent_bytes; /* that an entry carries; from one entry to the next */
    int64_t first_bytes, end_bytes;   /* offset of an entry's first byte in memory, and behind its last */
    int64_t offset_bytes, block_bytes;/* of the first block; of each block */
    int64_t n_loops;
    int64_t times[6], stride_bytes[6];
} strided;

/* Whether the bytes of `count` entries (at least 1), the first of them at byte `start`, lie within `room` bytes. */
int strided_lies_within(const strided *layout, int64_t start, int64_t count, int64_t room);

/* Between the entries whose first is at `data` and `bytes` packed ones; the last entry, and block, may be incomplete. */
void strided_pack(const strided *layout, const char *data, char *packed, int64_t bytes);
void strided_unpack(const strided *layout, char *data, const char *packed, int64_t bytes);
/* end cdef */
#endif
