/* fair_internal.h -- the state of links and flows: what fair.c, fair_fill.c, fair_full.c and fair_check.c share.
 *
 * The level of a flow is its share x penalty. A SHARED link is roomy while all its flows could have their bounds at once: it
 * decides nothing, its flows are on its idle list, and nothing below looks at it. (Links that carry cross-traffic alone, or one
 * flow, are: most of them.) Every flow on another link is on one of the link's two lists:
 *   held     the link decides these flows: all of them get its level, so that they count with `use`, the sum of
 *            coefficient / penalty. A rising flow (its level is not known yet) is on the held list of all its links;
 *   passing  decided elsewhere at a level that is not above the link's: they count with `load`, coefficient x share.
 * A link whose held list is empty is not saturated; its level is then INFINITY. Outside fair_solve, apart from the links
 * marked dirty and the flows that are fresh:
 *   (0) demand is the sum of coefficient x bound over a link's flows, at most the capacity of a roomy one;
 *   (1) a link with held flows is saturated: load + level x use = capacity, and its held flows are at its level;
 *   (2) no link is overloaded: load <= capacity where nothing is held;
 *   (3) no passing flow is above its link's level;
 *   (4) each flow is at its bound or held by one of its links.
 * That is the certificate of fair.h, and only one allocation satisfies it. On a FATPIPE link `use.hi` is the largest
 * coefficient / penalty among the held flows instead of their sum, and load counts nothing. */
#ifndef SMPY_FAIR_INTERNAL_H
#define SMPY_FAIR_INTERNAL_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "fair.h"

enum { FAIR_SHARED = 0, FAIR_FATPIPE = 1 }; /* the values of LINK_* in platform.h */
enum { FAIR_NONE = -1, FAIR_FREE = -2 };

/* A link with at most this part of its capacity left takes no further part, nor does one with at most this much use. */
#define FAIR_PRECISION 1e-5
/* The sum of all shares on a link is known to this part of its capacity: what is closer is the same. */
#define FAIR_ROUNDING 0x1p-50

/* A sum that forgets nothing: hi + lo stays exact to about 2^-100, so that removals undo additions. */
typedef struct {
    double hi, lo;
} fair_sum;

/* One flow on one link. */
typedef struct {
    double coefficient;
    double use;                 /* coefficient / penalty */
    int flow;
    int next, prev;             /* elements on the same list of the link */
    uint32_t link : 30;
    uint32_t is_bottlenecked_here : 1;
    uint32_t is_unconstrained : 1;
} fair_element;

typedef struct {
    double penalty;
    double bound;               /* <= 0: none */
    double bound_level;         /* INFINITY: none */
    double level, share;
    int first, n;               /* its elements; n is FAIR_FREE for a number not in use, then `first` is the next one */
    int owner;
    int fresh;                  /* its place in fair.fresh until the next solve, then FAIR_NONE */
    bool is_rising;
    bool is_in_changed;              /* in fair.changed */
} fair_flow;

/* What a flow on a roomy link touches comes first, in one line of the processor's cache: machines have many links. */
typedef struct {
    _Alignas(64) double capacity;
    fair_sum demand;
    int bottlenecked_here, bottlenecked_elsewhere, unconstrained;    /* first elements */
    int n_fresh;                /* fresh flows that will use it */
    uint8_t policy;
    bool is_uncontended;
    bool is_dirty;
    bool is_use_stale;          /* FATPIPE: the largest held use may be less than `use` */
    fair_sum load, use;
    double level;
    double highest_level_elsewhere;       /* no passing flow is above it */
    double key;                 /* its place in time in the queue; INFINITY: not queued */
} fair_link;

/* A 4-ary heap; an entry whose key is no longer its link's is skipped. */
typedef struct {
    double key;
    int link;
} fair_entry;

typedef struct {
    fair_entry *entry;
    int n, room;
} fair_queue;

struct fair {
    int n_links;
    fair_link *link;
    int n_flows, flow_room, free_flow; /* numbers given out; first free one */
    fair_flow *flow;
    int n_elements, element_room;
    fair_element *element;
    int *free_block, n_free_block;     /* by number of elements: first of a chain through `next` */
    int *fresh, n_fresh;
    int *dirty, n_dirty;               /* links to look at */
    int *changed, n_changed;
    double *share_before;                    /* shares of `changed` at the last solve; NaN when fresh */
    int *above;                        /* scratch: elements, one per flow at most */
    fair_queue queue;
    int n_queued;                      /* links whose key is not INFINITY */
    bool needs_full_solve;                     /* a link was left out with flows on it: only the full solve knows the answer */
    bool is_out_of_memory;
    bool is_solving;                   /* in pieces: fair_solve has not ended */
    bool is_filled;                    /* fair_fill found the answer */
    int64_t turns_left;                /* of links, before it gives up */
    int64_t work;                      /* of the piece under way: elements looked at */
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

/* The share of the flow is about to change. */
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

/* What the full solve finds out about each flow. */
typedef struct {
    double *share, *level;
    int *bottleneck;                    /* the link that decides it, or FAIR_NONE */
    double *rounding_error;              /* relative error that rounding may leave, in units of 2^-53 */
    bool needs_full_solve;
    bool is_ambiguous;             /* the last bit decided whether a FATPIPE link stops its other flows: either answer is right */
} fair_answer;

bool fair_answer_new(fair_answer *a, int n_flows);
void fair_answer_free(fair_answer *a);
bool fair_full(const fair *f, fair_answer *a);
bool fair_start_over(fair *f);

#ifdef SMPY_CHECK
void fair_check(const fair *f);
#endif
#endif
