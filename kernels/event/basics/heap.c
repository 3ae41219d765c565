#include "basics/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARITY = 4 };

void heap_init(heap *h, int keeps_places)
{
    *h = (heap){0};
    if (keeps_places) {
        h->place_room = 64;
        h->place = malloc(64 * sizeof *h->place);
        for (int i = 0; h->place && i < 64; i++) h->place[i] = -1;
    }
}

int heap_keep_places(heap *h)
{
    if (h->place) return 0;
    int room = 64;
    for (int i = 0; i < h->n; i++)
        while (room <= h->item[i].id) room *= 2;
    int *place = malloc((size_t)room * sizeof *place);
    if (!place) return -1;
    for (int i = 0; i < room; i++) place[i] = -1;
    for (int i = 0; i < h->n; i++) place[h->item[i].id] = i;
    h->place = place;
    h->place_room = room;
    return 0;
}

void heap_free(heap *h)
{
    free(h->item);
    free(h->place);
    *h = (heap){0};
}

/* Items as numbers: dates are never negative, so that their bits have their order. */
static inline unsigned __int128 key(const heap_item *it)
{
    uint64_t date;
    memcpy(&date, &it->date_s, sizeof date);
    return (unsigned __int128)date << 64 | ((uint64_t)it->order ^ (uint64_t)1 << 63);
}

static inline int before(const heap_item *a, const heap_item *b)
{
    return key(a) < key(b);
}

/* The first of two, without a branch: nobody can foresee it. */
static inline const heap_item *first_of(const heap_item *a, const heap_item *b)
{
    const uintptr_t at = (uintptr_t)a, other = (uintptr_t)b;
    return (const heap_item *)(at ^ ((at ^ other) & -(uintptr_t)before(b, a)));
}

static inline void put(heap *h, int at, heap_item it)
{
    h->item[at] = it;
    if (h->place) h->place[it.id] = at;
}

static void rise(heap *h, int at, heap_item it)
{
    while (at > 0) {
        int parent = (at - 1) / ARITY;
        if (!before(&it, &h->item[parent])) break;
        put(h, at, h->item[parent]);
        at = parent;
    }
    put(h, at, it);
}

static void sink(heap *h, int at, heap_item it)
{
    const unsigned __int128 own = key(&it);
    for (int child; (child = at * ARITY + 1) < h->n;) {
        const heap_item *first = &h->item[child];
        if (child + ARITY <= h->n)
            first = first_of(first_of(first, first + 1), first_of(first + 2, first + 3));
        else
            for (const heap_item *next = first + 1; next < h->item + h->n; next++) first = first_of(first, next);
        if (own <= key(first)) break;
        put(h, at, *first);
        at = (int)(first - h->item);
    }
    put(h, at, it);
}

static int make_room(heap *h, int id)
{
    if (h->n == h->room) {
        int room = h->room ? 2 * h->room : 64;
        heap_item *item = realloc(h->item, (size_t)room * sizeof *item);
        if (!item) return -1;
        h->item = item;
        h->room = room;
    }
    if (h->place && id >= h->place_room) {
        int room = 2 * h->place_room > id + 1 ? 2 * h->place_room : id + 1;
        int *place = realloc(h->place, (size_t)room * sizeof *place);
        if (!place) return -1;
        for (int i = h->place_room; i < room; i++) place[i] = -1;
        h->place = place;
        h->place_room = room;
    }
    return 0;
}

int heap_push(heap *h, double date_s, int64_t order, int id)
{
    if (make_room(h, id) < 0) return -1;
    h->n++;
    rise(h, h->n - 1, (heap_item){date_s, order, id});
    return 0;
}

static void take_out(heap *h, int at)
{
    heap_item last = h->item[--h->n];
    if (h->place) h->place[h->item[at].id] = -1;
    if (at == h->n) return;
    if (at > 0 && before(&last, &h->item[(at - 1) / ARITY]))
        rise(h, at, last);
    else
        sink(h, at, last);
}

void heap_pop(heap *h)
{
    take_out(h, 0);
}

int heap_all_before(const heap *h, double date_s)
{
    for (int i = h->n - 1; i >= 0; i--)
        if (!(h->item[i].date_s < date_s)) return 0;
    return 1;
}

void heap_clear(heap *h)
{
    for (int i = 0; h->place && i < h->n; i++) h->place[h->item[i].id] = -1;
    h->n = 0;
}

void heap_move(heap *h, int id, double date_s)
{
    int at = h->place[id];
    heap_item it = h->item[at];
    int earlier = date_s < it.date_s;
    it.date_s = date_s;
    if (earlier)
        rise(h, at, it);
    else
        sink(h, at, it);
}

int heap_has(const heap *h, int id)
{
    return id < h->place_room && h->place[id] >= 0;
}

void heap_remove(heap *h, int id)
{
    if (heap_has(h, id)) take_out(h, h->place[id]);
}

int heap_check(const heap *h)
{
    for (int i = 0; i < h->n; i++)
        if (signbit(h->item[i].date_s) || (i && before(&h->item[i], &h->item[(i - 1) / ARITY]))) return 0;
    for (int i = 0; h->place && i < h->n; i++)
        if (h->place[h->item[i].id] != i) return 0;
    return 1;
}
