/* clock.h -- the date of a world, which never goes back. */
#ifndef SMPY_CLOCK_H
#define SMPY_CLOCK_H
#include <math.h>

#include "basics/dates.h"

typedef struct {
    double now_s;
} sim_clock;

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
