/* fair_internal.h -- the solver's links and flows, as fair.c, fair_fill.c, fair_full.c and fair_check.c share them.
 *
 * The level of a flow is its share x penalty, that is, its share per unit of weight. The level of a saturated link is that of
 * the flows which have it as their bottleneck.
 *
 * A SHARED link is uncontended while it has room for all its flows at their bounds. Such a link is nobody's bottleneck; it only
 * keeps its flows on a list, `unconstrained`. Most links of a machine are uncontended: they carry one flow, or
 * acknowledgements. Any other link has each of its flows on one of two lists:
 *   bottlenecked_here        The link is the flow's bottleneck, so the flow's level is the link's. `use` is the sum of
 *                            coefficient / penalty: at level x these flows take x * use of the capacity. A rising flow, whose
 *                            level is not known yet, is on this list of all its links.
 *   bottlenecked_elsewhere   The flow's bound, or another link, limits the flow to a level that is not above this link's.
 *                            `load` is the sum of coefficient x share.
 * On a FATPIPE link `use` is the largest coefficient / penalty of the flows bottlenecked there, and `load` is 0.
 *
 * Invariants between two solves, except on links marked dirty and for fresh flows:
 *   (0) `demand` is the sum of coefficient x bound of all flows of a link, at most the capacity if the link is uncontended; NaN
 *       once it has been infinite, until the link has no flow;
 *   (1) a link with flows bottlenecked there is saturated, load + level x use = capacity, and these flows have its level;
 *   (2) a link without such flows has the level INFINITY, and load <= capacity;
 *   (3) no flow bottlenecked elsewhere has a level above that of the link;
 *   (4) each flow has its bound as share or is bottlenecked on one of its links.
 * These are the conditions of fair.h in terms of the lists. Exactly one allocation meets them. */
#ifndef SMPY_FAIR_INTERNAL_H
#define SMPY_FAIR_INTERNAL_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "solver/fair.h"

enum { FAIR_SHARED = 0, FAIR_FATPIPE = 1 }; /* the values of LINK_* in platform.h */
enum { FAIR_NONE = -1, FAIR_FREE = -2 };

/* Filling leaves out a link when at most this part of its capacity remains, or its flows' use is at most this (see fair.c). */
#define FAIR_PRECISION 1e-5
/* The sum of the shares on a link is known to this part of its capacity: a smaller difference is none. */
#define FAIR_ROUNDING 0x1p-50
#define FAIR_SAME (1 + 0x1p-50)      /* levels closer than this ratio are one level, but on a FATPIPE link: see fair_fill.c */

/* A compensated sum: hi + lo is exact to about 2^-100, so that a removal undoes an addition. */
typedef struct {
    double hi, lo;
} fair_sum;

/* One flow on one link. */
typedef struct {
    double coefficient;
    double use;                      /* coefficient / penalty */
    int flow;
    int next, prev;                  /* elements on the same list of the link */
    uint32_t link : 30;
    uint32_t is_bottlenecked_here : 1;
    uint32_t is_unconstrained : 1;
} fair_element;

typedef struct {
    double penalty;
    double bound;                    /* <= 0: none */
    double bound_level;              /* bound x penalty; INFINITY: none */
    double level, share;
    int first, n;                    /* its elements; FAIR_FREE as n: a free number, and `first` is the next free one */
    int owner;
    int place;                       /* in the part that a full solve fills; FAIR_NONE: in none */
    int fresh;                       /* index in fair.fresh; FAIR_NONE once a solve has seen the flow */
    bool is_rising;                  /* its level is not known yet */
    bool is_in_changed;
} fair_flow;

/* The fields that a flow on an uncontended link uses come first, in one cache line: a machine has many links. */
typedef struct {
    _Alignas(64) double capacity;
    fair_sum demand;
    int bottlenecked_here, bottlenecked_elsewhere, unconstrained; /* first elements of the lists */
    int n_fresh;                     /* fresh flows, which are on no list yet */
    int place;                       /* in the part that a full solve fills */
    uint8_t policy;
    bool is_uncontended;
    bool is_dirty;                   /* in fair.dirty */
    bool is_used;                    /* in fair.used; all else is 0 until then */
    bool is_beyond_repair;           /* set by the last full solve: fair_filling_is_beyond_repair() */
    bool is_use_stale;               /* FATPIPE: `use` is an upper bound, because the flow of largest use has left */
    fair_sum load, use;
    double level;
    double highest_level_elsewhere;  /* upper bound of the levels of flows bottlenecked elsewhere */
    double lowest_level_here;        /* lower bound of the levels (of rising flows: bound levels) of those bottlenecked here */
    double key;                      /* in the queue; INFINITY: not queued */
} fair_link;

/* An entry whose key is no longer its link's is void. */
typedef struct {
    double key;
    int link;
} fair_entry;

/* A 4-ary min-heap. */
typedef struct {
    fair_entry *entry;               /* in memory, such that entry[1] begins a cache line */
    void *memory;
    int n, room;
} fair_queue;

typedef struct fair_filling fair_filling;

