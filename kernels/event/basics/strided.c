/* strided.c -- a walk over the rows of the layout; each row is one loop of copies. */
#include "basics/strided.h"

#include <string.h>

/* Copies a row of blocks, with a stride on either side. Where the compiler knows the size, a copy is a move through a register. */
static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t times, int64_t block)
{
    switch (block) {
    case 4:
        for (; times > 0; times--, to += to_step, from += from_step) memcpy(to, from, 4);
        return;
    case 8:
        for (; times > 0; times--, to += to_step, from += from_step) memcpy(to, from, 8);
        return;
    case 16:
        for (; times > 0; times--, to += to_step, from += from_step) memcpy(to, from, 16);
        return;
    default:
        for (; times > 0; times--, to += to_step, from += from_step) memcpy(to, from, (size_t)block);
    }
}

/* A position among the rows of blocks. A row is the innermost loop; the entries are one more loop around all others. */
typedef struct {
    const strided *layout;
    int64_t at[STRIDED_LOOPS];      /* iterations of the loops but the innermost */
    int64_t entry;
    int64_t offset_bytes;           /* offset of the row */
} walk;

static void next_row(walk *w)
{
    const strided *l = w->layout;
    for (int64_t i = l->n_loops - 2; i >= 0; i--) {
        w->offset_bytes += l->stride_bytes[i];
        if (++w->at[i] < l->times[i]) return;
        w->offset_bytes -= l->times[i] * l->stride_bytes[i];
        w->at[i] = 0;
    }
    w->offset_bytes = l->offset_bytes + ++w->entry * l->extent_bytes;
}

/* The number of whole blocks of the next row within `bytes`; `rest` is the length of an incomplete block behind them, or 0. */
static int64_t blocks_of(const strided *l, int64_t bytes, int64_t *rest)
{
    const int64_t in_row = l->n_loops ? l->times[l->n_loops - 1] : 1;
    const int64_t there_are = bytes / l->block_bytes;
    *rest = there_are < in_row ? bytes % l->block_bytes : 0;
    return there_are < in_row ? there_are : in_row;
}

/* Do the entries follow one another without a gap, each of them one block? */
static int is_dense(const strided *l)
{
    return l->n_loops == 0 && l->extent_bytes == l->block_bytes;
}

int strided_lies_within(const strided *l, int64_t start, int64_t count, int64_t room)
{
    int64_t span, first, end;
    if (__builtin_mul_overflow(count - 1, l->extent_bytes, &span)) return 0;
    if (__builtin_add_overflow(start, l->first_bytes, &first) || __builtin_add_overflow(start, l->end_bytes, &end)) return 0;
    if (span < 0 ? __builtin_add_overflow(first, span, &first) : __builtin_add_overflow(end, span, &end)) return 0;
    return first >= 0 && end <= room;
}

void strided_pack(const strided *layout, const char *data, char *packed, int64_t bytes)
{
    if (is_dense(layout)) {
        memcpy(packed, data + layout->offset_bytes, (size_t)bytes);
        return;
    }
    const int64_t step = layout->n_loops ? layout->stride_bytes[layout->n_loops - 1] : 0, block = layout->block_bytes;
    for (walk w = {layout, .offset_bytes = layout->offset_bytes}; bytes > 0; next_row(&w)) {
        int64_t rest;
        const int64_t n = blocks_of(layout, bytes, &rest);
        copy_row(packed, block, data + w.offset_bytes, step, n, block);
        if (rest) memcpy(packed + n * block, data + w.offset_bytes + n * step, (size_t)rest);
        packed += n * block + rest;
        bytes -= n * block + rest;
    }
}

void strided_unpack(const strided *layout, char *data, const char *packed, int64_t bytes)
{
    if (is_dense(layout)) {
        memcpy(data + layout->offset_bytes, packed, (size_t)bytes);
        return;
    }
    const int64_t step = layout->n_loops ? layout->stride_bytes[layout->n_loops - 1] : 0, block = layout->block_bytes;
    for (walk w = {layout, .offset_bytes = layout->offset_bytes}; bytes > 0; next_row(&w)) {
        int64_t rest;
        const int64_t n = blocks_of(layout, bytes, &rest);
        copy_row(data + w.offset_bytes, step, packed, block, n, block);
        if (rest) memcpy(data + w.offset_bytes + n * step, packed + n * block, (size_t)rest);
        packed += n * block + rest;
        bytes -= n * block + rest;
    }
}
