/* folded_table.h -- bytes of memory that have a content, by address: private zones alone of folded memory, all of other memory.
 *
 * Invariants: (1) regions are in the order of their addresses and do not overlap;
 *             (2) a region's private ranges are offsets from its start, in order, apart, within it, none of them empty.
 * A lookup is O(log regions + log ranges). */
#ifndef SMPY_FOLDED_TABLE_H
#define SMPY_FOLDED_TABLE_H
#include <stdint.h>

/* cdef */
typedef struct {
    int64_t start, end;
} byte_range;

typedef struct folded_table folded_table;

folded_table *folded_table_new(void); /* NULL: no memory */
void folded_table_free(folded_table *t);
int64_t folded_table_n(const folded_table *t); /* regions */
int folded_table_add(folded_table *t, const char *start, int64_t bytes, int64_t n_private, const byte_range *private_bytes);
void folded_table_remove(folded_table *t, const char *start);

/* Offset, among `bytes` at `data`, of the first private stretch at or behind offset `from`, and in `end` of its end; `bytes` if
 * there is none. */
int64_t folded_table_next(const folded_table *t, const char *data, int64_t bytes, int64_t from, int64_t *end);
/* end cdef */

enum { FOLDED_NONE, FOLDED_SOME, FOLDED_ALL };
/* FOLDED_*: share of `bytes` > 0 at `data` that has no content. */
int folded_table_share(const folded_table *t, const char *data, int64_t bytes);

#ifdef SMPY_CHECK
void folded_table_check(const folded_table *t);
#endif
#endif
