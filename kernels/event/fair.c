/* fair.c -- max-min fair shares kept up to date: a change costs what it touches.
 *
 * The answer is progressive filling (Bertsekas & Gallager 1992, 6.5): raise the level of all flows together; a flow stops at
 * its bound or when one of its links is full. Two observations make it incremental.
 *
 *   (1) A link needs only its held flows to know its level: (capacity - load of the passing flows) / use of the held ones.
 *       Whatever flows are counted as held, that number is never above the true level: a passing flow counts in full, a held
 *       one as if it had no other limit. It is the true level exactly when no passing flow is above and no held flow below it.
 *   (2) A level depends only on lower levels. So what may have changed is settled in the order of levels, as Dijkstra does
 *       with distances: the queue holds every link that breaks an invariant of fair_internal.h, keyed with the lowest level
 *       at which it can differ from before: min(its old level, the number of (1)). All below the first key is final.
 *
 * At its turn a link does one of three things. Its old level is below the number of (1): it lets go of its flows at the old
 * level; those that no other link holds there and that are not at their bound rise, which their other links hear of. Or the
 * number is not the true level yet: held flows below it become passing, passing ones above it held, it goes back into the
 * queue. Or it is full at that level: all flows held there stop, their other links count them as passing.
 *
 * Only links reached by a flow that really changes are looked at, and a link that stays unsaturated is never searched. A link
 * whose sum of shares still is its capacity but for rounding (FAIR_ROUNDING) keeps its level: otherwise noise in the
 * last bit would walk through every coupled flow. The sums keep what rounding loses, so nothing drifts.
 *
 * Departure: SimGrid's filling leaves out a link when at most 1e-5 of its capacity remains, and lets flows that still wait
 * on it go without it. That depends on the order of all that came before, so such a state (is_rough) is solved in full. */
#include "fair_internal.h"
#include <stdlib.h>
#include <string.h>

#define SAME (1 + 0x1p-50) /* levels closer than this ratio are one level */

enum { CHILDREN = 4 };     /* of a node of the queue */

bool fair_queue_push(fair_queue *q, double key, int link)
{
    if (q->n == q->room) {
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

fair *fair_new(int n_links, const double *capacity_bytes_per_s, const uint8_t *policy)
{
    fair *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->n_links = n_links;
    f->free_flow = FAIR_NONE;
    f->link = calloc((size_t)n_links + 1, sizeof *f->link);
    f->dirty = malloc(((size_t)n_links + 1) * sizeof *f->dirty);
    if (!f->link || !f->dirty) {
        fair_free(f);
        return NULL;
    }
    for (int l = 0; l < n_links; l++) {
        fair_link *k = &f->link[l];
        k->capacity = capacity_bytes_per_s[l];
        k->policy = policy[l];
        k->level = k->key = INFINITY;
        k->held = k->passing = FAIR_NONE;
    }
    return f;
}

void fair_free(fair *f)
{
    if (!f)
        return;
    free(f->link);
    free(f->flow);
    free(f->element);
    free(f->free_block);
    free(f->fresh);
    free(f->dirty);
    free(f->changed);
    free(f->before);
    free(f->above);
    free(f->queue.entry);
    free(f);
}

/* ---- lists and sums of a link ---- */

static void insert(fair *f, int *head, int e)
{
    f->element[e].prev = FAIR_NONE;
    f->element[e].next = *head;
    if (*head >= 0)
        f->element[*head].prev = e;
    *head = e;
}

static void take_out(fair *f, int *head, int e)
{
    const int next = f->element[e].next, prev = f->element[e].prev;
    if (next >= 0)
        f->element[next].prev = prev;
    if (prev >= 0)
        f->element[prev].next = next;
    else
        *head = next;
}

static void add_held(fair *f, fair_link *k, int e)
{
    const double use = f->element[e].use;
    f->element[e].is_held = 1;
    insert(f, &k->held, e);
    if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->use, use);
    else if (use > k->use.hi) {
        k->use.hi = use;
        k->is_use_stale = false;
    }
}

static void take_held(fair *f, fair_link *k, int e)
{
    take_out(f, &k->held, e);
    if (k->held < 0) {
        k->use = (fair_sum){0, 0};
        k->is_use_stale = false;
        k->level = INFINITY;
    } else if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->use, -f->element[e].use);
    else if (f->element[e].use >= k->use.hi)
        k->is_use_stale = true;
}

