/* fair.h -- weighted max-min fair shares of links among flows (Bertsekas & Gallager 1992, 6.5), updated as flows come and go.
 *
 * A flow's weight is 1 / penalty: flows with the same bottleneck have equal share x penalty. On a SHARED link all flows
 * together respect the capacity; on a FATPIPE link each flow does so alone.
 *
 * After fair_solve():
 *   (1) on a SHARED link the sum of coefficient x share is at most the capacity;
 *   (2) on a FATPIPE link each coefficient x share is at most the capacity;
 *   (3) each flow has its bound as share, or a bottleneck: a saturated link on which no flow has a larger share x penalty. */
#ifndef SMPY_FAIR_H
#define SMPY_FAIR_H
#include <stdint.h>

/* cdef */
typedef struct fair fair;

fair *fair_new(int n_links, const double *capacity_bytes_per_s, const uint8_t *policy);
void fair_free(fair *f);
/* Adds a flow over n different links. Returns its number (those of removed flows are given out again), -1 without memory, -2 for
 * a link that does not exist or a penalty that is not positive. bound <= 0: none. `owner` is for the caller: fair_owner(). */
int fair_add(fair *f, double penalty, double bound_bytes_per_s, int n, const int *link, const double *coefficient,
             int owner);
void fair_remove(fair *f, int flow);
/* The flow's penalty (positive) and bound from now on. */
void fair_change(fair *f, int flow, double penalty, double bound_bytes_per_s);
/* The link's capacity from now on: positive. Costs what it takes to remove the link's flows and to add them again. */
void fair_set_capacity(fair *f, int link, double capacity_bytes_per_s);
/* Updates the shares after any number of additions, removals and changes. Returns the number of flows whose share changed, new
 * flows included; FAIR_NOT_YET after some ms of work when there is more to do; -1 without memory. A further call goes on after
 * either, and until it has returned a number nothing may be added, removed or changed. What is not divided takes under 0.5 us a
 * flow: adding fresh flows to their links, one link's turn, and opening and ending a full solve (see fair.c for when it is
 * needed). */
int fair_solve(fair *f);
enum { FAIR_NOT_YET = -3 };
const int *fair_changed(const fair *f); /* numbers of the flows whose share changed; valid until the next fair_solve() */
double fair_share_bytes_per_s(const fair *f, int flow);
int fair_owner(const fair *f, int flow);
int fair_n_links(const fair *f, int flow);
int fair_link_at(const fair *f, int flow, int i);
double fair_coefficient_at(const fair *f, int flow, int i); /* of the flow on that link */
int fair_is_saturated(const fair *f, int link);         /* its flows take all of it; after fair_solve() */
int fair_has_room(const fair *f, int link);             /* all its flows at their bounds leave some of it: it is not saturated */
/* end cdef */
#endif
