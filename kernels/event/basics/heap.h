/* heap.h -- a 4-ary min-heap of dated items.
 *
 * Invariants: (1) items are ordered by (date, order), so equal dates leave in order of `order`; dates are not negative;
 *             (2) place[id] is the index of item id while it is in the heap, -1 otherwise (only when places are kept). */
#ifndef SMPY_HEAP_H
#define SMPY_HEAP_H
#include <stdint.h>

typedef struct {
    double date_s;
    int64_t order;
    int id;
} heap_item;

typedef struct {
    heap_item *item;
    int n, room;
    int *place; /* NULL when places are not kept */
    int place_room;
} heap;

void heap_init(heap *h, int keeps_places);
int heap_keep_places(heap *h);                               /* from now on: 0, or -1 without memory */
void heap_free(heap *h);
int heap_push(heap *h, double date_s, int64_t order, int id); /* 0, or -1 without memory */
void heap_pop(heap *h);                                      /* drops the first item */
int heap_all_before(const heap *h, double date_s);           /* looks at no more items than there are before it, and one */
void heap_clear(heap *h);                                    /* drops all items */
void heap_move(heap *h, int id, double date_s);              /* needs places */
void heap_remove(heap *h, int id);                           /* needs places; absent ids are ignored */
int heap_has(const heap *h, int id);                         /* needs places */
int heap_check(const heap *h);                               /* 1 when the invariants hold */
#endif
