/* fair_queue.c -- a 4-ary min-heap of levels.
 *
 * Unlike heap.h it never moves or removes an entry inside: when a link's key changes, the old entry stays and is void. That
 * saves an index of positions, and a third of the time of a pop. */
#include "solver/fair_internal.h"
#include <stdlib.h>

enum { CHILDREN = 4 };

bool fair_queue_push(fair_queue *q, double key, int link)
{
    if (q->n == q->room) {
        if (q->room > INT32_MAX / 2)
            return false;
        const int room = q->room ? 2 * q->room : 64;
        fair_entry *entry = realloc(q->entry, (size_t)room * sizeof *entry);
        if (!entry)
            return false;
        q->entry = entry;
        q->room = room;
    }
    int i = q->n++;
    while (i > 0 && key < q->entry[(i - 1) / CHILDREN].key) {
        q->entry[i] = q->entry[(i - 1) / CHILDREN];
        i = (i - 1) / CHILDREN;
    }
    q->entry[i] = (fair_entry){key, link};
    return true;
}

void fair_queue_pop(fair_queue *q)
{
    const fair_entry last = q->entry[--q->n];
    int i = 0;
    for (;;) {
        int child = CHILDREN * i + 1, least = child;
        const int end = child + CHILDREN < q->n ? child + CHILDREN : q->n;
        if (child >= q->n)
            break;
        while (++child < end)
            if (q->entry[child].key < q->entry[least].key)
                least = child;
        if (!(q->entry[least].key < last.key))
            break;
        q->entry[i] = q->entry[least];
        i = least;
    }
    q->entry[i] = last;
}
