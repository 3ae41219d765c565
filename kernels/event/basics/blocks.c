/* blocks.c -- blocks one by one, each a strided layout; a block without bytes may lie anywhere. */
#include "basics/blocks.h"

static const strided *layout_of(const blocks *b, int64_t block)
{
    return &b->layouts[b->n_layouts > 1 ? block : 0];
}

static int64_t bytes_of(const blocks *b, int64_t block)
{
    return b->counts[block] * layout_of(b, block)->size_bytes;
}

static int64_t bytes_between(const int64_t *offsets, int64_t block)
{
    return offsets[block + 1] - offsets[block];
}

int64_t blocks_outside(const blocks *b, int64_t room_bytes)
{
    for (int64_t i = 0; i < b->n_blocks; i++) {
        int64_t bytes;
        const strided *layout = layout_of(b, i);
        if (b->counts[i] < 0 || __builtin_mul_overflow(b->counts[i], layout->size_bytes, &bytes)) return i;
        if (bytes && !strided_lies_within(layout, b->starts_bytes[i], b->counts[i], room_bytes)) return i;
    }
    return -1;
}

void blocks_pack(const blocks *b, const char *data, char *packed)
{
    for (int64_t i = 0; i < b->n_blocks; i++) {
        const int64_t bytes = bytes_of(b, i);
        if (bytes) strided_pack(layout_of(b, i), data + b->starts_bytes[i], packed, bytes);
        packed += bytes;
    }
}

void blocks_unpack(const blocks *b, char *data, const char *packed)
{
    for (int64_t i = 0; i < b->n_blocks; i++) {
        const int64_t bytes = bytes_of(b, i);
        if (bytes) strided_unpack(layout_of(b, i), data + b->starts_bytes[i], packed, bytes);
        packed += bytes;
    }
}

void blocks_take(const blocks *b, char *data, const contribution *peers, int64_t place)
{
    for (int64_t i = 0; i < b->n_blocks; i++) {
        const int64_t bytes = bytes_of(b, i);
        if (!bytes || !peers[i].packed) continue;
        strided_unpack(layout_of(b, i), data + b->starts_bytes[i], peers[i].packed + peers[i].sent_offsets[place], bytes);
    }
}

int64_t contribution_conflict(const contribution *mine, const contribution *peers, int64_t n, int64_t place)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t *its = peers[i].expected_offsets;
        if (its && bytes_between(mine->sent_offsets, i) != bytes_between(its, place)) return i;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t *its = peers[i].sent_offsets;
        if (its && bytes_between(its, place) != bytes_between(mine->expected_offsets, i)) return i;
    }
    return -1;
}
