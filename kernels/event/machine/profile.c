#include "machine/profile.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- growing: on failure all items stay, and none counts as added ---- */

static int reserve_values(profile_table *t, int more)
{
    if (more > INT_MAX / 2 - t->n_values) return PLATFORM_TOO_LARGE;
    if (t->n_values + more <= t->value_room) return 0;
    const int room = 2 * (t->n_values + more);
    double *date_s = realloc(t->date_s, (size_t)room * sizeof *date_s);
    if (date_s) t->date_s = date_s;
    double *value = realloc(t->value, (size_t)room * sizeof *value);
    if (value) t->value = value;
    if (!date_s || !value) return PLATFORM_NO_MEMORY;
    t->value_room = room;
    return 0;
}

static int reserve_series(profile_table *t)
{
    if (t->n_series < t->series_room) return 0;
    if (t->series_room > INT_MAX / 2) return PLATFORM_TOO_LARGE;
    const int room = t->series_room ? 2 * t->series_room : 8;
    profile_series *series = realloc(t->series, (size_t)room * sizeof *series);
    if (!series) return PLATFORM_NO_MEMORY;
    t->series = series;
    t->series_room = room;
    return 0;
}

static int reserve_profile(profile_table *t)
{
    if (t->n < t->room) return 0;
    if (t->room > INT_MAX / 2) return PLATFORM_TOO_LARGE;
    const int room = t->room ? 2 * t->room : 8;
    profile *at = realloc(t->at, (size_t)room * sizeof *at);
    if (!at) return PLATFORM_NO_MEMORY;
    t->at = at;
    t->room = room;
    return 0;
}

/* ---- series ---- */

static int are_dates(int n, const double *date_s)
{
    for (int i = 0; i < n; i++)
        if (!(date_s[i] >= (i ? date_s[i - 1] : 0)) || !isfinite(date_s[i])) return 0;
    return 1;
}

int platform_add_series(platform *p, int n, const double *date_s, const double *value, double period_s)
{
    profile_table *t = platform_profile_table(p);
    if (n < 1 || !are_dates(n, date_s)) return PLATFORM_BAD_ARGUMENT;
    if (period_s != 0 && !(period_s >= PROFILE_SHORTEST_PERIOD_S && period_s >= date_s[n - 1] && isfinite(period_s)))
        return PLATFORM_BAD_ARGUMENT;
    int error = reserve_values(t, n);
    if (!error) error = reserve_series(t);
    if (error) return error;
    memcpy(t->date_s + t->n_values, date_s, (size_t)n * sizeof *date_s);
    memcpy(t->value + t->n_values, value, (size_t)n * sizeof *value);
    t->series[t->n_series] = (profile_series){.first = t->n_values, .n = n, .period_s = period_s};
    t->n_values += n;
    return t->n_series++;
}

/* ---- hosts and links that follow them ---- */

static int is_value(int kind, double value)
{
    return value == 0 ? kind != PROFILE_BANDWIDTH : value >= PROFILE_SMALLEST && value <= PROFILE_LARGEST;
}

int platform_add_profile(platform *p, int kind, int resource, int series)
{
    profile_table *t = platform_profile_table(p);
    const profile next = {.kind = kind, .resource = resource, .series = series};
    if (kind < PROFILE_SPEED || kind > PROFILE_LINK_IS_ON || series < 0 || series >= t->n_series) return PLATFORM_BAD_ARGUMENT;
    const int n_resources = profile_is_of_link(&next) ? platform_n_links(p) : platform_n_hosts(p);
    if (resource < 0 || resource >= n_resources) return PLATFORM_BAD_ARGUMENT;
    for (int i = 0; i < t->series[series].n; i++)
        if (!is_value(kind, t->value[t->series[series].first + i])) return PLATFORM_BAD_ARGUMENT;
    const int error = reserve_profile(t);
    if (error) return error;
    t->at[t->n++] = next;
    return 0;
}

void platform_drop_profiles(platform *p, int kind)
{
    profile_table *t = platform_profile_table(p);
    int n = 0;
    for (int i = 0; i < t->n; i++)
        if (t->at[i].kind != kind) t->at[n++] = t->at[i];
    t->n = n;
}
