#include "critical_path.h"

#include <stdlib.h>

#include "world.h"

void critical_paths_free(critical_paths *all)
{
    if (!all) return;
    free(all->timelines.at);
    free(all->requests.at);
    free(all->transfers.at);
    free(all);
}

/* The place of a number; NULL without memory: then the world is broken. What has none yet has an empty path. */
static path_place *place(sim *s, path_places *all, int id)
{
    if (id >= all->room) {
        int room = all->room ? all->room : 64;
        while (room <= id) room *= 2;
        path_place *grown = realloc(all->at, (size_t)room * sizeof *grown);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        for (int i = all->room; i < room; i++) grown[i] = (path_place){0};
        all->at = grown;
        all->room = room;
    }
    return &all->at[id];
}

/* The path of what happens now. */
static path now(const critical_paths *all)
{
    if (all->calling < 0) return all->ended;
    return all->calling < all->timelines.room ? all->timelines.at[all->calling].path : (path){0};
}

void path_calls(sim *s, int timeline)
{
    if (s->paths) s->paths->calling = timeline;
}

void path_asks(sim *s, int timeline)
{
    path_place *t = s->paths ? place(s, &s->paths->timelines, timeline) : NULL;
    if (t) t->asked_s = t->looked_s > 0 ? t->looked_s : s->clock.now_s;
}

void path_acts(sim *s, int timeline)
{
    path_place *t = s->paths ? place(s, &s->paths->timelines, timeline) : NULL;
    if (t) t->looked_s = 0;
}

void path_looks_in_vain(sim *s, int timeline)
{
    path_place *t = s->paths ? place(s, &s->paths->timelines, timeline) : NULL;
    if (t) t->looked_s = s->clock.now_s;
}

void path_sets_out(sim *s, int transfer)
{
    path_place *on_its_way = s->paths ? place(s, &s->paths->transfers, transfer) : NULL;
    if (on_its_way) on_its_way->path = now(s->paths);
}

void path_ends(sim *s, int transfer)
{
    if (!s->paths) return;
    s->paths->calling = -1;
    s->paths->ended = transfer < s->paths->transfers.room ? s->paths->transfers.at[transfer].path : (path){0};
}

void path_reaches(sim *s, int request)
{
    path_place *x = s->paths ? place(s, &s->paths->requests, request) : NULL;
    if (x) *x = (path_place){.path = now(s->paths), .came_s = s->clock.now_s};
}

void path_wakes(sim *s, int timeline)
{
    path_place *t = s->paths ? place(s, &s->paths->timelines, timeline) : NULL;
    if (t) t->path = now(s->paths);
}

void path_finds(sim *s, int timeline, int request)
{
    if (!s->paths || request >= s->paths->requests.room) return;
    path_place *t = place(s, &s->paths->timelines, timeline);
    const path_place *x = &s->paths->requests.at[request];
    if (t && x->came_s > t->asked_s) t->path = x->path;
}

int path_add(sim *s, int timeline, int sum, double amount, double variance)
{
    if (!s->paths) {
        s->paths = calloc(1, sizeof *s->paths);
        if (!s->paths) return SIM_OUT_OF_MEMORY;
        s->paths->calling = timeline;
    }
    path_place *t = place(s, &s->paths->timelines, timeline);
    if (!t) return SIM_OUT_OF_MEMORY;
    t->path.sum[sum] += amount;
    t->path.sum[PATH_VARIANCE] += variance;
    return 0;
}

void sim_path(const sim *s, int timeline, double *sums)
{
    const path_places *all = s->paths ? &s->paths->timelines : NULL;
    for (int i = 0; i < PATH_SUMS; i++) sums[i] = all && timeline < all->room ? all->at[timeline].path.sum[i] : 0;
}
