#include "watchers/energy.h"

#include <math.h>
#include <stdlib.h>

#include "machine/power.h"
#include "watchers/account.h"

typedef struct {
    const power_states *states;  /* NULL: nothing has changed since the beginning, or its power is not known */
    double since_s;
    double power_w, joules;
    double share_w, share_j;     /* power above idle of each thread that executes; its energy since the beginning */
    int is_loaded, is_used;
} host_energy;

typedef struct {
    double begin_s;
    const power_table *power;
    host_energy *at;             /* by host; NULL: no host says its power */
    int n_hosts;
    double *from_j;              /* by timeline: share_j of its host when its execution began */
    double *taken_j;             /* likewise, with a trace: when it was taken last */
    int timeline_room, taken_room;
    double *account_j;           /* by account */
    int account_room;
    link_energy *links;          /* or NULL */
} energy;

static int is_off(const sim *s, int id)
{
    return s->changes.host_is_off && s->changes.host_is_off[id];
}

/* Power from now on. */
static void set_power(const sim *s, host_energy *e, int id)
{
    const host *h = &s->hosts.at[id];
    const power_state *state = &e->states->state[h->state];
    const double most_flop_per_s = state->speed_flop_per_s * h->cores.n_units;
    const double load = is_off(s, id) ? 0 : fmin(host_load_flop_per_s(h) / most_flop_per_s, 1);
    e->is_loaded = load > 0;
    e->power_w = is_off(s, id) ? e->states->off_w : e->is_loaded ? state->epsilon_w + load * (state->busy_w - state->epsilon_w)
                                                                 : state->idle_w;
    e->share_w = e->is_loaded && h->n_executing ? (e->power_w - state->idle_w) / h->n_executing : 0;
}

static void advance(host_energy *e, double now_s)
{
    const double passed_s = now_s - e->since_s;
    if (!(passed_s > 0)) return;
    e->joules += e->power_w * passed_s;
    e->share_j += e->share_w * passed_s;
    e->is_used |= e->is_loaded;
    e->since_s = now_s;
}

/* The host, idle since the beginning if nothing has changed there; NULL: its power is not known. */
static host_energy *host_at(const energy *all, int id)
{
    host_energy *e = all->at ? &all->at[id] : NULL;
    if (!e || e->states) return e;
    const power_states *states = power_of_host(all->power, id);
    if (!states || !states->has_power) return NULL;
    *e = (host_energy){.states = states, .since_s = all->begin_s, .power_w = states->state[states->first].idle_w};
    return e;
}

static void loaded(sim *s, void *own, int id)
{
    host_energy *e = host_at(own, id);
    if (!e) return;
    advance(e, s->clock.now_s);
    set_power(s, e, id);
}

/* ---- accounts ---- */

static double *place(sim *s, double **at, int *room, int number)
{
    if (number < *room) return &(*at)[number];
    int grown_room = *room ? 2 * *room : 64;
    while (grown_room <= number) grown_room *= 2;
    double *grown = realloc(*at, (size_t)grown_room * sizeof *grown);
    if (!grown) {
        keep_error(s, SIM_OUT_OF_MEMORY);
        return NULL;
    }
    for (int i = *room; i < grown_room; i++) grown[i] = 0;
    *at = grown;
    *room = grown_room;
    return &grown[number];
}

static int executes(const timeline *t, int state)
{
    return t->is_executing && (state == ASLEEP || state == EXECUTING);
}

static double share_j(const host_energy *e, double now_s)
{
    return e->share_j + e->share_w * (now_s - e->since_s);
}

/* Joules of the execution under way, up to now. */
static double of_execution_j(const sim *s, const energy *all, const host_energy *e, int id)
{
    return s->timelines.at[id].n_threads * (share_j(e, s->clock.now_s) - (id < all->timeline_room ? all->from_j[id] : 0));
}

static void entered(sim *s, void *own, int id, int state)
{
    energy *all = own;
    const timeline *t = &s->timelines.at[id];
    const int was = executes(t, t->state), will = executes(t, state);
    host_energy *e = was != will ? host_at(all, t->host) : NULL;
    if (!e) return;
    advance(e, s->clock.now_s);
    double *from_j = place(s, &all->from_j, &all->timeline_room, id);
    double *account_j = was && from_j ? place(s, &all->account_j, &all->account_room, t->account) : NULL;
    if (account_j) *account_j += t->n_threads * (e->share_j - *from_j);
    if (from_j) *from_j = e->share_j;
    double *taken_j = accounts_of(s)->trace ? place(s, &all->taken_j, &all->taken_room, id) : NULL;
    if (taken_j) *taken_j = e->share_j;
}

