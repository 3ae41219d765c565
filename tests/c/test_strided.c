/* Layouts with regular strides, packed and unpacked, against the definition: one byte after another. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics/strided.h"

enum { ROOM = 1 << 14 };
static unsigned state = 1;

static int64_t draw(int64_t first, int64_t last)
{
    state = state * 1664525u + 1013904223u;
    return first + (int64_t)(state >> 8) % (last - first + 1);
}

static strided layout(void)
{
    strided l = {.n_loops = draw(0, 4), .block_bytes = (int64_t[]){1, 3, 4, 8, 16, 24}[draw(0, 5)], .offset_bytes = draw(-40, 40)};
    l.size_bytes = l.block_bytes;
    for (int64_t i = 0; i < l.n_loops; i++) {
        l.times[i] = draw(1, 4);
        l.stride_bytes[i] = draw(-60, 60);
        l.size_bytes *= l.times[i];
    }
    l.extent_bytes = draw(-200, 200);
    return l;
}

/* Offset in memory of a packed byte. */
static int64_t place_of(const strided *l, int64_t byte)
{
    int64_t at = l->offset_bytes + byte / l->size_bytes * l->extent_bytes + byte % l->block_bytes;
    int64_t block = byte % l->size_bytes / l->block_bytes;
    for (int64_t i = l->n_loops - 1; i >= 0; i--) {
        at += block % l->times[i] * l->stride_bytes[i];
        block /= l->times[i];
    }
    return at;
}

static void bytes_go_where_the_definition_says(void)
{
    static char memory[ROOM], expected[ROOM], before[ROOM];
    for (int round = 0; round < 4000; round++) {
        const strided l = layout();
        const int64_t bytes = draw(0, 3 * l.size_bytes); /* the last entry may be incomplete */
        char *packed = malloc((size_t)bytes + 1);
        for (int i = 0; i < ROOM; i++) memory[i] = (char)draw(0, 255);
        strided_pack(&l, memory + ROOM / 2, packed, bytes);
        for (int64_t i = 0; i < bytes; i++) assert(packed[i] == memory[ROOM / 2 + place_of(&l, i)]);
        memcpy(before, memory, ROOM);
        memcpy(expected, before, ROOM);
        for (int64_t i = 0; i < bytes; i++) expected[ROOM / 2 + place_of(&l, i)] = packed[i] = (char)draw(0, 255);
        strided_unpack(&l, memory + ROOM / 2, packed, bytes);
        assert(memcmp(memory, expected, ROOM) == 0);
        free(packed);
    }
}

int main(void)
{
    bytes_go_where_the_definition_says();
    puts("strided: all well");
    return 0;
}
