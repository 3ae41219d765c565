/* folded_map.h -- virtual memory whose pages are one small block over and over, but for private zones.
 *
 * The block is the first `block_bytes` of a file. On return:
 *   (1) offset x of the memory, where it is shared, is byte (x mod block_bytes) of the file;
 *   (2) every byte of a private zone is in memory of its own, which begins as zeros: zones grow outward to pages. */
#ifndef SMPY_FOLDED_MAP_H
#define SMPY_FOLDED_MAP_H
#include "basics/folded_table.h"

/* cdef */
/* Address of `bytes` of memory, or NULL: the system refuses (errno). Both sizes are multiples of a page. */
char *folded_map_new(int file, int64_t bytes, int64_t block_bytes, int64_t n_private, const byte_range *private_bytes);
void folded_map_free(char *memory, int64_t bytes);
/* Areas of memory that such a mapping consists of, at most: the system has a limit. */
int64_t folded_map_areas(int64_t bytes, int64_t block_bytes, int64_t n_private, const byte_range *private_bytes);
/* end cdef */
#endif
