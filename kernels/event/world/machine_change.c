#include "world/machine_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world/tell.h"

/* ---- begin of changes ---- */

static double *copy_of(const double *numbers, int n)
{
    double *copy = malloc(((size_t)n + 1) * sizeof *copy);
    if (copy && n) memcpy(copy, numbers, (size_t)n * sizeof *copy);
    return copy;
}

/* Room for what the profiles of a kind change. */
static int make_room(sim *s, changes *c, int kind)
{
    present_links *links = &s->network.links;
    const size_t n_links = (size_t)platform_n_links(s->machine);
    switch (kind) {
    case PROFILE_BANDWIDTH:
        if (links->own_bandwidth_bytes_per_s) return 0;
        links->bandwidth_bytes_per_s = links->own_bandwidth_bytes_per_s = copy_of(links->bandwidth_bytes_per_s, (int)n_links);
        return links->own_bandwidth_bytes_per_s ? 0 : SIM_OUT_OF_MEMORY;
    case PROFILE_LATENCY:
        if (links->own_latency_s) return 0;
        links->latency_s = links->own_latency_s = copy_of(links->latency_s, (int)n_links);
        return links->own_latency_s ? 0 : SIM_OUT_OF_MEMORY;
    case PROFILE_LINK_IS_ON:
        if (!links->is_off) links->is_off = calloc(n_links + 1, 1);
        return links->is_off ? 0 : SIM_OUT_OF_MEMORY;
    case PROFILE_HOST_IS_ON:
        if (!c->host_is_off) c->host_is_off = calloc((size_t)s->hosts.n + 1, 1);
        return c->host_is_off ? 0 : SIM_OUT_OF_MEMORY;
    default: return 0;
    }
}

static const profile_series *series_of(const changes *c, int id)
{
    return &c->table->series[c->table->at[id].series];
}

static double highest(const changes *c, int id)
{
    const profile_series *series = series_of(c, id);
    double value = 0;
    for (int i = 0; i < series->n; i++) value = fmax(value, c->table->value[series->first + i]);
    return value;
}

