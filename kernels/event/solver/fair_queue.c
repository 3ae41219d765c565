/* fair_queue.c -- a 4-ary min-heap of levels.
 *
 * Unlike heap.h it never moves or removes an entry inside: when a link's key changes, the old entry stays and is void. That
 * saves an index of positions, and a third of the time of a pop. The four children of an entry are one cache line. */
#include "basics/cache_lines.h"
#include "solver/fair_internal.h"

enum { CHILDREN = 4, BEFORE_FIRST = CHILDREN - 1 }; /* entries unused, so that entry 1 begins a cache line */

_Static_assert(CHILDREN * sizeof(fair_entry) == CACHE_LINE, "four children are one cache line");

static bool grow(fair_queue *q)
{
    if (q->room > INT32_MAX / 2)
        return false;
    const size_t room = q->room ? 2 * (size_t)q->room : 64, size = sizeof *q->entry;
    const fair_entry *at = q->memory ? q->entry - BEFORE_FIRST : NULL;
    fair_entry *lines = cache_lines_grow(&q->memory, at, ((size_t)q->n + BEFORE_FIRST) * size, (room + BEFORE_FIRST) * size);
    if (!lines)
        return false;
    q->entry = lines + BEFORE_FIRST;
    q->room = (int)room;
    return true;
}

void fair_queue_free(fair_queue *q)
{
    free(q->memory);
    *q = (fair_queue){0};
}

bool fair_queue_push(fair_queue *q, double key, int link)
{
    if (q->n == q->room && !grow(q))
        return false;
    int i = q->n++;
    while (i > 0 && key < q->entry[(i - 1) / CHILDREN].key) {
        q->entry[i] = q->entry[(i - 1) / CHILDREN];
        i = (i - 1) / CHILDREN;
    }
    q->entry[i] = (fair_entry){key, link};
    return true;
}

/* The first of the least of four, without a branch: nobody can foresee it. */
static inline int least_of_four(const fair_entry *entry, int i)
{
    const double a = entry[i].key, b = entry[i + 1].key, c = entry[i + 2].key, d = entry[i + 3].key;
    const int left = b < a, right = 2 + (d < c);
    const bool is_right = (d < c ? d : c) < (b < a ? b : a);
    return i + left + (right - left) * is_right;
}

void fair_queue_pop(fair_queue *q)
{
    const fair_entry last = q->entry[--q->n];
    int i = 0;
    for (int child; (child = CHILDREN * i + 1) < q->n;) {
        int least = child;
        if (child + CHILDREN <= q->n)
            least = least_of_four(q->entry, child);
        else
            while (++child < q->n)
                if (q->entry[child].key < q->entry[least].key)
                    least = child;
        if (!(q->entry[least].key < last.key))
            break;
        q->entry[i] = q->entry[least];
        i = least;
    }
    q->entry[i] = last;
}
