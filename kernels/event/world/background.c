#include "world/background.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basics/heap.h"
#include "basics/seeded_choice.h"
#include "machine/profile.h"
#include "world/world.h"

typedef struct {
    int64_t n_sent;
    int n_under_way, is_held;
    double held_since_s;
    double mean_gap_s;           /* of uniform traffic: on the last path with links */
} source;

struct background {
    source *source;              /* [n_sources]: hosts, or the list */
    int n_sources, n_under_way_max; /* of each source */
    heap next;                   /* dates at which sources send */
    background_counts counts;

    /* uniform traffic */
    double share;
    int64_t bytes;
    uint64_t seed;
    platform_path path;

    /* a list; NULL: none */
    background_message *list;
    int n, at;                   /* the next one */
    double period_s, since_s;    /* date at which this round of the list began */
};

void background_free(background *b)
{
    if (!b) return;
    heap_free(&b->next);
    free(b->source);
    free(b->path.link);
    free(b->list);
    free(b);
}

double background_next_s(const background *b)
{
    return b->next.n ? b->next.item[0].date_s : INFINITY;
}

/* ---- a source and its next message ---- */

static int schedule(background *b, int number, double date_s)
{
    return heap_push(&b->next, date_s, number, number) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* A message has ended. A source that is held back sends its next one at once. */
static void ended(sim *s, const transfer *t)
{
    background *b = s->background;
    source *of = &b->source[t->number[0]];
    of->n_under_way--;
    if (!of->is_held) return;
    of->is_held = 0;
    b->counts.held_s += s->clock.now_s - of->held_since_s;
    keep_error(s, schedule(b, t->number[0], s->clock.now_s));
}

static const transfer_owner owner = {.ended = ended};

static int send(sim *s, background *b, int number, const background_message *m)
{
    b->source[number].n_sent++;
    if (m->source_host == m->target_host) return 0;
    const int error = transfer_start_background(s, m->source_host, m->target_host, m->bytes, &owner, number);
    if (error < 0) return error;
    b->source[number].n_under_way++;
    b->counts.messages++;
    if (__builtin_add_overflow(b->counts.bytes, m->bytes, &b->counts.bytes)) b->counts.bytes = INT64_MAX;
    return 0;
}

/* ---- uniform traffic ---- */

static const uint64_t DRAWN_BY_HOSTS = UINT64_C(1) << 32; /* first stream of hosts; those of timelines (noise.c) are below */

static double drawn(const background *b, int host, int64_t number)
{
    return seeded_uniform(b->seed, DRAWN_BY_HOSTS + (uint64_t)host, (uint64_t)number);
}

static double drawn_gap_s(const background *b, int host)
{
    return -b->source[host].mean_gap_s * log(drawn(b, host, 2 * b->source[host].n_sent + 1));
}

static int drawn_target(const background *b, int host)
{
    const int other = (int)(drawn(b, host, 2 * b->source[host].n_sent) * (b->n_sources - 1));
    return other + (other >= host);
}

/* Find the path of a host's messages and their mean gap there: 1, 0 if it has no links to share, or an error. */
static int look_at_path(sim *s, background *b, int host, int target)
{
    const int error = network_route(s, host, target, &b->path);
    double least = INFINITY;
    for (int i = 0; !error && i < b->path.n; i++) least = fmin(least, network_bandwidth_bytes_per_s(s)[b->path.link[i]]);
    if (error || isinf(least)) return error;
    b->source[host].mean_gap_s = (double)b->bytes / (b->share * least);
    return 1;
}

static int send_uniform(sim *s, background *b, int host)
{
    const background_message m = {.source_host = host, .target_host = drawn_target(b, host), .bytes = b->bytes};
    const int has_links = look_at_path(s, b, host, m.target_host);
    const double now_s = s->clock.now_s, gap_s = drawn_gap_s(b, host);
    const int error = has_links > 0 ? send(s, b, host, &m) : has_links;
    if (error < 0) return error;
    if (!has_links) b->source[host].n_sent++; /* the message would load nothing */
    return schedule(b, host, fmax(now_s + gap_s, nextafter(now_s, INFINITY)));
}

/* ---- a list ---- */

static int send_listed(sim *s, background *b)
{
    b->since_s = s->clock.now_s - b->list[b->at].date_s; /* later than it was if the list was held back */
    const int error = send(s, b, 0, &b->list[b->at]);
    if (error < 0) return error;
    double earliest_s = s->clock.now_s;
    if (++b->at == b->n) {
        b->at = 0;
        b->since_s += b->period_s;
        earliest_s = nextafter(earliest_s, INFINITY);
    }
    return schedule(b, 0, fmax(earliest_s, b->since_s + b->list[b->at].date_s));
}

/* ---- the loop ---- */

int background_fire(sim *s, background *b)
{
    int n = 0;
    while (b->next.n && b->next.item[0].date_s <= s->clock.now_s) {
        const int number = b->next.item[0].id;
        source *of = &b->source[number];
        heap_pop(&b->next);
        n++;
        if (of->n_under_way == b->n_under_way_max) {
            of->is_held = 1;
            of->held_since_s = s->clock.now_s;
            continue;
        }
        const int error = b->list ? send_listed(s, b) : send_uniform(s, b, number);
        if (error < 0) return error;
    }
    return n;
}

/* ---- begin ---- */

static int is_off_at_times(const sim *s)
{
    const profile_table *all = platform_profiles(s->machine);
    for (int i = 0; i < all->n; i++)
        if (all->at[i].kind == PROFILE_LINK_IS_ON || all->at[i].kind == PROFILE_HOST_IS_ON) return 1;
    return 0;
}

/* A background of so many sources: 1, 0 if links are not shared, or an error. */
static int begin(sim *s, background *b, int n_sources)
{
    if (s->background) return SIM_TOO_LATE;
    if (!s->network.kind->watch_links) return 0;
    if (is_off_at_times(s)) return SIM_FIXED_LINKS;
    heap_init(&b->next, 0);
    b->n_sources = n_sources;
    b->source = calloc((size_t)n_sources, sizeof *b->source);
    return b->source ? 1 : SIM_OUT_OF_MEMORY;
}

/* The world has it if it has begun; else it is freed. */
static int keep(sim *s, background *b, int result)
{
    if (result > 0)
        s->background = b;
    else
        background_free(b);
    return result;
}

int sim_background_uniform(sim *s, double share, int64_t bytes, uint64_t seed)
{
    if (!(share > 0 && share < 1) || bytes <= 0 || s->hosts.n < 2) return SIM_BAD_SIZE;
    background *b = calloc(1, sizeof *b);
    if (!b) return SIM_OUT_OF_MEMORY;
    b->share = share;
    b->bytes = bytes;
    b->seed = seed;
    b->n_under_way_max = BACKGROUND_QUEUE;
    int result = begin(s, b, s->hosts.n);
    for (int host = 0; host < s->hosts.n && result > 0; host++) { /* the first gap, as if a message had gone to the next host */
        int has_links = 0;
        for (int i = 1; i < s->hosts.n && !has_links; i++) has_links = look_at_path(s, b, host, (host + i) % s->hosts.n);
        if (has_links < 0) result = has_links;
        if (has_links > 0 && schedule(b, host, s->clock.now_s + drawn_gap_s(b, host)) < 0) result = SIM_OUT_OF_MEMORY;
        b->source[host].n_sent = 1;
    }
    return keep(s, b, result);
}

/* Is a list in order, between hosts that there are, and over within a period? */
static int is_list(const sim *s, int n, const background_message *list, double period_s)
{
    double before_s = 0;
    for (int i = 0; i < n; i++) {
        const background_message *m = &list[i];
        if (!(m->date_s >= before_s) || m->bytes < 0) return 0;
        if (m->source_host < 0 || m->source_host >= s->hosts.n || m->target_host < 0 || m->target_host >= s->hosts.n) return 0;
        before_s = m->date_s;
    }
    return n > 0 && period_s > 0 && isfinite(period_s) && before_s <= period_s;
}

/* Number of hosts that send messages of a list; SIM_OUT_OF_MEMORY. */
static int n_senders(const sim *s, int n, const background_message *list)
{
    uint8_t *sends = calloc((size_t)s->hosts.n, 1);
    if (!sends) return SIM_OUT_OF_MEMORY;
    int n_sending = 0;
    for (int i = 0; i < n; i++) {
        n_sending += !sends[list[i].source_host];
        sends[list[i].source_host] = 1;
    }
    free(sends);
    return n_sending;
}

int sim_background_list(sim *s, int n, const background_message *list, double period_s, double phase_s)
{
    if (!is_list(s, n, list, period_s) || !(phase_s >= 0 && phase_s <= period_s)) return SIM_BAD_SIZE;
    const int n_sending = n_senders(s, n, list);
    background *b = n_sending < 0 ? NULL : calloc(1, sizeof *b);
    if (!b) return SIM_OUT_OF_MEMORY;
    b->n_under_way_max = n_sending < INT32_MAX / BACKGROUND_QUEUE ? n_sending * BACKGROUND_QUEUE : INT32_MAX;
    int result = begin(s, b, 1);
    b->list = result > 0 ? malloc((size_t)n * sizeof *list) : NULL;
    if (result > 0 && !b->list) result = SIM_OUT_OF_MEMORY;
    if (result <= 0) return keep(s, b, result);
    memcpy(b->list, list, (size_t)n * sizeof *list);
    b->n = n;
    b->period_s = period_s;
    b->since_s = s->clock.now_s - phase_s;
    while (b->at < n && list[b->at].date_s < phase_s) b->at++;
    if (b->at == n) {
        b->at = 0;
        b->since_s += period_s;
    }
    if (schedule(b, 0, b->since_s + b->list[b->at].date_s) < 0) result = SIM_OUT_OF_MEMORY;
    return keep(s, b, result);
}

void sim_background_counts(const sim *s, background_counts *out)
{
    const background *b = s->background;
    *out = b ? b->counts : (background_counts){0};
    for (int i = 0; b && i < b->n_sources; i++)
        if (b->source[i].is_held) out->held_s += s->clock.now_s - b->source[i].held_since_s;
}

#ifdef SMPY_CHECK
#include <assert.h>

void background_check(const sim *s)
{
    const background *b = s->background;
    int n_under_way = 0;
    for (int i = 0; b && i < b->n_sources; i++) {
        n_under_way += b->source[i].n_under_way;
        assert(!b->source[i].is_held || b->source[i].n_under_way == b->n_under_way_max);
    }
    assert(n_under_way == s->network.transfers.n_background && (!b || heap_check(&b->next)));
}
#endif