static void add_passing(fair *f, fair_link *k, int e, double level, double share)
{
    f->element[e].is_held = 0;
    insert(f, &k->passing, e);
    if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->load, f->element[e].coefficient * share);
    if (level > k->passing_level)
        k->passing_level = level;
}

static void take_passing(fair *f, fair_link *k, int e, double share)
{
    take_out(f, &k->passing, e);
    if (k->passing < 0) {
        k->load = (fair_sum){0, 0};
        k->passing_level = 0;
    } else if (k->policy == FAIR_SHARED)
        fair_sum_add(&k->load, -(f->element[e].coefficient * share));
}

/* The level at which the link is full, if all held flows get there and the passing ones stay: see (1) on top. */
static double saturation(fair *f, fair_link *k)
{
    if (k->policy == FAIR_SHARED) /* a full link may be over its capacity by rounding */
        return fmax(fair_sum_left(k->capacity, &k->load), 0) / (k->use.hi + k->use.lo);
    if (k->is_use_stale) {
        double largest = 0;
        for (int e = k->held; e >= 0 && largest < k->use.hi; e = f->element[e].next)
            largest = fmax(largest, f->element[e].use);
        k->use.hi = largest;
        k->is_use_stale = false;
    }
    return k->capacity / k->use.hi;
}

/* Does a flow at this level fill a FATPIPE link by itself? Then the link holds it, and all others there at the same level. */
static bool fills(const fair_link *k, double use, double level)
{
    return k->policy == FAIR_FATPIPE && k->capacity / use <= level;
}

/* Is the link full at its present level, with what it holds now? */
static bool is_full(fair *f, fair_link *k)
{
    if (k->level == INFINITY)
        return false;
    if (k->policy == FAIR_FATPIPE)
        return saturation(f, k) == k->level;
    const double left = fair_sum_left(k->capacity, &k->load) - k->level * (k->use.hi + k->use.lo);
    return fabs(left) <= FAIR_ROUNDING * k->capacity;
}

/* Would a full solve have left the link out, with the flows it holds? */
static bool is_left_out(const fair_link *k)
{
    if (k->passing < 0)
        return false;
    return k->use.hi <= FAIR_PRECISION
           || (k->policy == FAIR_SHARED && fair_sum_left(k->capacity, &k->load) <= FAIR_PRECISION * k->capacity);
}

/* ---- the queue ---- */

static void queue_again(fair *f, fair_link *k, double key)
{
    k->key = key;
    if (!fair_queue_push(&f->queue, key, (int)(k - f->link)))
        f->is_out_of_memory = true;
}

static void queue(fair *f, fair_link *k, double key)
{
    if (key < k->key) {
        f->n_queued += k->key == INFINITY;
        queue_again(f, k, key);
    }
}

static void unqueue(fair *f, fair_link *k)
{
    f->n_queued -= k->key != INFINITY;
    k->key = INFINITY;
}

static void mark_dirty(fair *f, fair_link *k)
{
    if (!k->is_dirty) {
        k->is_dirty = true;
        f->dirty[f->n_dirty++] = (int)(k - f->link);
    }
}

/* ---- flows ---- */

static void note(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    if (g->is_noted)
        return;
    g->is_noted = true;
    f->before[f->n_changed] = g->share;
    f->changed[f->n_changed++] = flow;
}

