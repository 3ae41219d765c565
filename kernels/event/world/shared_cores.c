#include "world/shared_cores.h"

#include <math.h>
#include <stdlib.h>

#include "world/world.h"

void shared_cores_free(shared_cores *all)
{
    for (int i = 1; i <= all->n; i++) resource_free(&all->at[i].cores);
    heap_free(&all->next);
    free(all->at);
}

static int make_room(shared_cores *all)
{
    if (all->n + 1 < all->room) return 0;
    const int room = all->room ? 2 * all->room : 8;
    rank_cores *grown = realloc(all->at, (size_t)room * sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    all->at = grown;
    all->room = room;
    return heap_keep_places(&all->next) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

int shared_cores_begin(sim *s, int rank)
{
    shared_cores *all = &s->shared_cores;
    rank_state *of = &s->timelines.rank[rank];
    if (!of->cores) {
        if (make_room(all) < 0) return SIM_OUT_OF_MEMORY;
        rank_cores *added = &all->at[all->n + 1];
        if (resource_like(&added->cores, &s->hosts.at[of->host].cores, s->cores_per_rank) < 0) return SIM_OUT_OF_MEMORY;
        added->rank = rank;
        added->n_users = 0;
        added->rate_flop_per_s = 0;
        of->cores = ++all->n;
    }
    for (int id = of->first_timeline; id >= 0; id = s->timelines.at[id].next_of_rank) {
        timeline *t = &s->timelines.at[id];
        t->shares_cores = 1;
        if (t->n) t->tail_s = NAN;
    }
    return 0;
}

int shared_cores_of(const sim *s, const timeline *t)
{
    return t->shares_cores && host_has_cores_for_each(&s->hosts.at[t->host]) ? s->timelines.rank[t->rank].cores : 0;
}

/* The host knows how many users its ranks' cores have, and how fast they are served. */
static void count_load(sim *s, rank_cores *of)
{
    host *h = &s->hosts.at[s->timelines.rank[of->rank].host];
    const double rate_flop_per_s = resource_rate_per_s(&of->cores);
    const int n_users = resource_n_users(&of->cores);
    h->n_sharing += n_users - of->n_users;
    h->sharing_flop_per_s += rate_flop_per_s - of->rate_flop_per_s;
    of->n_users = n_users;
    of->rate_flop_per_s = rate_flop_per_s;
    if (!h->n_sharing) h->sharing_flop_per_s = 0;
}

int shared_cores_date(sim *s, int number)
{
    shared_cores *all = &s->shared_cores;
    const resource *cores = &all->at[number].cores;
    const resource_queue *limited = cores->limited ? &cores->limited->queue : NULL;
    count_load(s, &all->at[number]);
    heap_remove(&all->next, number);
    if (!resource_n_users(cores)) return 0;
    const heap *users = cores->free.users.n ? &cores->free.users : &limited->users;
    const int64_t began = -users->item[0].order;
    return heap_push(&all->next, resource_next_s(cores, s->clock.now_s), began, number) < 0 ? SIM_OUT_OF_MEMORY : 0;
}

/* The number of the cores that the timelines of a rank share, told of its first timeline alone; or 0. */
static int told_once(const sim *s, int id)
{
    const rank_state *of = &s->timelines.rank[s->timelines.at[id].rank];
    return of->first_timeline == id ? of->cores : 0;
}

int shared_cores_n_users(const sim *s, int host)
{
    int n = 0;
    for (int id = s->hosts.at[host].first_timeline; id >= 0; id = s->timelines.at[id].next_of_host)
        if (told_once(s, id)) n += resource_n_users(&s->shared_cores.at[told_once(s, id)].cores);
    return n;
}

int shared_cores_set_speed(sim *s, int host)
{
    for (int id = s->hosts.at[host].first_timeline; id >= 0; id = s->timelines.at[id].next_of_host) {
        const int number = told_once(s, id);
        if (!number) continue;
        const resource *like = &s->hosts.at[host].cores;
        resource *own = &s->shared_cores.at[number].cores;
        if (own->limited && like->limited) resource_set_nominal_speed(own, like->limited->nominal_per_s, s->clock.now_s);
        resource_set_speed(own, like->unit_per_s, s->clock.now_s);
        if (shared_cores_date(s, number) < 0) return SIM_OUT_OF_MEMORY;
    }
    return 0;
}
