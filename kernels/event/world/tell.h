/* tell.h -- tells events (watch.h) to the watchers of a world that listen to them. */
#ifndef SMPY_TELL_H
#define SMPY_TELL_H
#include "world/world.h"

/* Does a watcher listen to appended actions? */
static inline int is_watched(const sim *s)
{
    return s->watching.hearers.appended != 0;
}

/* Takes the first watcher from a set that is not empty: its number. */
static inline int take_hearer(unsigned *left)
{
    const int first = __builtin_ctz(*left);
    *left &= *left - 1;
    return first;
}

static inline void tell_added(sim *s, int rank)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.added; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->added(s, all->at[i].own, rank);
    }
}

static inline void tell_appended(sim *s, int timeline, const appended_action *did)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.appended; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->appended(s, all->at[i].own, timeline, did);
    }
}

static inline void tell_called(sim *s, int timeline)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.called; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->called(s, all->at[i].own, timeline);
    }
}

static inline void tell_entered(sim *s, int timeline, int state)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.entered; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->entered(s, all->at[i].own, timeline, state);
    }
}

static inline void tell_posted(sim *s, int request)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.posted; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->posted(s, all->at[i].own, request);
    }
}

static inline void tell_matched(sim *s, int send, int recv)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.matched; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->matched(s, all->at[i].own, send, recv);
    }
}

static inline void tell_set_out(sim *s, int transfer)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.set_out; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->set_out(s, all->at[i].own, transfer);
    }
}

static inline void tell_arrived(sim *s, int transfer)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.arrived; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->arrived(s, all->at[i].own, transfer);
    }
}

static inline void tell_received(sim *s, int send, int recv)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.received; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->received(s, all->at[i].own, send, recv);
    }
}

static inline void tell_completed(sim *s, int request)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.completed; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->completed(s, all->at[i].own, request);
    }
}

static inline void tell_let_in(sim *s, int timeline, int by)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.let_in; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->let_in(s, all->at[i].own, timeline, by);
    }
}

static inline void tell_woken(sim *s, int timeline, int by)
{
    const watching *all = &s->watching;
    for (int i = 1; i < all->n; i++)
        if (all->at[i].is->woken) all->at[i].is->woken(s, all->at[i].own, timeline, by);
}

static inline void tell_looked(sim *s, int timeline, int request)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.looked; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->looked(s, all->at[i].own, timeline, request);
    }
}

static inline void tell_polled(sim *s, int timeline, const poll_question *asked, int is_found)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.polled; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->polled(s, all->at[i].own, timeline, asked, is_found);
    }
}

static inline void tell_loaded(sim *s, int host)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.loaded; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->loaded(s, all->at[i].own, host);
    }
}

static inline void tell_fetch(const sim *s, const timeline *t)
{
    const watching *all = &s->watching;
    for (unsigned left = all->hearers.fetch; left;) {
        const int i = take_hearer(&left);
        all->at[i].is->fetch(all->at[i].own, t);
    }
}
#endif
