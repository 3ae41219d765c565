/* Memory of which only parts have a content: the table against the definition, one byte after another; payloads that carry some. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics/folded_map.h"
#include "basics/folded_table.h"
#include "small_worlds.h"

enum { ROOM = 4000, REGIONS = 6, RANGES = 5 };
static unsigned state = 1;
static char memory[ROOM], is_private[ROOM];

static int64_t draw(int64_t first, int64_t last)
{
    state = state * 1664525u + 1013904223u;
    return first + (int64_t)(state >> 8) % (last - first + 1);
}

/* Adds a region at `start`, with random private ranges, and marks what is private; where it ends. */
static int64_t add(folded_table *t, int64_t start)
{
    byte_range r[RANGES];
    const int64_t bytes = draw(1, 400);
    int64_t n = 0;
    memset(is_private + start, 0, (size_t)bytes);
    for (int64_t at = draw(0, 50); n < RANGES && at < bytes; n++) {
        const int64_t end = draw(at + 1, at + 80);
        r[n] = (byte_range){at, end < bytes ? end : bytes};
        memset(is_private + start + at, 1, (size_t)(r[n].end - at));
        at = r[n].end + draw(1, 60);
    }
    assert(folded_table_add(t, memory + start, bytes, n, r) == 0);
    return start + bytes;
}

static void every_lookup(const folded_table *t)
{
    for (int i = 0; i < 300; i++) {
        const int64_t first = draw(0, ROOM - 1), bytes = draw(1, ROOM - first);
        int64_t at = 0, end, n_private = 0;
        while ((at = folded_table_next(t, memory + first, bytes, at, &end)) < bytes) {
            assert(end > at && end <= bytes);
            for (int64_t k = at; k < end; k++) assert(is_private[first + k]);
            n_private += end - at;
            at = end;
        }
        for (int64_t k = 0; k < bytes; k++) n_private -= is_private[first + k];
        assert(n_private == 0);
    }
}

static void table(void)
{
    for (int round = 0; round < 50; round++) {
        folded_table *t = folded_table_new();
        int64_t start[REGIONS], end[REGIONS], order[REGIONS] = {0, 1, 2, 3, 4, 5}, at = draw(0, 100);
        memset(is_private, 1, ROOM);
        for (int i = 0; i < REGIONS; i++) {
            const int64_t other = draw(0, i);
            order[i] = order[other];
            order[other] = i;
            start[i] = at;
            at += 400 + draw(0, 1) * draw(0, 150);
        }
        for (int i = 0; i < REGIONS; i++) end[order[i]] = add(t, start[order[i]]);
        folded_table_check(t);
        every_lookup(t);
        folded_table_remove(t, memory + start[2]);
        memset(is_private + start[2], 1, (size_t)(end[2] - start[2]));
        folded_table_remove(t, memory + start[2] + 1); /* nothing begins there */
        folded_table_check(t);
        every_lookup(t);
        assert(folded_table_n(t) == REGIONS - 1);
        folded_table_free(t);
    }
}

int main(void)
{
    table();
    puts("folded: all well");
    return 0;
}
