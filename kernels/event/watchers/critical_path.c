/* critical_path.c -- sums over the critical path to each timeline's date: the chain of calls and transfers each of which was the
 * last that the next one waited for.
 *
 * Sums are kept from the first amount on; before, a world has none. A timeline that goes on by itself keeps its path. One that
 * was blocked takes the path of its cause: a transfer, whose path is that of the side posted last, or another timeline's call. So
 * does one that begins, or is woken; and one whose poll finds a message that came while the poll lasted, or while it looked at
 * other requests. Shares of links, cores and memory are no part of a path: it ignores who shared them with whom.
 *
 * Invariants: (1) the present event has the path of the timeline whose call it is, or of the transfer that has ended;
 *             (2) a request has the path of its completion, before that of its posting. */
#include <stdlib.h>

#include "mpi/mpi_world.h"
#include "watchers/records.h"

typedef struct {
    double sum[PATH_SUMS];
} path;

typedef struct {
    path path;
    double asked_s;              /* a timeline's: when its last poll began, */
    double looked_s;             /* or when one of several looks failed, if it has done nothing but poll since; 0: it has */
    double came_s;               /* a request's: when it was posted, or completed */
} path_place;

typedef struct {
    path_place *at;
    int room;
} path_places;

typedef struct {
    path_places timelines, requests, transfers; /* by their numbers */
    int calling;                 /* the timeline whose call happens now, or -1: */
    path ended;                  /* a transfer has ended, on this path */
} critical_paths;

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

/* ---- events ---- */

static void called(sim *s, void *own, int timeline)
{
    critical_paths *all = own;
    const action *a = timeline_first(&s->timelines.at[timeline]);
    const int nature = a->kind->nature, is_action = nature < ACTION_POLL, asks = !is_action && a->stage == 0;
    path_place *t = is_action || (asks && nature != ACTION_NOTHING) ? place(s, &all->timelines, timeline) : NULL;
    all->calling = timeline;
    if (t && is_action)
        t->looked_s = 0;
    else if (t)
        t->asked_s = t->looked_s > 0 ? t->looked_s : s->clock.now_s;
}

/* A blocked one goes on because of the present event. */
static void entered(sim *s, void *own, int timeline, int state)
{
    critical_paths *all = own;
    path_place *t = s->timelines.at[timeline].state == WAITING ? place(s, &all->timelines, timeline) : NULL;
    (void)state;
    if (t) t->path = now(all);
}

static void woken(sim *s, void *own, int timeline, int by)
{
    critical_paths *all = own;
    path_place *t = by >= 0 ? place(s, &all->timelines, timeline) : NULL;
    if (!t) return;
    all->calling = by;
    t->path = now(all);
}

static void looked(sim *s, void *own, int timeline, int request)
{
    critical_paths *all = own;
    path_place *t = place(s, &all->timelines, timeline);
    if (!t) return;
    if (!request) t->looked_s = s->clock.now_s;
    const path_place *x = request && request < all->requests.room ? &all->requests.at[request] : NULL;
    if (x && x->came_s > t->asked_s) t->path = x->path;
}

/* A request is posted, or completed. */
static void reached(sim *s, void *own, int request)
{
    critical_paths *all = own;
    path_place *x = place(s, &all->requests, request);
    if (x) *x = (path_place){.path = now(all), .came_s = s->clock.now_s};
}

/* A request is complete. An access to a file or a device goes on by the path of its beginning. */
static void completed(sim *s, void *own, int request)
{
    critical_paths *all = own;
    const path_place *x = mpi_of(s)->requests.at[request].access ? place(s, &all->requests, request) : NULL;
    if (x) {
        all->calling = -1;
        all->ended = x->path;
    }
    reached(s, own, request);
}

static void set_out(sim *s, void *own, int transfer)
{
    critical_paths *all = own;
    path_place *on_its_way = place(s, &all->transfers, transfer);
    if (on_its_way) on_its_way->path = now(all);
}

static void arrived(sim *s, void *own, int transfer)
{
    critical_paths *all = own;
    (void)s;
    all->calling = -1;
    all->ended = transfer < all->transfers.room ? all->transfers.at[transfer].path : (path){0};
}

static void free_paths(sim *s, void *own)
{
    critical_paths *all = own;
    (void)s;
    free(all->timelines.at);
    free(all->requests.at);
    free(all->transfers.at);
    free(all);
}

static const watcher paths_watcher = {.called = called, .entered = entered, .woken = woken, .looked = looked,
                                      .posted = reached, .completed = completed, .set_out = set_out, .arrived = arrived,
                                      .free = free_paths};

/* ---- the action that adds to a sum; it takes no time and no turn ---- */

static critical_paths *begin(sim *s, int timeline)
{
    critical_paths *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    all->calling = timeline;
    if (watch_begin(s, &paths_watcher, all) == 0) return all;
    free(all);
    return NULL;
}

static int add(sim *s, int timeline, int sum, double amount, double variance)
{
    critical_paths *all = watch_own(s, &paths_watcher);
    if (!all) all = begin(s, timeline);
    path_place *t = all ? place(s, &all->timelines, timeline) : NULL;
    if (!t) return SIM_OUT_OF_MEMORY;
    t->path.sum[sum] += amount;
    t->path.sum[PATH_VARIANCE] += variance;
    return 0;
}

static int step(sim *s, int id, action *a)
{
    const int error = add(s, id, a->path.sum, a->path.amount, a->path.variance);
    action_end(s, id);
    return error < 0 ? error : FREE_OF_CHARGE;
}

static const action_kind kind = {.name = "path", .step = step, .nature = ACTION_TIME, .keeps_tail = 1};

int sim_append_to_path(sim *s, int id, int sum, double amount, double variance)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (sum < 0 || sum >= PATH_VARIANCE) return SIM_BAD_SIZE;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->path.sum = sum;
    a->path.amount = amount;
    a->path.variance = variance;
    return 0;
}

void sim_path(const sim *s, int timeline, double *sums)
{
    const critical_paths *paths = watch_own(s, &paths_watcher);
    const path_places *all = paths ? &paths->timelines : NULL;
    for (int i = 0; i < PATH_SUMS; i++) sums[i] = all && timeline < all->room ? all->at[timeline].path.sum[i] : 0;
}