/* The flow stops at a level: its links but `holder`, which holds it already, count it as passing. */
static void settle(fair *f, int flow, double level, double share, int holder)
{
    fair_flow *g = &f->flow[flow];
    note(f, flow);
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_element *at = &f->element[e];
        fair_link *k = &f->link[at->link];
        if ((int)at->link == holder)
            continue;
        if (at->is_held && !fills(k, at->use, level)) {
            take_held(f, k, e);
            add_passing(f, k, e, level, share);
        } else if (!at->is_held && k->policy == FAIR_SHARED) {
            fair_sum_add(&k->load, -(at->coefficient * g->share));
            fair_sum_add(&k->load, at->coefficient * share);
        }
        if (k->held < 0)
            unqueue(f, k);
        else if (k->key == INFINITY && !is_full(f, k))
            queue(f, k, fmin(k->level, saturation(f, k)));
    }
    g->level = level;
    g->share = share;
    g->is_rising = false;
}

/* The flow's level is open: all its links hold it until one is full. */
static void raise(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    g->is_rising = true;
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (!f->element[e].is_held) {
            take_passing(f, k, e, g->share);
            add_held(f, k, e);
        }
        queue(f, k, fmin(k->level, saturation(f, k)));
    }
}

/* Does something besides `link` keep the flow at its level? */
static bool is_held_elsewhere(fair *f, const fair_flow *g, int link)
{
    if (g->bound_level <= g->level * SAME)
        return true;
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_held && (int)f->element[e].link != link && g->level <= k->level * SAME
            && k->level <= g->level * SAME && is_full(f, k))
            return true;
    }
    return false;
}

/* ---- a link's turn ---- */

static void let_go(fair *f, int link)
{
    fair_link *k = &f->link[link];
    const double level = k->level;
    k->level = INFINITY;
    for (int e = k->held, next; e >= 0; e = next) {
        const int flow = f->element[e].flow;
        const fair_flow *g = &f->flow[flow];
        next = f->element[e].next;
        if (g->is_rising || g->level > level * SAME)
            continue;
        if (is_held_elsewhere(f, g, link)) {
            take_held(f, k, e);
            add_passing(f, k, e, g->level, g->share);
        } else
            raise(f, flow);
    }
}

/* Held flows that stop below the level the link would have: at their bound, or where another link keeps them. */
static bool let_pass(fair *f, int link, double level)
{
    fair_link *k = &f->link[link];
    const bool is_shared = k->policy == FAIR_SHARED;
    const double use = k->use.hi, slack = is_shared ? FAIR_ROUNDING * k->capacity : 0;
    bool is_any = false;
    for (int e = k->held, next; e >= 0; e = next) {
        const int flow = f->element[e].flow;
        const fair_flow *g = &f->flow[flow];
        next = f->element[e].next;
        if (g->is_rising && g->bound_level < level)
            settle(f, flow, g->bound_level, g->bound, FAIR_NONE);
        else if (!g->is_rising && (level - g->level) * use > slack) {
            take_held(f, k, e);
            add_passing(f, k, e, g->level, g->share);
        } else
            continue;
        is_any = true;
    }
    return is_any;
}

/* Passing flows above the level the link would have become held: those that are above it still when they all count so. */
static bool hold_back(fair *f, fair_link *k, double level)
{
    if (k->passing_level <= level * SAME)
        return false;
    int n = 0;
    fair_sum load = k->load, use = k->use;
    double highest = 0;
    for (int e = k->passing; e >= 0; e = f->element[e].next) {
        const fair_flow *g = &f->flow[f->element[e].flow];
        if (g->level > level * SAME) {
            f->above[n++] = e;
            fair_sum_add(&load, -(f->element[e].coefficient * g->share));
            fair_sum_add(&use, f->element[e].use);
        } else
            highest = fmax(highest, g->level);
    }
    for (bool is_settled = k->policy == FAIR_FATPIPE; !is_settled;) {
        const double trial = fair_sum_left(k->capacity, &load) / (use.hi + use.lo);
        int kept = 0;
        for (int i = 0; i < n; i++) {
            const int e = f->above[i];
            const fair_flow *g = &f->flow[f->element[e].flow];
            if (g->level > trial) {
                f->above[kept++] = e;
                continue;
            }
            fair_sum_add(&load, f->element[e].coefficient * g->share);
            fair_sum_add(&use, -f->element[e].use);
            highest = fmax(highest, g->level);
        }
        is_settled = kept == n;
        n = kept;
    }
    k->passing_level = highest;
    for (int i = 0; i < n; i++) {
        take_passing(f, k, f->above[i], f->flow[f->element[f->above[i]].flow].share);
        add_held(f, k, f->above[i]);
    }
    return n > 0;
}

