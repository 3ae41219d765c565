#include "basics/lanes.h"

#include <stdlib.h>

enum { MOST_KEPT = 1 << 16 }; /* items that an empty lane has room for: a million at a date is rare */

void lanes_init(lanes *l)
{
    *l = (lanes){0};
    heap_init(&l->rest, 0);
}

void lanes_free(lanes *l)
{
    for (int i = 0; i < LANES; i++) free(l->lane[i].item);
    heap_free(&l->rest);
}

static inline int before(const heap_item *a, const heap_item *b)
{
    return a->date_s < b->date_s || (a->date_s == b->date_s && a->order < b->order);
}

static inline heap_item *at(const lane *a, int i)
{
    return &a->item[(a->first + i) & (a->room - 1)];
}

static int append(lane *a, heap_item it)
{
    if (a->n == a->room) {
        int room = a->room ? 2 * a->room : 64;
        heap_item *item = malloc((size_t)room * sizeof *item);
        if (!item) return -1;
        for (int i = 0; i < a->n; i++) item[i] = *at(a, i);
        free(a->item);
        *a = (lane){item, 0, a->n, room};
    }
    a->n++;
    *at(a, a->n - 1) = it;
    return 0;
}

int lanes_push(lanes *l, double date_s, int64_t order, int id)
{
    heap_item it = {date_s, order, id};
    for (int i = 0; i < LANES; i++) {
        lane *a = &l->lane[i];
        if (a->n && before(&it, at(a, a->n - 1))) continue;
        if (i >= l->n_used) l->n_used = i + 1;
        return append(a, it);
    }
    return heap_push(&l->rest, date_s, order, id);
}

/* The first item, or NULL. Sets its lane; NULL: the item is in the heap. */
static const heap_item *first_of(const lanes *l, const lane **of)
{
    const heap_item *first = l->rest.n ? &l->rest.item[0] : NULL;
    *of = NULL;
    for (int i = 0; i < l->n_used; i++) {
        const lane *a = &l->lane[i];
        if (!a->n || (first && !before(&a->item[a->first], first))) continue;
        first = &a->item[a->first];
        *of = a;
    }
    return first;
}

const heap_item *lanes_first(const lanes *l)
{
    const lane *of;
    return first_of(l, &of);
}

void lanes_pop(lanes *l)
{
    const lane *of;
    first_of(l, &of);
    lane *first = (lane *)of;
    if (!first) {
        heap_pop(&l->rest);
        return;
    }
    first->first = (first->first + 1) & (first->room - 1);
    if (--first->n == 0 && first->room > MOST_KEPT) {
        free(first->item);
        *first = (lane){0};
    }
    while (l->n_used && !l->lane[l->n_used - 1].n) l->n_used--;
}
