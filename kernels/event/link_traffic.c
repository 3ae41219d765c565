#include "link_traffic.h"

#include <stdint.h>
#include <stdlib.h>

int link_traffic_init(link_traffic *all, int n_links)
{
    const size_t line = _Alignof(link_state);
    *all = (link_traffic){.memory = calloc((size_t)n_links + 1, sizeof *all->at), .n_links = n_links};
    all->at = (link_state *)(((uintptr_t)all->memory + line - 1) / line * line);
    return all->memory ? 0 : SIM_OUT_OF_MEMORY;
}

void link_traffic_free(link_traffic *all)
{
    free(all->memory);
    free(all->doubtful);
}

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

void link_traffic_begin(link_traffic *all, int n, const int *link, const double *coefficient, double bytes, double now_s)
{
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

void link_traffic_end(link_traffic *all, const fair *shares, int flow, double now_s)
{
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

void link_traffic_solved(link_traffic *all, const fair *shares, int n_changed, double now_s)
{
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

int link_traffic_list(const link_traffic *all, double now_s, link_load *list)
{
    int n = 0;
    for (int link = 0; link < all->n_links; link++) {
        const link_state *k = &all->at[link];
        if (!k->most_flows) continue;
        if (list)
            list[n] = (link_load){.link = link, .most_flows = k->most_flows, .bytes = k->bytes,
                                        .busy_s = k->busy_s + (k->n_flows ? now_s - k->busy_since_s : 0),
                                        .saturated_s = k->saturated_s + (k->is_saturated ? now_s - k->saturated_since_s : 0)};
        n++;
    }
    return n;
}
