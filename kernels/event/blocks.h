/* blocks.h -- one block of entries for each peer of a rank, of different sizes: checked, packed, and compared with what the
 * peers say.
 *
 * Invariants: packed, blocks follow one another in the order of the peers; a table of offsets has one number more than there
 * are blocks, the last one being the end; a contribution's tables stay where they are as long as it may be read. */
#ifndef SMPY_BLOCKS_H
#define SMPY_BLOCKS_H
#include <stdint.h>
#include "strided.h"

/* cdef */
typedef struct {
    int64_t n_blocks;
    const int64_t *counts;          /* entries of each block */
    const int64_t *starts_bytes;    /* of its first entry in memory */
    const strided *layouts;         /* of the entries: of all blocks, or of each */
    int64_t n_layouts;              /* 1 or n_blocks */
} blocks;

typedef struct {                    /* what a member of an exchange brings */
    const int64_t *sent_offsets, *expected_offsets;     /* of its blocks, packed; NULL before it has entered */
    const char *packed;             /* what it sends; NULL: folded memory, or nothing */
} contribution;

int64_t blocks_outside(const blocks *b, int64_t room_bytes);    /* first that is not within so much memory; -1: none */
void blocks_pack(const blocks *b, const char *data, char *packed);
void blocks_unpack(const blocks *b, char *data, const char *packed);

/* The n peers' blocks for the rank at `place` among their peers, each into its block; what folded memory sends is left out. */
void blocks_take(const blocks *b, char *data, const contribution *peers, int64_t place);

/* The first of n peers, if it has entered, that expects another size of the rank at `place` than that one sends; when all agree
 * on that, the first that sends another size than the rank expects; -1: none. */
int64_t contribution_conflict(const contribution *mine, const contribution *peers, int64_t n, int64_t place);
/* end cdef */
#endif
