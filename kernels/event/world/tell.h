/* tell.h -- tells events (watch.h) to the watchers of a world.
 *
 * The accounts, the first watcher, do not listen to all: events that they do not hear begin with the second. */
#ifndef SMPY_TELL_H
#define SMPY_TELL_H
#include "world/world.h"

/* Does anybody but the accounts listen? */
static inline int is_watched(const sim *s)
{
    return s->watching.n > 1;
}

static inline void tell_added(sim *s, int rank)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->added) all->at[i].is->added(s, all->at[i].own, rank);
}

static inline void tell_appended(sim *s, int timeline, const appended_action *did)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->appended) all->at[i].is->appended(s, all->at[i].own, timeline, did);
}

static inline void tell_called(sim *s, int timeline)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->called) all->at[i].is->called(s, all->at[i].own, timeline);
}

static inline void tell_entered(sim *s, int timeline, int state)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->entered) all->at[i].is->entered(s, all->at[i].own, timeline, state);
}

static inline void tell_posted(sim *s, int request)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->posted) all->at[i].is->posted(s, all->at[i].own, request);
}

static inline void tell_matched(sim *s, int send, int recv)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->matched) all->at[i].is->matched(s, all->at[i].own, send, recv);
}

static inline void tell_set_out(sim *s, int transfer)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->set_out) all->at[i].is->set_out(s, all->at[i].own, transfer);
}

static inline void tell_arrived(sim *s, int transfer)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->arrived) all->at[i].is->arrived(s, all->at[i].own, transfer);
}

static inline void tell_received(sim *s, int send, int recv)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->received) all->at[i].is->received(s, all->at[i].own, send, recv);
}

static inline void tell_completed(sim *s, int request)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->completed) all->at[i].is->completed(s, all->at[i].own, request);
}

static inline void tell_let_in(sim *s, int timeline, int by)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->let_in) all->at[i].is->let_in(s, all->at[i].own, timeline, by);
}

static inline void tell_looked(sim *s, int timeline, int request)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->looked) all->at[i].is->looked(s, all->at[i].own, timeline, request);
}

static inline void tell_polled(sim *s, int timeline, const poll_question *asked, int is_found)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->polled) all->at[i].is->polled(s, all->at[i].own, timeline, asked, is_found);
}

static inline void tell_loaded(sim *s, int host)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->loaded) all->at[i].is->loaded(s, all->at[i].own, host);
}

static inline void tell_fetch(const sim *s, const timeline *t)
{
    const watching *all = &s->watching;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].is->fetch) all->at[i].is->fetch(all->at[i].own, t);
}
#endif
