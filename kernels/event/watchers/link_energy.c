/* link_energy.c -- Joules of links (energy.h). It hears of transfers and flows from the network (network_kind.h). */
#include <math.h>
#include <stdlib.h>

#include "basics/heap.h"
#include "machine/power.h"
#include "solver/fair.h"
#include "watchers/energy.h"
#include "world/world.h"

typedef struct {
    double since_s, joules;
    double load_bytes_per_s;     /* of a SHARED link */
    heap *loads;                 /* of a FATPIPE one, by 1 / load, the largest first; ids are flows */
    const link_power *power;
    int link, n_flows;
} powered_link;

struct link_energy {
    const sim *world;
    powered_link *at;
    int n;
    int *number_of;              /* by link; -1: its power is not known */
    double *share_bytes_per_s;   /* by flow (fair.h), as it is in the loads */
    int flow_room;
    int is_out_of_memory;
};

/* ---- loads ---- */

static double load_of(const powered_link *k)
{
    if (!k->loads) return k->load_bytes_per_s;
    return k->loads->n ? 1 / k->loads->item[0].date_s : 0;
}

static double power_w(const link_energy *all, const powered_link *k)
{
    const double part = load_of(k) / network_bandwidth_bytes_per_s(all->world)[k->link];
    return k->power->idle_w + part * (k->power->busy_w - k->power->idle_w);
}

/* The power of this instant counts for the time that has passed. */
static void count(const link_energy *all, powered_link *k)
{
    const double now_s = all->world->clock.now_s;
    k->joules += power_w(all, k) * (now_s - k->since_s);
    k->since_s = now_s;
}

/* A flow's part of a FATPIPE link. */
static void set_part(link_energy *all, powered_link *k, int flow, double load_bytes_per_s)
{
    if (heap_has(k->loads, flow)) heap_remove(k->loads, flow);
    if (load_bytes_per_s > 0 && heap_push(k->loads, 1 / load_bytes_per_s, 0, flow) < 0) all->is_out_of_memory = 1;
}

/* A flow has another share. */
static void change(link_energy *all, const fair *shares, int flow, double share_bytes_per_s)
{
    const double more_bytes_per_s = share_bytes_per_s - all->share_bytes_per_s[flow];
    all->share_bytes_per_s[flow] = share_bytes_per_s;
    for (int i = 0; i < fair_n_links(shares, flow); i++) {
        const int number = all->number_of[fair_link_at(shares, flow, i)];
        if (number < 0) continue;
        const double coefficient = fair_coefficient_at(shares, flow, i);
        if (all->at[number].loads)
            set_part(all, &all->at[number], flow, coefficient * share_bytes_per_s);
        else
            all->at[number].load_bytes_per_s += coefficient * more_bytes_per_s;
    }
}

/* ---- events ---- */

/* Links of a route have coefficients of 1 and more; acknowledgements alone are no transfer. */
static void set_out(void *own, int n, const int *link, const double *coefficient)
{
    link_energy *all = own;
    for (int i = 0; i < n; i++) {
        const int number = all->number_of[link[i]];
        if (number >= 0 && coefficient[i] >= 1) count(all, &all->at[number]);
    }
}

static void began(void *own, int n, const int *link, const double *coefficient, double bytes)
{
    link_energy *all = own;
    (void)coefficient, (void)bytes;
    for (int i = 0; i < n; i++) {
        const int number = all->number_of[link[i]];
        if (number >= 0) all->at[number].n_flows++;
    }
}

