/* profile.h -- changes of a machine at given dates: series of values, and the host's or link's number that follows each.
 *
 * A platform keeps them; a world performs them (machine_change.h). Several hosts or links may follow one series.
 *
 * Invariants: (1) the dates of a series are finite, not negative, and in order;
 *             (2) a series that repeats has a period of at least PROFILE_SHORTEST_PERIOD_S that its last date does not exceed;
 *             (3) each value is in the range of what follows it: 0 for all but bandwidths, or between the extremes. */
#ifndef SMPY_PROFILE_H
#define SMPY_PROFILE_H
#include <stdlib.h>
#include "machine/platform.h"

/* cdef */
enum {                                /* quantity that follows a series */
    PROFILE_SPEED = 0,                /* host: a factor of its speed, 0 or more */
    PROFILE_HOST_IS_ON = 1,           /* 0: it is off from now on */
    PROFILE_BANDWIDTH = 2,            /* link, in bytes/s: more than 0 */
    PROFILE_LATENCY = 3,              /* link, in seconds: 0 or more */
    PROFILE_LINK_IS_ON = 4
};
/* Adds n > 0 values, each from its date on. period_s: all dates come again so much later, and so on; 0: they do not.
 * Returns its number, or PLATFORM_*. */
int platform_add_series(platform *p, int n, const double *date_s, const double *value, double period_s);
/* 0, or PLATFORM_*. `resource` is the number of the host or link. */
int platform_add_profile(platform *p, int kind, int resource, int series);
/* Before a world is on it: nothing follows a profile of this kind. */
void platform_drop_profiles(platform *p, int kind);
/* end cdef */

#define PROFILE_SHORTEST_PERIOD_S 1e-9
#define PROFILE_SMALLEST 1e-30
#define PROFILE_LARGEST 1e30

typedef struct {
    int first, n;                     /* its values in the table */
    double period_s;
} profile_series;

typedef struct {
    int kind, resource, series;
} profile;

typedef struct profile_table {
    int n_values, value_room;
    double *date_s, *value;
    int n_series, series_room;
    profile_series *series;
    int n, room;
    profile *at;
} profile_table;

static inline int profile_is_of_link(const profile *f)
{
    return f->kind >= PROFILE_BANDWIDTH;
}

const profile_table *platform_profiles(const platform *p);
profile_table *platform_profile_table(platform *p);

static inline void profile_table_free(profile_table *t)
{
    free(t->date_s);
    free(t->value);
    free(t->series);
    free(t->at);
}
#endif
