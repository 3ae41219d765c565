/* link_traffic.c -- traffic of each link, and the time for which it was busy and saturated.
 *
 * A flow is on the links that it loads from the end of its latency phase on. A link is saturated while its flows take all of it.
 *
 * Invariants: (1) n_flows is the number of flows on a link;
 *             (2) a link is saturated only while it has flows;
 *             (3) a link that was saturated when a flow left it is in `doubtful` until the next solve, which looks once at each
 *                 of them, and of the links of flows whose shares have changed;
 *             (4) n_saturated counts the saturated links: while there are none, a solve reads the state of no link that has room
 *                 for all its flows. */
#include <stdint.h>
#include <stdlib.h>

#include "solver/fair.h"
#include "watchers/records.h"
#include "world/world.h"

typedef struct {
    _Alignas(64) int n_flows;    /* one cache line: a message changes those of all links on its way */
    int most_flows;
    int is_saturated, is_doubtful;
    double busy_since_s, saturated_since_s;
    double busy_s, saturated_s;
    double bytes;
} link_state;

typedef struct {
    const sim_clock *clock;
    link_state *at;              /* by link, in `memory`: a page takes none until a flow touches it */
    void *memory;
    int n_links, n_saturated;
    int *doubtful, n_doubtful, room;
} link_traffic;

static void saturate(link_traffic *all, link_state *k, int is_saturated, double now_s)
{
    if (k->is_saturated == is_saturated) return;
    if (is_saturated)
        k->saturated_since_s = now_s;
    else
        k->saturated_s += now_s - k->saturated_since_s;
    all->n_saturated += is_saturated ? 1 : -1;
    k->is_saturated = is_saturated;
}

static void began(void *own, int n, const int *link, const double *coefficient, double bytes)
{
    link_traffic *all = own;
    const double now_s = all->clock->now_s;
    for (int i = 0; i < n; i++) {
        link_state *k = &all->at[link[i]];
        if (k->n_flows++ == 0) k->busy_since_s = now_s;
        if (k->n_flows > k->most_flows) k->most_flows = k->n_flows;
        if (coefficient[i] >= 1) k->bytes += bytes;
    }
}

/* Without memory it stays as it was until a flow of its changes. */
static void doubt(link_traffic *all, int link)
{
    if (all->n_doubtful == all->room) {
        const int room = all->room ? 2 * all->room : 64;
        int *grown = realloc(all->doubtful, (size_t)room * sizeof *grown);
        if (!grown) return;
        all->doubtful = grown;
        all->room = room;
    }
    all->doubtful[all->n_doubtful++] = link;
    all->at[link].is_doubtful = 1;
}

static void ends(void *own, const fair *shares, int flow)
{
    link_traffic *all = own;
    const double now_s = all->clock->now_s;
    for (int i = 0; i < fair_n_links(shares, flow); i++) {
        const int link = fair_link_at(shares, flow, i);
        link_state *k = &all->at[link];
        if (--k->n_flows == 0) {
            k->busy_s += now_s - k->busy_since_s;
            saturate(all, k, 0, now_s);
        } else if (k->is_saturated && !k->is_doubtful) {
            doubt(all, link);
        }
    }
}

static void solved(void *own, const fair *shares, int n_changed)
{
    link_traffic *all = own;
    const double now_s = all->clock->now_s;
    const int *changed = fair_changed(shares);
    for (int i = 0; i < n_changed; i++) {
        for (int j = 0; j < fair_n_links(shares, changed[i]); j++) {
            const int link = fair_link_at(shares, changed[i], j);
            const int was_saturated = all->n_saturated && all->at[link].is_saturated;
            if (!was_saturated && fair_has_room(shares, link)) continue;
            if (!all->at[link].is_doubtful) doubt(all, link);
        }
    }
    for (int i = 0; i < all->n_doubtful; i++) {
        link_state *k = &all->at[all->doubtful[i]];
        saturate(all, k, k->n_flows > 0 && fair_is_saturated(shares, all->doubtful[i]), now_s);
        k->is_doubtful = 0;
    }
    all->n_doubtful = 0;
}

/* ---- the watcher ---- */

static void free_traffic(sim *s, void *own)
{
    link_traffic *all = own;
    (void)s;
    free(all->memory);
    free(all->doubtful);
    free(all);
}

static const watcher traffic_watcher = {.free = free_traffic}; /* it hears of flows from the network (network_flow.h) */

int sim_count_links(sim *s)
{
    const network *net = &s->network;
    if (!net->kind->watch_links) return 0;
    link_traffic *all = calloc(1, sizeof *all);
    if (!all) return SIM_OUT_OF_MEMORY;
    const size_t line = _Alignof(link_state), n_links = (size_t)platform_n_links(s->machine);
    *all = (link_traffic){.clock = &s->clock, .memory = calloc(n_links + 1, sizeof *all->at), .n_links = (int)n_links};
    all->at = (link_state *)(((uintptr_t)all->memory + line - 1) / line * line);
    if (!all->memory || watch_begin(s, &traffic_watcher, all) < 0) {
        free_traffic(s, all);
        return SIM_OUT_OF_MEMORY;
    }
    const int error = network_watch_links(s, &(link_watcher){.began = began, .ends = ends, .solved = solved, .own = all});
    return error < 0 ? error : 0;
}

int sim_link_loads(const sim *s, link_load *list)
{
    const link_traffic *all = watch_own(s, &traffic_watcher);
    int n = 0;
    for (int link = 0; all && link < all->n_links; link++) {
        const link_state *k = &all->at[link];
        const double now_s = all->clock->now_s;
        if (!k->most_flows) continue;
        if (list)
            list[n] = (link_load){.link = link, .most_flows = k->most_flows, .bytes = k->bytes,
                                  .busy_s = k->busy_s + (k->n_flows ? now_s - k->busy_since_s : 0),
                                  .saturated_s = k->saturated_s + (k->is_saturated ? now_s - k->saturated_since_s : 0)};
        n++;
    }
    return n;
}