static int make_room(link_energy *all, int flow)
{
    if (flow < all->flow_room) return 0;
    int room = all->flow_room ? 2 * all->flow_room : 64;
    while (room <= flow) room *= 2;
    double *grown = realloc(all->share_bytes_per_s, (size_t)room * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    for (int i = all->flow_room; i < room; i++) grown[i] = 0;
    all->share_bytes_per_s = grown;
    all->flow_room = room;
    return 0;
}

static void solved(void *own, const fair *shares, int n_changed)
{
    link_energy *all = own;
    const int *changed = fair_changed(shares);
    for (int i = 0; i < n_changed; i++) {
        if (make_room(all, changed[i]) < 0)
            all->is_out_of_memory = 1;
        else
            change(all, shares, changed[i], fair_share_bytes_per_s(shares, changed[i]));
    }
}

static void ends(void *own, const fair *shares, int flow)
{
    link_energy *all = own;
    const int n = fair_n_links(shares, flow);
    const double share_bytes_per_s = flow < all->flow_room ? all->share_bytes_per_s[flow] : 0;
    for (int i = 0; i < n; i++) {
        const int number = all->number_of[fair_link_at(shares, flow, i)];
        if (number < 0) continue;
        powered_link *k = &all->at[number];
        const double coefficient = fair_coefficient_at(shares, flow, i);
        if (coefficient >= 1) count(all, k);
        if (k->loads)
            set_part(all, k, flow, 0);
        else
            k->load_bytes_per_s -= coefficient * share_bytes_per_s;
        if (--k->n_flows == 0) k->load_bytes_per_s = 0;
    }
    if (flow < all->flow_room) all->share_bytes_per_s[flow] = 0;
}

/* ---- begin and end ---- */

void link_energy_free(link_energy *all)
{
    if (!all) return;
    for (int i = 0; all->at && i < all->n; i++) {
        if (all->at[i].loads) heap_free(all->at[i].loads);
        free(all->at[i].loads);
    }
    free(all->at);
    free(all->number_of);
    free(all->share_bytes_per_s);
    free(all);
}

/* 0, or an error. */
static int add_links(link_energy *all, const power_table *power)
{
    const platform *p = all->world->machine;
    const int n_links = platform_n_links(p);
    all->at = calloc((size_t)power->n_powered_links, sizeof *all->at);
    all->number_of = malloc(((size_t)n_links + 1) * sizeof *all->number_of);
    if (!all->at || !all->number_of) return SIM_OUT_OF_MEMORY;
    for (int link = 0; link < n_links; link++) {
        const link_power *of = power_of_link(power, link);
        all->number_of[link] = of ? all->n : -1;
        if (!of) continue;
        powered_link *k = &all->at[all->n++];
        *k = (powered_link){.since_s = all->world->clock.now_s, .power = of, .link = link};
        if (platform_policy(p)[link] != LINK_FATPIPE) continue;
        k->loads = calloc(1, sizeof *k->loads);
        if (!k->loads) return SIM_OUT_OF_MEMORY;
        heap_init(k->loads, 1);
        if (!k->loads->place) return SIM_OUT_OF_MEMORY;
    }
    return 0;
}

link_energy *link_energy_begin(sim *s, int *error)
{
    const power_table *power = platform_power(s->machine);
    if (!power->n_powered_links) return NULL;
    link_energy *all = calloc(1, sizeof *all);
    *error = all ? 0 : SIM_OUT_OF_MEMORY;
    if (!all) return NULL;
    all->world = s;
    *error = add_links(all, power);
    const link_watcher watcher = {.began = began, .ends = ends, .solved = solved, .own = all, .set_out = set_out};
    if (!*error) {
        const int told = network_watch_links(s, &watcher);
        *error = told < 0 ? told : 0;
    }
    if (!*error) return all;
    link_energy_free(all);
    return NULL;
}

void link_energy_write(const sim *s, const link_energy *all, double *joules)
{
    for (int i = 0; i < all->n; i++) {
        const powered_link *k = &all->at[i];
        joules[k->link] = all->is_out_of_memory ? NAN : k->joules + power_w(all, k) * (s->clock.now_s - k->since_s);
    }
}

#ifdef SMPY_CHECK
void link_energy_check(const link_energy *all)
{
    for (int i = 0; i < all->n; i++) {
        const powered_link *k = &all->at[i];
        if (k->n_flows < 0 || (k->loads && !heap_check(k->loads))) abort();
        if (!k->n_flows && load_of(k) != 0) abort();
    }
}
#endif