struct fair {
    int n_links;
    double *capacity;                /* capacity of each link when it is used first */
    uint8_t *policy;
    fair_link *link;                 /* in link_memory, whose pages are touched where links are used */
    void *link_memory;
    int *used, n_used;               /* links that some flow has used */
    int n_flows, flow_room;          /* numbers given out so far, free ones included */
    int free_flow;                   /* first free number */
    fair_flow *flow;                 /* each in one cache line of flow_memory */
    void *flow_memory;
    int n_elements, element_room;
    fair_element *element;
    int *free_block, n_free_block;   /* [n]: first of the free blocks of n elements, which are chained by `next` */
    int *fresh, n_fresh;             /* flows added since the last solve */
    int *dirty, n_dirty;             /* links whose saturation a removal has changed; to a full solve, the links of its part */
    int *changed, n_changed;         /* flows whose share changed, or was computed again */
    double *share_before;            /* shares of `changed` at the last solve; NaN for a fresh flow */
    int *scratch;                    /* [flow]: of one function */
    fair_queue queue;
    int n_queued;                    /* links whose key is not INFINITY */
    int n_beyond_repair;             /* links whose is_beyond_repair is set */
    bool needs_full_solve;           /* there are such links, or fair_fill has given up: it cannot tell the shares */
    bool is_whole;                   /* this solve began with fair_fill: if it gives up, all has to be filled */
    bool is_out_of_memory;           /* the queue could not grow */
    bool is_solving;                 /* fair_solve has not found all shares yet */
    bool is_filled;                  /* fair_fill has found all shares */
    int64_t turns_left;              /* turns of links until fair_fill gives up */
    int64_t work;                    /* elements that the present piece has looked at */
    fair_filling *filling;           /* the full solve under way, if any */
};

static inline void fair_sum_add(fair_sum *s, double x)
{
    const double hi = s->hi + x, part = hi - s->hi;
    s->lo += (s->hi - (hi - part)) + (x - part);
    s->hi = hi;
}

static inline double fair_sum_left(double whole, const fair_sum *s)
{
    return (whole - s->hi) - s->lo;
}

/* Called before a flow's share changes: remembers the share of the last solve. */
static inline void fair_note_change(fair *f, int flow)
{
    fair_flow *g = &f->flow[flow];
    if (g->is_in_changed)
        return;
    g->is_in_changed = true;
    f->share_before[f->n_changed] = g->share;
    f->changed[f->n_changed++] = flow;
}

void fair_fill_begin(fair *f);
bool fair_fill(fair *f);

bool fair_queue_push(fair_queue *q, double key, int link);
void fair_queue_pop(fair_queue *q);
void fair_queue_free(fair_queue *q);

/* Piece of work between two chances to interrupt: elements looked at, some ms. */
#ifdef SMPY_CHECK
enum { FAIR_PIECE = 8 };
#else
enum { FAIR_PIECE = 1 << 15 };
#endif

/* ---- full solve ---- */

typedef struct {
    int number;                      /* in fair.flow */
    int bottleneck;                  /* link; FAIR_NONE: the flow has its bound, or no share */
    double share, level;
    double rounding_error;           /* bound of the share's relative error, in units of 2^-53 */
    int seen;                        /* last round in which it was a candidate */
    bool is_fixed;
} fair_filling_flow;

typedef struct {
    int number;                      /* in fair.link */
    int n_unfixed;                   /* its flows that are not fixed */
    fair_sum spent, use;
    double level;                    /* saturation level; INFINITY: has no flow to fix, or is left out */
    double rounding_error;           /* bound of the error of `spent`, in units of 2^-53 bytes/s */
    int first, end;                  /* its elements in fair_filling.element */
    bool is_queued;                  /* with this level */
    bool is_left_out;                /* with flows that are not fixed */
} fair_filling_link;

/* Flows and links are known by their place here. */
struct fair_filling {
    const fair *f;
    int n_flows, n_links;
    fair_filling_flow *flow;         /* by ascending number, as are links */
    fair_filling_link *link;
    int *element;                    /* sorted by link */
    int *next;                       /* the candidates, then those of them that are fixed in this round */
    int *saturated;                  /* links of this round */
    fair_queue queue;
    int round;
    int64_t work;                    /* elements that the present piece has looked at */
    bool is_out_of_memory;           /* the queue could not grow */
    bool is_ambiguous;               /* repair may find other shares: a SHARED link's last bit has decided whether a FATPIPE link
                                      * limits its other flows, or step 3 has joined flows of several links for a last bit */
};

void fair_filling_open(fair_filling *s);
bool fair_filling_run(fair_filling *s);                            /* false: there is more to do */
bool fair_filling_is_beyond_repair(const fair_filling *s, int link); /* fair_fill.c cannot start from it (see fair.c) */

bool fair_full_open(fair *f, bool is_whole);                       /* false: out of memory; nothing has changed */
void fair_full_close(fair *f);
int fair_full(fair *f, bool is_whole);                             /* 0, FAIR_NOT_YET or -1, as fair_solve() */

#ifdef SMPY_CHECK
void fair_check(fair *f);
#endif
#endif
