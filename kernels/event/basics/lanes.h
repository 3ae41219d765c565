/* lanes.h -- dated items that leave in order, for items that come nearly in order: as ends of latencies do, which are the
 * present date plus one of a few durations. What fits behind the last item of a lane costs no search.
 *
 * Invariants: (1) items are ordered by (date, order);
 *             (2) each lane is in order; what fitted into none is in the heap. */
#ifndef SMPY_LANES_H
#define SMPY_LANES_H
#include "basics/heap.h"

enum { LANES = 8 };

typedef struct {
    heap_item *item;                    /* a ring */
    int first, n, room;
} lane;

typedef struct {
    lane lane[LANES];
    int n_used;                         /* lanes behind these are empty */
    heap rest;
} lanes;

void lanes_init(lanes *l);
void lanes_free(lanes *l);
int lanes_push(lanes *l, double date_s, int64_t order, int id); /* 0, or -1 without memory */
const heap_item *lanes_first(const lanes *l);                   /* NULL: none */
void lanes_pop(lanes *l);
#endif
