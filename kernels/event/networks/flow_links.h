/* flow_links.h -- the links that a flow loads, each once, with its coefficients: how much of the flow's rate it takes of each.
 *
 * Invariant: the first n of `room` places are of different links. */
#ifndef SMPY_FLOW_LINKS_H
#define SMPY_FLOW_LINKS_H
#include <stdlib.h>

#include "basics/errors.h"

typedef struct {
    int n, room;
    int *link;
    double *coefficient;
} flow_links;

/* 0, or SIM_OUT_OF_MEMORY: then it keeps what it has. */
static inline int flow_links_make_room(flow_links *f, int n)
{
    if (n <= f->room) return 0;
    int *link = realloc(f->link, (size_t)n * sizeof *link);
    if (link) f->link = link;
    double *coefficient = realloc(f->coefficient, (size_t)n * sizeof *coefficient);
    if (coefficient) f->coefficient = coefficient;
    if (!link || !coefficient) return SIM_OUT_OF_MEMORY;
    f->room = n;
    return 0;
}

/* Repeated links: loads add up; on a FATPIPE the largest counts. */
static inline void flow_links_load(flow_links *f, int link, double coefficient, int is_fatpipe)
{
    for (int i = 0; i < f->n; i++) {
        if (f->link[i] != link) continue;
        if (!is_fatpipe)
            f->coefficient[i] += coefficient;
        else if (f->coefficient[i] < coefficient)
            f->coefficient[i] = coefficient;
        return;
    }
    f->link[f->n] = link;
    f->coefficient[f->n++] = coefficient;
}

static inline void flow_links_free(flow_links *f)
{
    free(f->link);
    free(f->coefficient);
}
#endif
