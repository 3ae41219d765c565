#include "heap.h"

#include <stdlib.h>

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

void heap_free(heap *h)
{
    free(h->item);
    free(h->place);
    *h = (heap){0};
}

static inline int before(const heap_item *a, const heap_item *b)
{
    return a->date_s < b->date_s || (a->date_s == b->date_s && a->order < b->order);
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
    for (;;) {
        int first = at * ARITY + 1, best = -1;
        int last = first + ARITY < h->n ? first + ARITY : h->n;
        for (int child = first; child < last; child++)
            if (best < 0 || before(&h->item[child], &h->item[best])) best = child;
        if (best < 0 || !before(&h->item[best], &it)) break;
        put(h, at, h->item[best]);
        at = best;
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
    for (int i = 1; i < h->n; i++)
        if (before(&h->item[i], &h->item[(i - 1) / ARITY])) return 0;
    for (int i = 0; h->place && i < h->n; i++)
        if (h->place[h->item[i].id] != i) return 0;
    return 1;
}
