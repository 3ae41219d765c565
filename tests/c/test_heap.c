/* Dated items leave in order, whatever is pushed, moved and removed: beside a list in which the first is searched for. What is
 * nearly in order, or in the opposite order, is sorted; and the successor of a date is libm's. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "basics/dates.h"
#include "basics/heap.h"
#include "basics/lanes.h"
#include "basics/sort.h"

enum { MOST = 300 };

typedef struct {
    heap_item item[MOST];
    int n;
} list;

static uint64_t drawn = 88172645463325252u;

static uint64_t draw(uint64_t n)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return drawn % n;
}

/* Few dates, so that many are equal; the ends of what a date can be; and dates that differ in their last bit. */
static double draw_date_s(void)
{
    switch (draw(8)) {
    case 0: return INFINITY;
    case 1: return 0;
    case 2: return 5e-324;
    case 3: return nextafter(1, 2);
    default: return (double)draw(20) / 4;
    }
}

static int is_before(const heap_item *a, const heap_item *b)
{
    return a->date_s != b->date_s ? a->date_s < b->date_s : a->order < b->order;
}

static int first_of(const list *l)
{
    int first = 0;
    for (int i = 1; i < l->n; i++)
        if (is_before(&l->item[i], &l->item[first])) first = i;
    return first;
}

static int are_before(const list *l, double date_s)
{
    int n = 0;
    for (int i = 0; i < l->n; i++) n += l->item[i].date_s < date_s;
    return n == l->n;
}

static void assert_same(const heap_item *a, const heap_item *b)
{
    assert(a->date_s == b->date_s && a->order == b->order && a->id == b->id);
}

/* Orders are drawn of both signs, and no two are equal. */
static heap_item drawn_item(int64_t count, int id)
{
    return (heap_item){draw_date_s(), draw(2) ? count : -count, id};
}

static void test_items_leave_in_order_of_date_and_then_of_order(void)
{
    for (int most = 1; most <= MOST; most += most < 20 ? 1 : 70) {
        heap h;
        list l = {.n = 0};
        heap_init(&h, 0);
        for (int step = 1; step < 4000; step++) {
            if (l.n < most && draw(9) < 5) {
                const heap_item it = l.item[l.n++] = drawn_item(step, (int)draw(1000));
                assert(heap_push(&h, it.date_s, it.order, it.id) == 0);
            } else if (l.n) {
                const int first = first_of(&l);
                assert_same(&h.item[0], &l.item[first]);
                heap_pop(&h);
                l.item[first] = l.item[--l.n];
            }
            assert(h.n == l.n && heap_check(&h));
        }
        heap_free(&h);
    }
}

static void test_items_that_are_moved_removed_or_cleared_keep_the_order_of_the_others(void)
{
    heap h;
    list l = {.n = 0};
    heap_init(&h, 1);
    for (int step = 1; step < 100000; step++) {
        const int id = (int)draw(MOST);
        int at = 0;
        while (at < l.n && l.item[at].id != id) at++;
        assert(heap_has(&h, id) == (at < l.n));
        if (at == l.n) {
            const heap_item it = l.item[l.n++] = drawn_item(step, id);
            assert(heap_push(&h, it.date_s, it.order, it.id) == 0);
        } else if (draw(2)) {
            l.item[at].date_s = draw_date_s();
            heap_move(&h, id, l.item[at].date_s);
        } else {
            l.item[at] = l.item[--l.n];
            heap_remove(&h, id);
        }
        assert(h.n == l.n && heap_check(&h));
        if (l.n) assert_same(&h.item[0], &l.item[first_of(&l)]);
        const double date_s = draw_date_s();
        assert(heap_all_before(&h, date_s) == are_before(&l, date_s));
        if (draw(200)) continue;
        heap_clear(&h);
        l.n = 0;
    }
    heap_free(&h);
}

static void test_lanes_give_the_same_order_as_a_heap(void)
{
    lanes a;
    heap h;
    lanes_init(&a);
    heap_init(&h, 0);
    for (int step = 1; step < 100000; step++) {
        if (h.n < MOST && draw(9) < 5) {
            const heap_item it = drawn_item(step, step);
            assert(lanes_push(&a, it.date_s, it.order, it.id) == 0 && heap_push(&h, it.date_s, it.order, it.id) == 0);
        } else if (h.n) {
            assert_same(lanes_first(&a), &h.item[0]);
            lanes_pop(&a);
            heap_pop(&h);
        }
        assert((lanes_first(&a) == NULL) == (h.n == 0));
    }
    lanes_free(&a);
    heap_free(&h);
}

static int in_order(const void *a, const void *b)
{
    const heap_item *x = a, *y = b;
    return is_before(x, y) ? -1 : is_before(y, x);
}

static void assert_sorts(heap_item *item, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) sum -= item[i].id;
    sort_nearly(item, n, sizeof *item, in_order);
    for (int i = 0; i < n; i++) sum += item[i].id;
    for (int i = 1; i < n; i++) assert(in_order(&item[i - 1], &item[i]) <= 0);
    assert(sum == 0);
}

static void test_arrays_in_any_order_are_sorted(void)
{
    heap_item item[MOST];
    for (int n = 0; n < MOST; n++) {
        for (int i = 0; i < n; i++) item[i] = drawn_item(i, i);
        assert_sorts(item, n);
        assert_sorts(item, n);
        for (int i = 0; i < n; i++) item[i] = (heap_item){(double)(n - i), i, i};
        assert_sorts(item, n);
        for (int i = 0; i < n; i++) item[i] = (heap_item){1, (n - i) / 2, i}; /* some are equal */
        assert_sorts(item, n);
    }
}

static void test_the_successor_of_a_date_is_the_next_number(void)
{
    for (double date_s = 1e-12; date_s < 1e18; date_s *= 1.37) assert(next_above(date_s) == nextafter(date_s, INFINITY));
    assert(next_above(nextafter(2, 0)) == 2);
}

int main(void)
{
    test_arrays_in_any_order_are_sorted();
    test_the_successor_of_a_date_is_the_next_number();
    test_items_leave_in_order_of_date_and_then_of_order();
    test_items_that_are_moved_removed_or_cleared_keep_the_order_of_the_others();
    test_lanes_give_the_same_order_as_a_heap();
    puts("heap: all well");
    return 0;
}