/* ---- the watcher ---- */

static void check(const sim *s, const void *own)
{
#ifdef SMPY_CHECK
    const energy *all = own;
    for (int h = 0; all->at && h < all->n_hosts; h++) {
        const host_energy *e = &all->at[h];
        if (e->states && !(e->joules >= 0 && e->since_s <= s->clock.now_s && e->power_w >= 0)) abort();
    }
    if (all->links) link_energy_check(all->links);
#else
    (void)s, (void)own;
#endif
}

static void free_energy(sim *s, void *own)
{
    energy *all = own;
    (void)s;
    link_energy_free(all->links);
    free(all->at);
    free(all->from_j);
    free(all->taken_j);
    free(all->account_j);
    free(all);
}

static const watcher energy_watcher = {.entered = entered, .loaded = loaded, .check = check, .free = free_energy};
static const watcher links_alone = {.check = check, .free = free_energy}; /* where no host says its power */

static energy *energy_of(const sim *s)
{
    energy *all = watch_own(s, &energy_watcher);
    return all ? all : watch_own(s, &links_alone);
}

int sim_keep_energy(sim *s)
{
    const power_table *power = platform_power(s->machine);
    if (!power->n_powered_hosts && !power->n_powered_links) return 0;
    energy *all = calloc(1, sizeof *all);
    if (!all) return SIM_OUT_OF_MEMORY;
    *all = (energy){.begin_s = s->clock.now_s, .power = power, .n_hosts = s->hosts.n};
    int error = 0;
    if (power->n_powered_hosts) {
        all->at = calloc((size_t)s->hosts.n + 1, sizeof *all->at);
        error = all->at ? 0 : SIM_OUT_OF_MEMORY;
    }
    if (!error) all->links = link_energy_begin(s, &error);
    if (!error) error = watch_begin(s, all->at ? &energy_watcher : &links_alone, all);
    if (error) {
        free_energy(s, all);
        return error;
    }
    for (int h = 0; s->changes.host_is_off && h < all->n_hosts; h++)
        if (is_off(s, h)) loaded(s, all, h);
    return 1;
}

/* ---- queries ---- */

double energy_take_j(sim *s, int id)
{
    energy *all = energy_of(s);
    const timeline *t = &s->timelines.at[id];
    const host_energy *e = all ? host_at(all, t->host) : NULL;
    if (!e) return NAN;
    double *taken_j = executes(t, t->state) ? place(s, &all->taken_j, &all->taken_room, id) : NULL;
    if (!taken_j) return 0;
    const double before_j = *taken_j;
    *taken_j = share_j(e, s->clock.now_s);
    return t->n_threads * (*taken_j - before_j);
}

double sim_energy_of_host_j(const sim *s, int host)
{
    const energy *all = energy_of(s);
    const host_energy *e = all ? host_at(all, host) : NULL;
    return e ? e->joules + e->power_w * (s->clock.now_s - e->since_s) : NAN;
}

double sim_power_of_host_w(const sim *s, int host)
{
    const energy *all = energy_of(s);
    const host_energy *e = all ? host_at(all, host) : NULL;
    return e ? e->power_w : NAN;
}

void sim_host_energy_j(const sim *s, double *joules, uint8_t *is_used)
{
    const energy *all = energy_of(s);
    for (int h = 0; h < s->hosts.n; h++) {
        const host_energy *e = all ? host_at(all, h) : NULL;
        joules[h] = sim_energy_of_host_j(s, h);
        is_used[h] = e && (e->is_used || (e->is_loaded && e->since_s < s->clock.now_s));
    }
}

void sim_link_energy_j(const sim *s, double *joules)
{
    const energy *all = energy_of(s);
    for (int link = 0; link < platform_n_links(s->machine); link++) joules[link] = NAN;
    if (all && all->links) link_energy_write(s, all->links, joules);
}

void sim_account_energy_j(const sim *s, int n, double *joules)
{
    const energy *all = energy_of(s);
    for (int i = 0; i < n; i++) joules[i] = all && i + 1 < all->account_room ? all->account_j[i + 1] : 0;
    for (int id = 0; all && id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        const host_energy *e = executes(t, t->state) ? host_at(all, t->host) : NULL;
        if (e && t->account > 0 && t->account <= n) joules[t->account - 1] += of_execution_j(s, all, e, id);
    }
}