static void fill(fair *f, int link)
{
    fair_link *k = &f->link[link];
    for (;;) {
        if (k->held < 0) {
            unqueue(f, k);
            return;
        }
        double level = saturation(f, k);
        const double next = f->queue.n ? f->queue.entry[0].key : INFINITY;
        if (is_full(f, k))
            level = k->level;
        const double turn = fmin(level, k->level);
        if (turn > next * SAME) {
            queue_again(f, k, turn);
            return;
        }
        if (k->level < level) {
            let_go(f, link);
            continue;
        }
        if (let_pass(f, link, level) || hold_back(f, k, level))
            continue;
        if (is_left_out(k))
            f->is_rough = true;
        if (k->policy == FAIR_SHARED && fabs(level - k->passing_level) * k->use.hi <= FAIR_ROUNDING / 2 * k->capacity)
            level = k->passing_level; /* a tie: not to be told apart, so the same to the bit */
        for (int e = k->held; e >= 0; e = f->element[e].next) {
            const int flow = f->element[e].flow;
            const fair_flow *g = &f->flow[flow];
            if (g->is_rising || g->level > level * SAME)
                settle(f, flow, level, level / g->penalty, link);
        }
        k->level = level;
        unqueue(f, k);
        return;
    }
}

/* ---- adding and removing ---- */

static bool grow(void *array, size_t room, size_t size)
{
    void *old, *new;
    memcpy(&old, array, sizeof old);
    new = realloc(old, room * size);
    if (!new)
        return false;
    memcpy(array, &new, sizeof new);
    return true;
}

static int new_block(fair *f, int n)
{
    if (n < f->n_free_block && f->free_block[n] >= 0) {
        const int first = f->free_block[n];
        f->free_block[n] = f->element[first].next;
        return first;
    }
    if (n >= f->n_free_block) {
        if (!grow(&f->free_block, (size_t)n + 16, sizeof *f->free_block))
            return FAIR_NONE;
        while (f->n_free_block < n + 16)
            f->free_block[f->n_free_block++] = FAIR_NONE;
    }
    if (n > INT32_MAX / 2 - f->n_elements)
        return FAIR_NONE;
    if (f->n_elements + n > f->element_room) {
        const int room = 2 * (f->n_elements + n) + 256;
        if (!grow(&f->element, (size_t)room, sizeof *f->element))
            return FAIR_NONE;
        f->element_room = room;
    }
    f->n_elements += n;
    return f->n_elements - n;
}

static int new_flow(fair *f)
{
    if (f->free_flow >= 0) {
        const int flow = f->free_flow;
        f->free_flow = f->flow[flow].first;
        return flow;
    }
    if (f->n_flows == f->flow_room) {
        const int room = f->flow_room ? 2 * f->flow_room : 256;
        if (room < f->flow_room || !grow(&f->flow, (size_t)room, sizeof *f->flow)
            || !grow(&f->fresh, (size_t)room, sizeof *f->fresh) || !grow(&f->above, (size_t)room, sizeof *f->above)
            || !grow(&f->changed, (size_t)room, sizeof *f->changed) || !grow(&f->before, (size_t)room, sizeof *f->before))
            return FAIR_NONE;
        f->flow_room = room;
    }
    f->flow[f->n_flows].n = FAIR_FREE;
    return f->n_flows++;
}

