/* blocks.h -- the blocks of different sizes that a rank exchanges with its peers, one a peer: whether they lie within the memory,
 * packing and unpacking, and whether the peers agree on the sizes.
 *
 * Invariants: (1) packed blocks follow one another in the order of the peers;
 *             (2) offsets of n blocks are n + 1 numbers, the last of them the end of the last block;
 *             (3) the tables of a contribution stay in place as long as it may be read. */
#ifndef SMPY_BLOCKS_H
#define SMPY_BLOCKS_H
#include <stdint.h>
#include "basics/strided.h"

/* cdef */
typedef struct {
    int64_t n_blocks;
    const int64_t *counts;          /* entries of each block */
    const int64_t *starts_bytes;    /* offset of each block's first entry in memory */
    const strided *layouts;         /* layout of an entry: one for all blocks, or one a block */
    int64_t n_layouts;              /* 1 or n_blocks */
} blocks;

typedef struct {                    /* one member's side of an exchange */
    const int64_t *sent_offsets, *expected_offsets; /* offsets of its packed blocks; NULL before it has entered */
    const char *packed;             /* the blocks that it sends; NULL: folded memory, or nothing */
} contribution;

/* The first block that does not lie within the first `room_bytes` of memory; -1: none. */
int64_t blocks_outside(const blocks *b, int64_t room_bytes);
void blocks_pack(const blocks *b, const char *data, char *packed);
void blocks_unpack(const blocks *b, char *data, const char *packed);

/* Unpacks, for the member at index `place`, the block that each peer sends it into the block for that peer. Blocks that come from
 * folded memory are left as they are. */
void blocks_take(const blocks *b, char *data, const contribution *peers, int64_t place);

/* The first of n peers that disagrees with the member at index `place`: one that expects another size than that member sends, or if
 * there is none, one that sends another size than that member expects. Peers that have not entered agree. -1: none. */
int64_t contribution_conflict(const contribution *mine, const contribution *peers, int64_t n, int64_t place);
/* end cdef */
#endif
