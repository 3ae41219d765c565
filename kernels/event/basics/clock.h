/* clock.h -- the date of a world.
 *
 * The kernel keeps all its dates on a clock of its own, which starts at 0. Dates that leave the kernel pass clock_outside_s: so
 * a world is shifted by any number of seconds at the cost of one addition.
 *
 * Invariants: (1) now_s never goes back; (2) no date outside this clock is stored, but the finish dates that are told and the dates
 *             at which a machine changes. */
#ifndef SMPY_CLOCK_H
#define SMPY_CLOCK_H
#include <math.h>

#include "basics/dates.h"

typedef struct {
    double now_s;
    double origin_s; /* the outside's date when the clock stood at 0 */
} sim_clock;

static inline double clock_outside_s(const sim_clock *c, double date_s)
{
    return c->origin_s + date_s;
}

/* The date on this clock of one that the outside knows. */
static inline double clock_inside_s(const sim_clock *c, double outside_s)
{
    return outside_s - c->origin_s;
}

static const double CLOCK_SAME_DATE_S = 1e-9; /* executions, sleeps and latencies that end this close to now end now */

/* Events before this date end now. After months a date is coarser than that; then only events exactly now do. */
static inline double clock_same_date_s(const sim_clock *c)
{
    const double soon_s = c->now_s + CLOCK_SAME_DATE_S;
    return soon_s > c->now_s ? soon_s : nextafter(c->now_s, INFINITY);
}

/* Events that only rounding keeps apart from now are before this date. */
static inline double clock_rounded_date_s(const sim_clock *c)
{
    return next_above(c->now_s + (1e-12 + 4e-16 * c->now_s));
}
#endif
