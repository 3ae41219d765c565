/* dates.h -- maximum and minimum of dates or durations, none of which is NaN; inlined, as libm's fmax and fmin are calls. */
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
