/* dates.h -- the larger and the smaller of dates and durations, which are never NaN: libm's own are calls. */
#ifndef SMPY_DATES_H
#define SMPY_DATES_H

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}
#endif
