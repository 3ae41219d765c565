/* fair.h -- max-min fair share of links among flows (Bertsekas & Gallager 1992, 6.5), kept up to date as flows come and go.
 *
 * After fair_solve():
 *   (1) no SHARED link carries more than its capacity: sum of coefficient x share <= capacity;
 *   (2) on a FATPIPE link each flow alone respects the capacity;
 *   (3) each flow either has its bound, or a saturated link on which no flow has a larger share x penalty. */
#ifndef SMPY_FAIR_H
#define SMPY_FAIR_H
#include <stdint.h>

/* cdef */
typedef struct fair fair;

fair *fair_new(int n_links, const double *capacity_bytes_per_s, const uint8_t *policy);
void fair_free(fair *f);
/* A flow over n links: its number (numbers are reused after removal), or a negative error.
 * Repeated links must have been merged by the caller. bound <= 0: none. `owner` is the caller's own mark. */
int fair_add(fair *f, double penalty, double bound_bytes_per_s, int n, const int *link, const double *coefficient,
             int owner);
void fair_remove(fair *f, int flow);
/* Brings all shares up to date after any number of additions and removals, in pieces of some ms: the number of flows whose share
 * changed (new ones included); -1 without memory; FAIR_NOT_YET when there is more to do: nothing may be added or removed before
 * it is done. A piece does not divide the start of fresh flows and one link's turn (each under 0.5 us a flow), nor the full solve of a state in
 * which links were left out (see fair.c; some 1 us a flow: 50 ms are exceeded from 5e4 flows on). */
int fair_solve(fair *f);
enum { FAIR_NOT_YET = -3 };
const int *fair_changed(const fair *f); /* their numbers, valid until the next call */
double fair_share_bytes_per_s(const fair *f, int flow);
int fair_owner(const fair *f, int flow);
/* end cdef */
#endif
