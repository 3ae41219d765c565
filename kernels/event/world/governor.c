#include "world/governor.h"

#include <math.h>
#include <stdlib.h>

#include "world/host_state.h"
#include "world/world.h"

static const double BUSY = 0.8, QUIET = 0.2; /* loads of one core */

typedef struct {
    int host;
    double since_s, rate_flop_per_s, flop; /* done since the last look, up to since_s; and the rate since then */
    double unit_per_s, most_flop;          /* speed of a core in the state, and what one could have done */
} governed_host;

struct governor {
    int kind;
    double period_s, next_s;
    governed_host *at;
    int n;
    int *number_of;                        /* by host; -1: it has one state */
};

void governor_free(governor *g)
{
    if (!g) return;
    free(g->at);
    free(g->number_of);
    free(g);
}

double governor_next_s(const governor *g)
{
    return g->n ? g->next_s : INFINITY;
}

/* ---- load ---- */

static void count(governed_host *h, double now_s)
{
    h->flop += h->rate_flop_per_s * (now_s - h->since_s);
    h->most_flop += h->unit_per_s * (now_s - h->since_s);
    h->since_s = now_s;
}

static void loaded(sim *s, void *own, int id)
{
    const governor *g = own;
    if (g->number_of[id] < 0) return;
    governed_host *h = &g->at[g->number_of[id]];
    count(h, s->clock.now_s);
    h->rate_flop_per_s = host_load_flop_per_s(&s->hosts.at[id]);
    h->unit_per_s = host_speed_flop_per_s(&s->hosts.at[id]);
}

static void free_nothing(sim *s, void *own)
{
    (void)s, (void)own; /* the world owns the governor */
}

static const watcher load_watcher = {.loaded = loaded, .free = free_nothing};

/* ---- decisions ---- */

/* The state that a daemon sets where it finds a load of so many cores; -1: it sets none. */
static int decide(int kind, double load, int state, int slowest)
{
    switch (kind) {
    case GOVERNOR_PERFORMANCE: return 0;
    case GOVERNOR_POWERSAVE: return slowest;
    case GOVERNOR_ONDEMAND: return load > BUSY ? 0 : slowest;
    default:
        if (load > BUSY) return state > 0 ? state - 1 : -1;
        return load < QUIET && state < slowest ? state + 1 : -1;
    }
}

static int look(sim *s, const governor *g, governed_host *h)
{
    const int state = sim_host_state(s, h->host), slowest = sim_n_host_states(s, h->host) - 1;
    count(h, s->clock.now_s);
    const double load = h->most_flop > 0 ? h->flop / h->most_flop : 0;
    h->flop = h->most_flop = 0;
    const int first = decide(g->kind, load, state, slowest), second = decide(g->kind, 0, state, slowest);
    const int set = second >= 0 ? second : first;
    return set < 0 ? 0 : host_set_state(s, h->host, set);
}

int governor_fire(sim *s, governor *g)
{
    if (!g->n || g->next_s > s->clock.now_s) return 0;
    g->next_s += g->period_s;
    for (int i = 0; i < g->n; i++) {
        const int error = look(s, g, &g->at[i]);
        if (error < 0) return error;
    }
    return 0;
}

/* ---- begin ---- */

static int add_hosts(sim *s, governor *g)
{
    const int n_hosts = s->hosts.n;
    g->number_of = malloc(((size_t)n_hosts + 1) * sizeof *g->number_of);
    g->at = calloc((size_t)n_hosts + 1, sizeof *g->at);
    if (!g->number_of || !g->at) return SIM_OUT_OF_MEMORY;
    for (int h = 0; h < n_hosts; h++) {
        g->number_of[h] = sim_n_host_states(s, h) > 1 ? g->n : -1;
        if (g->number_of[h] < 0) continue;
        g->at[g->n++] = (governed_host){
            .host = h, .since_s = s->clock.now_s, .unit_per_s = host_speed_flop_per_s(&s->hosts.at[h])};
    }
    return watch_begin(s, &load_watcher, g);
}

int sim_govern(sim *s, int kind, double period_s)
{
    if (kind < GOVERNOR_PERFORMANCE || kind > GOVERNOR_CONSERVATIVE || !(period_s > 0) || !isfinite(period_s)) return SIM_BAD_SIZE;
    if (s->governor) return SIM_TOO_LATE;
    governor *g = calloc(1, sizeof *g);
    if (!g) return SIM_OUT_OF_MEMORY;
    *g = (governor){.kind = kind, .period_s = period_s, .next_s = s->clock.now_s + period_s};
    const int error = add_hosts(s, g);
    if (error < 0) {
        governor_free(g);
        return error;
    }
    s->governor = g;
    return 0;
}
