#include "world/watch.h"

#include "world/tell.h"

static const transfer_listener listener = {tell_set_out, tell_arrived};

static void hear(unsigned *hearers, int i, int listens)
{
    if (listens) *hearers |= 1U << i;
}

static void add_hearer(event_hearers *to, int i, const watcher *is)
{
    hear(&to->added, i, is->added != NULL);
    hear(&to->appended, i, is->appended != NULL);
    hear(&to->called, i, is->called != NULL);
    hear(&to->entered, i, is->entered != NULL);
    hear(&to->posted, i, is->posted != NULL);
    hear(&to->matched, i, is->matched != NULL);
    hear(&to->set_out, i, is->set_out != NULL);
    hear(&to->arrived, i, is->arrived != NULL);
    hear(&to->received, i, is->received != NULL);
    hear(&to->completed, i, is->completed != NULL);
    hear(&to->let_in, i, is->let_in != NULL);
    hear(&to->looked, i, is->looked != NULL);
    hear(&to->polled, i, is->polled != NULL);
    hear(&to->loaded, i, is->loaded != NULL);
    hear(&to->fetch, i, is->fetch != NULL);
}

int watch_begin(sim *s, const watcher *is, void *own)
{
    watching *all = &s->watching;
    int i = 0;
    while (i < all->n && all->at[i].is != is) i++;
    if (i == WATCHERS_MAX) return SIM_OUT_OF_MEMORY;
    if (i < all->n) is->free(s, all->at[i].own);
    if (i == all->n) all->n++;
    all->at[i].is = is;
    all->at[i].own = own;
    add_hearer(&all->hearers, i, is);
    if (all->hearers.set_out || all->hearers.arrived) s->network.listener = &listener;
    return 0;
}

void *watch_own(const sim *s, const watcher *is)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is == is) return all->at[i].own;
    return NULL;
}

void watch_free(sim *s)
{
    watching *all = &s->watching;
    while (all->n) {
        all->n--;
        all->at[all->n].is->free(s, all->at[all->n].own);
    }
    all->hearers = (event_hearers){0};
}

#ifdef SMPY_CHECK
void watch_check(const sim *s)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->check) all->at[i].is->check(s, all->at[i].own);
}
#endif
