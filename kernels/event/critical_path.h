/* critical_path.h -- sums over the critical path to each timeline's date: the chain of calls and transfers each of which was the
 * last that the next one waited for.
 *
 * Sums are kept from the first amount on; before, a world has none. A timeline that goes on by itself keeps its path. One that
 * was blocked takes the path of its cause: a transfer, whose path is that of the side posted last, or another timeline's call.
 * So does one whose poll finds a message that came while the poll lasted, or while it looked at other requests. Shares of links,
 * cores and memory are no part of a path: it ignores who shared them with whom.
 *
 * Invariants: (1) the present event has the path of the timeline whose call it is, or of the transfer that has ended;
 *             (2) a request has the path of its completion, before that of its posting. */
#ifndef SMPY_CRITICAL_PATH_H
#define SMPY_CRITICAL_PATH_H
#include "sim.h"

typedef struct {
    double sum[PATH_SUMS];
} path;

typedef struct {
    path path;
    double asked_s;              /* a timeline's: when its last poll began, */
    double looked_s;             /* or when one of several looks failed, if it has done nothing but poll since; 0: it has */
    double came_s;               /* a request's: when it was posted, or completed */
} path_place;

typedef struct {
    path_place *at;
    int room;
} path_places;

typedef struct {
    path_places timelines, requests, transfers; /* by their numbers */
    int calling;                 /* the timeline whose call happens now, or -1: */
    path ended;                  /* a transfer has ended, on this path */
} critical_paths;

void critical_paths_free(critical_paths *all);

/* Each of these does nothing in a world without paths. */
void path_calls(sim *s, int timeline);                   /* the present event is its call */
void path_asks(sim *s, int timeline);                    /* its call is a poll, which begins */
void path_acts(sim *s, int timeline);                    /* its call is none */
void path_looks_in_vain(sim *s, int timeline);           /* its poll looks at several requests, and one is not complete */
void path_sets_out(sim *s, int transfer);
void path_ends(sim *s, int transfer);                    /* the present event is its end */
void path_reaches(sim *s, int request);                  /* it is posted, or completed */
void path_wakes(sim *s, int timeline);                   /* a blocked one goes on because of the present event */
void path_finds(sim *s, int timeline, int request);      /* a poll has found it */
int path_add(sim *s, int timeline, int sum, double amount, double variance); /* 0, or SIM_OUT_OF_MEMORY */
#endif
