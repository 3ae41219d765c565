#include "machine/power.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const power_states *power_of_host(const power_table *t, int host)
{
    return host < t->host_room && t->set_of_host[host] >= 0 ? &t->set[t->set_of_host[host]] : NULL;
}

const link_power *power_of_link(const power_table *t, int link)
{
    return link < t->link_room && t->power_of_link[link] >= 0 ? &t->links[t->power_of_link[link]] : NULL;
}

/* ---- growing: on failure all items stay, and none counts as added ---- */

static int reserve_set(power_table *t)
{
    if (t->n_sets < t->room) return 0;
    if (t->room > INT_MAX / 2) return PLATFORM_TOO_LARGE;
    const int room = t->room ? 2 * t->room : 8;
    power_states *set = realloc(t->set, (size_t)room * sizeof *set);
    if (!set) return PLATFORM_NO_MEMORY;
    t->set = set;
    t->room = room;
    return 0;
}

/* Room for places of `n` hosts or links, -1 in the new ones. */
static int reserve_places(int **place, int *room, int n)
{
    if (n <= *room) return 0;
    const int enough = n < *room * 2LL && *room <= INT_MAX / 2 ? 2 * *room : n;
    int *grown = realloc(*place, (size_t)enough * sizeof *grown);
    if (!grown) return PLATFORM_NO_MEMORY;
    for (int i = *room; i < enough; i++) grown[i] = -1;
    *place = grown;
    *room = enough;
    return 0;
}

static int reserve_link(power_table *t)
{
    if (t->n_links < t->links_room) return 0;
    if (t->links_room > INT_MAX / 2) return PLATFORM_TOO_LARGE;
    const int room = t->links_room ? 2 * t->links_room : 8;
    link_power *links = realloc(t->links, (size_t)room * sizeof *links);
    if (!links) return PLATFORM_NO_MEMORY;
    t->links = links;
    t->links_room = room;
    return 0;
}

/* ---- hosts ---- */

static int is_power(double watts)
{
    return watts >= 0 && isfinite(watts);
}

static int is_state(const power_state *state)
{
    return state->speed_flop_per_s > 0 && isfinite(state->speed_flop_per_s) && is_power(state->idle_w) &&
           is_power(state->epsilon_w) && is_power(state->busy_w) && state->idle_w <= state->busy_w;
}

int platform_add_power_states(platform *p, int n, const power_state *state, int first, int has_power, double off_w)
{
    power_table *t = platform_power_table(p);
    if (n < 1 || first < 0 || first >= n || !is_power(off_w)) return PLATFORM_BAD_ARGUMENT;
    for (int i = 0; i < n; i++)
        if (!is_state(&state[i])) return PLATFORM_BAD_ARGUMENT;
    const int error = reserve_set(t);
    if (error) return error;
    power_state *copy = malloc((size_t)n * sizeof *copy);
    if (!copy) return PLATFORM_NO_MEMORY;
    memcpy(copy, state, (size_t)n * sizeof *copy);
    t->set[t->n_sets] = (power_states){.n = n, .first = first, .has_power = has_power != 0, .off_w = off_w, .state = copy};
    return t->n_sets++;
}

int platform_set_power_states(platform *p, int first_host, int n, int set)
{
    power_table *t = platform_power_table(p);
    if (first_host < 0 || n < 0 || n > platform_n_hosts(p) - first_host || set < 0 || set >= t->n_sets)
        return PLATFORM_BAD_ARGUMENT;
    const int error = reserve_places(&t->set_of_host, &t->host_room, first_host + n);
    if (error) return error;
    for (int h = first_host; h < first_host + n; h++) {
        const power_states *before = power_of_host(t, h);
        t->n_powered_hosts += t->set[set].has_power - (before && before->has_power);
        t->set_of_host[h] = set;
    }
    const double speed_flop_per_s = t->set[set].state[t->set[set].first].speed_flop_per_s;
    for (int h = first_host; h < first_host + n; h++) {
        const int refused = platform_set_hosts(p, h, 1, speed_flop_per_s, platform_cores(p, h));
        if (refused) return refused;
    }
    return 0;
}

/* ---- links ---- */

int platform_set_link_power(platform *p, int first_link, int n, double idle_w, double busy_w)
{
    power_table *t = platform_power_table(p);
    if (first_link < 0 || n < 0 || n > platform_n_links(p) - first_link || !is_power(idle_w) || !is_power(busy_w) ||
        idle_w > busy_w)
        return PLATFORM_BAD_ARGUMENT;
    int error = reserve_places(&t->power_of_link, &t->link_room, first_link + n);
    if (!error) error = reserve_link(t);
    if (error) return error;
    t->links[t->n_links] = (link_power){.idle_w = idle_w, .busy_w = busy_w};
    for (int i = first_link; i < first_link + n; i++) {
        t->n_powered_links += t->power_of_link[i] < 0;
        t->power_of_link[i] = t->n_links;
    }
    t->n_links++;
    return 0;
}
