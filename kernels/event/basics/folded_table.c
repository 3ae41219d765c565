/* folded_table.c -- a sorted array of regions. Arrays are made and freed far more seldom than messages are sent. */
#include "basics/folded_table.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uintptr_t start, end;
    int64_t n_private;
    byte_range *private_bytes;
} region;

struct folded_table {
    region *at;
    int64_t n, room;
};

folded_table *folded_table_new(void)
{
    return calloc(1, sizeof(folded_table));
}

void folded_table_free(folded_table *t)
{
    if (!t) return;
    for (int64_t i = 0; i < t->n; i++) free(t->at[i].private_bytes);
    free(t->at);
    free(t);
}

int64_t folded_table_n(const folded_table *t)
{
    return t->n;
}

/* The first region that ends behind an address. */
static int64_t first_behind(const folded_table *t, uintptr_t address)
{
    int64_t low = 0, high = t->n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (t->at[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int folded_table_add(folded_table *t, const char *start, int64_t bytes, int64_t n_private, const byte_range *private_bytes)
{
    byte_range *copy = malloc((size_t)(n_private + 1) * sizeof *copy);
    if (!copy) return -1;
    if (t->n == t->room) {
        const int64_t room = t->room ? 2 * t->room : 16;
        region *grown = realloc(t->at, (size_t)room * sizeof *grown);
        if (!grown) {
            free(copy);
            return -1;
        }
        t->at = grown;
        t->room = room;
    }
    if (n_private) memcpy(copy, private_bytes, (size_t)n_private * sizeof *copy);
    const uintptr_t address = (uintptr_t)start;
    const int64_t i = first_behind(t, address);
    memmove(t->at + i + 1, t->at + i, (size_t)(t->n - i) * sizeof *t->at);
    t->at[i] = (region){address, address + (uintptr_t)bytes, n_private, copy};
    t->n++;
    return 0;
}

void folded_table_remove(folded_table *t, const char *start)
{
    const int64_t i = first_behind(t, (uintptr_t)start);
    if (i == t->n || t->at[i].start != (uintptr_t)start) return;
    free(t->at[i].private_bytes);
    t->n--;
    memmove(t->at + i, t->at + i + 1, (size_t)(t->n - i) * sizeof *t->at);
}

/* The first private range of a region that ends behind an offset. */
static int64_t first_private_behind(const region *r, int64_t offset)
{
    int64_t low = 0, high = r->n_private;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (r->private_bytes[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t folded_table_next(const folded_table *t, const char *data, int64_t bytes, int64_t from, int64_t *end)
{
    const uintptr_t base = (uintptr_t)data;
    *end = bytes;
    for (int64_t i = first_behind(t, base + (uintptr_t)from); from < bytes; i++) {
        if (i == t->n) return from;
        const region *r = &t->at[i];
        const int64_t first = (int64_t)(r->start - base), last = (int64_t)(r->end - base); /* offsets from `data` */
        if (from < first) {
            *end = smaller(bytes, first);
            return from;
        }
        const int64_t k = first_private_behind(r, from - first);
        if (k < r->n_private && first + r->private_bytes[k].start < bytes) {
            const int64_t begins = first + r->private_bytes[k].start;
            *end = smaller(bytes, first + r->private_bytes[k].end);
            return begins > from ? begins : from;
        }
        from = last;
    }
    return bytes;
}

int folded_table_share(const folded_table *t, const char *data, int64_t bytes)
{
    int64_t end;
    const int64_t first = folded_table_next(t, data, bytes, 0, &end);
    if (first == bytes) return FOLDED_ALL;
    return first == 0 && end == bytes ? FOLDED_NONE : FOLDED_SOME;
}

#ifdef SMPY_CHECK
#include <assert.h>

void folded_table_check(const folded_table *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        const region *r = &t->at[i];
        assert(r->start < r->end && (i == 0 || t->at[i - 1].end <= r->start));
        for (int64_t k = 0, before = 0; k < r->n_private; before = r->private_bytes[k++].end)
            assert(before <= r->private_bytes[k].start && r->private_bytes[k].start < r->private_bytes[k].end &&
                   r->private_bytes[k].end <= (int64_t)(r->end - r->start));
    }
}
#endif