static void free_flow(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    if (g->n > 0) {
        f->element[g->first].next = f->free_block[g->n];
        f->free_block[g->n] = g->first;
    }
    g->n = FAIR_FREE;
    g->first = f->free_flow;
    f->free_flow = flow;
}

/* -1: out of memory; -2: a link that does not exist, or a penalty that is not positive. */
int fair_add(fair *f, double penalty, double bound_bytes_per_s, int n, const int *link, const double *coefficient, int owner)
{
    int used = 0;
    if (!(penalty > 0) || n < 0)
        return -2;
    for (int i = 0; i < n; i++) {
        if (link[i] < 0 || link[i] >= f->n_links)
            return -2;
        used += coefficient[i] > 0 && f->link[link[i]].capacity > 0;
    }
    const int flow = new_flow(f);
    if (flow < 0)
        return -1;
    fair_flow *g = &f->flow[flow];
    const int first = new_block(f, used);
    if (first < 0) {
        free_flow(f, flow);
        return -1;
    }
    *g = (fair_flow){.penalty = penalty, .bound = bound_bytes_per_s, .level = 0, .share = NAN, .first = first, .n = used,
                     .owner = owner, .fresh = f->n_fresh};
    g->bound_level = bound_bytes_per_s > 0 ? bound_bytes_per_s * penalty : INFINITY;
    fair_element *at = &f->element[first];
    for (int i = 0; i < n; i++) {
        if (!(coefficient[i] > 0 && f->link[link[i]].capacity > 0))
            continue;
        at->coefficient = coefficient[i];
        at->use = coefficient[i] / penalty;
        at->flow = flow;
        at->link = (uint32_t)link[i] & INT32_MAX;
        f->link[link[i]].n_fresh++;
        at++;
    }
    f->fresh[f->n_fresh++] = flow;
    return flow;
}

void fair_remove(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    if (g->fresh >= 0) {
        for (int e = g->first; e < g->first + g->n; e++)
            f->link[f->element[e].link].n_fresh--;
        const int last = f->fresh[--f->n_fresh];
        f->fresh[g->fresh] = last;
        f->flow[last].fresh = g->fresh;
        free_flow(f, flow);
        return;
    }
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if (f->element[e].is_held)
            take_held(f, k, e);
        else
            take_passing(f, k, e, g->share);
        if (k->held >= 0)
            mark_dirty(f, k);
    }
    free_flow(f, flow);
}

/* ---- solving ---- */

/* A fresh flow that shares no link with another fresh one, on links that are not full: is there room for it as it is? */
static bool start_alone(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    double level = g->bound_level;
    int holder = FAIR_NONE;
    for (int e = g->first; e < g->first + g->n; e++) {
        const fair_link *k = &f->link[f->element[e].link];
        if (k->held >= 0 || k->n_fresh > 1)
            return false;
        const double limit = fair_sum_left(k->capacity, &k->load) / f->element[e].use;
        if (limit < level || (limit == level && holder < 0)) {
            level = limit;
            holder = (int)f->element[e].link;
        }
    }
    if (holder >= 0 && f->link[holder].passing_level > level)
        return false;
    for (int e = g->first; e < g->first + g->n; e++)
        if (fills(&f->link[f->element[e].link], f->element[e].use, level)
            && f->link[f->element[e].link].passing_level > level)
            return false;
    for (int e = g->first; e < g->first + g->n; e++)
        f->link[f->element[e].link].n_fresh = 0;
    g->level = level;
    g->share = holder >= 0 ? level / g->penalty : g->bound;
    for (int e = g->first; e < g->first + g->n; e++) {
        fair_link *k = &f->link[f->element[e].link];
        if ((int)f->element[e].link != holder && !fills(k, f->element[e].use, level)) {
            add_passing(f, k, e, level, g->share);
            continue;
        }
        add_held(f, k, e);
        k->level = level;
        if (is_left_out(k))
            f->is_rough = true;
    }
    return true;
}

