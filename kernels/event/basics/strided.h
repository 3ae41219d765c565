/* strided.h -- layouts with regular strides: packing and unpacking of blocks of bytes that a nest of loops enumerates.
 *
 * Invariants: (1) packed blocks follow one another in the order of the loops, the first loop being the outermost, entry by entry;
 *             (2) size_bytes is block_bytes times all `times`.
 * Strides and the extent may be negative, and blocks may overlap: a later block overwrites an earlier one. */
#ifndef SMPY_STRIDED_H
#define SMPY_STRIDED_H
#include <stdint.h>

/* cdef */
enum { STRIDED_LOOPS = 6 };

typedef struct {
    int64_t size_bytes, extent_bytes;  /* size of one entry, packed; its distance from the next one in memory */
    int64_t first_bytes, end_bytes;    /* extent of one entry in memory: offsets of the lowest byte, and behind the highest */
    int64_t offset_bytes, block_bytes; /* offset of the first block; size of each block */
    int64_t n_loops;
    int64_t times[6], stride_bytes[6]; /* passes and stride of each loop */
} strided;

/* Do `count` >= 1 entries, the first of them at offset `start`, lie within the first `room` bytes of memory? */
int strided_lies_within(const strided *layout, int64_t start, int64_t count, int64_t room);

/* Moves `bytes` between entries, the first of them at `data`, and packed memory. The last entry and its last block may be
 * incomplete. */
void strided_pack(const strided *layout, const char *data, char *packed, int64_t bytes);
void strided_unpack(const strided *layout, char *data, const char *packed, int64_t bytes);
/* end cdef */

/* Blocks that the first `bytes` of entries consist of; a block may be incomplete. */
static inline int64_t strided_n_blocks(const strided *layout, int64_t bytes)
{
    return (bytes + layout->block_bytes - 1) / layout->block_bytes;
}

/* Memory from the first to the last byte of the entries that so many bytes fill. */
static inline int64_t strided_span_bytes(const strided *layout, int64_t bytes)
{
    const int64_t n_further = bytes > 0 ? (bytes - 1) / layout->size_bytes : 0;
    const int64_t step_bytes = layout->extent_bytes < 0 ? -layout->extent_bytes : layout->extent_bytes;
    return layout->end_bytes - layout->first_bytes + n_further * step_bytes;
}
#endif
