#include "world/watch.h"

#include "world/tell.h"

static const transfer_listener listener = {tell_set_out, tell_arrived};

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
    if (is_watched(s)) s->network.listener = &listener;
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
}

#ifdef SMPY_CHECK
void watch_check(const sim *s)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->check) all->at[i].is->check(s, all->at[i].own);
}
#endif