static void start(fair *f)
{
    for (int i = 0; i < f->n_fresh; i++) {
        fair_flow *g = &f->flow[f->fresh[i]];
        g->fresh = FAIR_NONE;
        note(f, f->fresh[i]);
        if (g->n == 0) {
            g->share = 0;
            continue;
        }
        if (start_alone(f, f->fresh[i]))
            continue;
        g->is_rising = true;
        for (int e = g->first; e < g->first + g->n; e++) {
            fair_link *k = &f->link[f->element[e].link];
            add_held(f, k, e);
            mark_dirty(f, k);
        }
    }
    f->n_fresh = 0;
    for (int i = 0; i < f->n_dirty; i++) {
        fair_link *k = &f->link[f->dirty[i]];
        const bool has_rising = k->n_fresh > 0;
        k->is_dirty = false;
        k->n_fresh = 0;
        if (k->held >= 0 && (has_rising || !is_full(f, k)))
            queue(f, k, fmin(k->level, saturation(f, k)));
    }
    f->n_dirty = 0;
}

/* The state as the full solve leaves it. */
static bool start_over(fair *f)
{
    fair_answer a;
    if (!fair_answer_new(&a, f->n_flows))
        return false;
    const bool is_done = fair_full(f, &a);
    for (int l = 0; is_done && l < f->n_links; l++) {
        fair_link *k = &f->link[l];
        *k = (fair_link){.capacity = k->capacity, .policy = k->policy, .level = INFINITY, .key = INFINITY,
                         .held = FAIR_NONE, .passing = FAIR_NONE};
    }
    for (int flow = 0; is_done && flow < f->n_flows; flow++) {
        fair_flow *g = &f->flow[flow];
        if (g->n == FAIR_FREE)
            continue;
        note(f, flow);
        g->fresh = FAIR_NONE;
        g->is_rising = false;
        g->share = a.share[flow];
        g->level = a.level[flow];
        for (int e = g->first; e < g->first + g->n; e++) {
            fair_link *k = &f->link[f->element[e].link];
            if ((int)f->element[e].link == a.by[flow]) {
                add_held(f, k, e);
                k->level = g->level;
            } else
                add_passing(f, k, e, g->level, g->share);
        }
    }
    f->is_rough = a.is_rough;
    f->n_fresh = f->n_dirty = f->n_queued = f->queue.n = 0;
    fair_answer_free(&a);
    return is_done;
}

/* -1: out of memory. */
int fair_solve(fair *f)
{
    f->n_changed = 0;
    if (!f->is_rough) {
        start(f);
        /* Rounding can make two links take turns for ever: then the full solve decides. */
        int64_t turns = 64 + 16 * (int64_t)f->n_elements;
        while (f->n_queued > 0 && !f->is_rough && !f->is_out_of_memory) {
            f->is_rough = --turns == 0;
            const fair_entry first = f->queue.entry[0];
            fair_queue_pop(&f->queue);
            if (first.key == f->link[first.link].key)
                fill(f, first.link);
        }
        f->queue.n = 0;
    }
    if (f->is_out_of_memory || (f->is_rough && !start_over(f)))
        return -1;
    int n = 0;
    for (int i = 0; i < f->n_changed; i++) {
        fair_flow *g = &f->flow[f->changed[i]];
        g->is_noted = false;
        if (g->share != f->before[i])
            f->changed[n++] = f->changed[i];
    }
    f->n_changed = n;
#ifdef SMPY_CHECK
    fair_check(f);
#endif
    return n;
}

const int *fair_changed(const fair *f)
{
    return f->changed;
}

double fair_share_bytes_per_s(const fair *f, int flow)
{
    return f->flow[flow].share;
}

int fair_owner(const fair *f, int flow)
{
    return f->flow[flow].owner;
}
