/* dates.h -- maximum, minimum and successor of dates or durations, none of which is NaN; inlined, as libm's fmax, fmin and
 * nextafter are calls. */
#ifndef SMPY_DATES_H
#define SMPY_DATES_H
#include <stdint.h>

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The next larger number after a positive, finite one. */
static inline double next_above(double date_s)
{
    union {
        double number;
        uint64_t bits;
    } next = {date_s};
    next.bits++;
    return next.number;
}
#endif