static int push(changes *c, int id)
{
    const double date_s = c->since_s[id] + c->table->date_s[series_of(c, id)->first + c->at[id]];
    return heap_push(&c->next, date_s, id, id) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

int changes_init(sim *s)
{
    changes *c = &s->changes;
    *c = (changes){.table = platform_profiles(s->machine)};
    s->network.links = (present_links){.bandwidth_bytes_per_s = platform_bandwidth_bytes_per_s(s->machine),
                                       .latency_s = platform_latency_s(s->machine)};
    const int n = c->table->n;
    if (!n) return 0;
    heap_init(&c->next, 0);
    c->at = calloc((size_t)n, sizeof *c->at);
    c->since_s = calloc((size_t)n, sizeof *c->since_s);
    int error = c->at && c->since_s ? 0 : SIM_OUT_OF_MEMORY;
    for (int id = 0; id < n && !error; id++) {
        const profile *f = &c->table->at[id];
        c->n_of_links += profile_is_of_link(f);
        error = f->kind == PROFILE_SPEED ? host_changes_speed(&s->hosts.at[f->resource], highest(c, id)) : make_room(s, c, f->kind);
        if (!error) error = push(c, id);
    }
    return error;
}

void changes_free(sim *s)
{
    changes *c = &s->changes;
    present_links *links = &s->network.links;
    heap_free(&c->next);
    free(c->at);
    free(c->since_s);
    free(links->own_bandwidth_bytes_per_s);
    free(links->own_latency_s);
    free(links->is_off);
    free(c->host_is_off);
}

/* ---- one change ---- */

int change_lose_rank(sim *s, int host, int rank)
{
    s->network.lost = (loss){.host = host, .rank = rank, .link = -1, .transfer = -1};
    return SIM_HOST_OFF;
}

/* Its ranks that live there fail; the lowest is named. */
static int turn_host(sim *s, int host, int is_on)
{
    s->changes.host_is_off[host] = !is_on;
    tell_loaded(s, host);
    if (is_on) return 0;
    int lowest = -1;
    for (int id = s->hosts.at[host].first_timeline; id >= 0; id = s->timelines.at[id].next_of_host) {
        const timeline *t = &s->timelines.at[id];
        if (t->state != ENDED && (lowest < 0 || t->rank < lowest)) lowest = t->rank;
    }
    return lowest < 0 ? 0 : change_lose_rank(s, host, lowest);
}

static int tell_network(sim *s, int kind, int link, double before)
{
    if (!s->network.kind->link_changed) return SIM_FIXED_LINKS;
    return s->network.kind->link_changed(s, s->network.state, kind, link, before);
}

static int apply(sim *s, const profile *f, double value)
{
    present_links *links = &s->network.links;
    double before;
    switch (f->kind) {
    case PROFILE_SPEED: return clock_events_change_speed(s, f->resource, value);
    case PROFILE_HOST_IS_ON: return turn_host(s, f->resource, value > 0);
    case PROFILE_BANDWIDTH:
        before = links->own_bandwidth_bytes_per_s[f->resource];
        links->own_bandwidth_bytes_per_s[f->resource] = value;
        break;
    case PROFILE_LATENCY:
        before = links->own_latency_s[f->resource];
        links->own_latency_s[f->resource] = value;
        break;
    default:
        before = !links->is_off[f->resource];
        links->is_off[f->resource] = !(value > 0);
    }
    return tell_network(s, f->kind, f->resource, before);
}

/* ---- their dates ---- */

double change_next_s(const sim *s)
{
    const heap *next = &s->changes.next;
    return next->n ? fmax(s->clock.now_s, next->item[0].date_s) : INFINITY;
}

/* Goes on to the next value of a profile, if there is one. */
static int go_on(changes *c, int id)
{
    const profile_series *series = series_of(c, id);
    if (++c->at[id] == series->n) {
        if (!(series->period_s > 0)) return 0;
        c->at[id] = 0;
        c->since_s[id] = fmax(c->since_s[id] + series->period_s, nextafter(c->since_s[id], INFINITY));
    }
    return push(c, id);
}

int change_fire(sim *s)
{
    changes *c = &s->changes;
    int n_fired = 0;
    while (c->next.n && c->next.item[0].date_s <= s->clock.now_s) {
        const int id = c->next.item[0].id;
        const double value = c->table->value[series_of(c, id)->first + c->at[id]];
        heap_pop(&c->next);
        int error = go_on(c, id);
        if (!error) error = apply(s, &c->table->at[id], value);
        if (error < 0) return error;
        n_fired++;
    }
    return n_fired;
}

int change_may_wake(const sim *s)
{
    const changes *c = &s->changes;
    for (int i = 0; i < c->next.n; i++) {
        const int id = c->next.item[i].id;
        const profile *f = &c->table->at[id];
        if (f->kind != PROFILE_SPEED || !(highest(c, id) > 0)) continue;
        if (resource_n_users(&s->hosts.at[f->resource].cores) || shared_cores_n_users(s, f->resource)) return 1;
    }
    return 0;
}

int change_cannot_wake(sim *s)
{
    int lowest = -1;
    for (int id = 0; id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        if (t->state == EXECUTING && s->hosts.at[t->host].cores.unit_per_s == 0 && (lowest < 0 || t->rank < lowest))
            lowest = t->rank;
    }
    if (lowest < 0) return 0;
    change_lose_rank(s, s->timelines.rank[lowest].host, lowest);
    return SIM_HOST_STOPPED;
}

#ifdef SMPY_CHECK
#include <assert.h>

void changes_check(const sim *s)
{
    const changes *c = &s->changes;
    const present_links *links = &s->network.links;
    assert(heap_check(&c->next));
    for (int i = 0; i < c->next.n; i++) {
        const int id = c->next.item[i].id;
        assert(id >= 0 && id < c->table->n && c->at[id] >= 0 && c->at[id] < series_of(c, id)->n);
        assert(c->next.item[i].date_s == c->since_s[id] + c->table->date_s[series_of(c, id)->first + c->at[id]]);
    }
    for (int link = 0; link < platform_n_links(s->machine); link++)
        assert(links->bandwidth_bytes_per_s[link] > 0 && links->latency_s[link] >= 0);
}
#endif
