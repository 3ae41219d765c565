/* watch.h -- the events of a world, and its watchers. Actions tell, watchers listen.
 *
 * A watcher is a struct of functions, one an event; NULL: it does not listen. Parts of a world tell events with tell.h, and know no
 * watcher. Accounts (account.h) are the first watcher of every world; all others come when somebody asks for them.
 *
 * Laws: (1) watchers are told in the order they came;
 *       (2) a watcher changes nothing but its own state, so that no date depends on it. */
#ifndef SMPY_WATCH_H
#define SMPY_WATCH_H
#include "world/row_kind.h"
#include "world/timeline.h"


/* An action as a rank appends it: the columns that its kind of row has, in this world's numbers of requests, communicators and
 * schedules. */
typedef struct {
    const row_kind *kind;
    trace_action row;
    int n;                       /* requests of a list, */
    const int *request;          /* or NULL */
    const rank_tables *given;    /* numbers that a collective reads, or NULL */
} appended_action;

typedef struct {
    void (*added)(sim *s, void *own, int rank);              /* to those that the world began with */
    /* At the date of the program's side, which may be ahead of the world's: */
    void (*appended)(sim *s, void *own, int timeline, const appended_action *did); /* by timeline -1: a request is released */
    /* At the world's date: */
    void (*called)(sim *s, void *own, int timeline);         /* its first action makes its next call */
    void (*entered)(sim *s, void *own, int timeline, int state); /* it enters the state, and is still in the one before */
    void (*posted)(sim *s, void *own, int request);
    void (*matched)(sim *s, void *own, int send, int recv);
    void (*set_out)(sim *s, void *own, int transfer);
    void (*arrived)(sim *s, void *own, int transfer);        /* its owner learns of it next */
    void (*received)(sim *s, void *own, int send, int recv); /* a message has arrived, and is complete next */
    void (*completed)(sim *s, void *own, int request);       /* its waiter learns of it next */
    void (*let_in)(sim *s, void *own, int timeline, int by); /* it goes on because timeline `by` has left what only one may enter */
    /* It is to begin, or to be parked no more, by timeline `by`; -1: the outside. */
    void (*woken)(sim *s, void *own, int timeline, int by);
    void (*looked)(sim *s, void *own, int timeline, int request); /* a poll has found it; 0: one of several is not complete */
    /* A poll has its answer. `asked` is NULL: another action than polls, computing and sleeping follows the polls before. */
    void (*polled)(sim *s, void *own, int timeline, const poll_question *asked, int is_found);

    void (*loaded)(sim *s, void *own, int host);             /* its load, its speed, or whether it is on, has changed */

    void (*fetch)(const void *own, const timeline *t); /* prefetches memory that the timeline's next turn will touch */
    void (*check)(const sim *s, const void *own);            /* the invariants, in a debug build */
    void (*free)(sim *s, void *own);
} watcher;

enum { WATCHERS_MAX = 8 };

/* The watchers that listen to an event: bit i is watcher i. Events without a hearer, most of them in most runs, cost one test. */
typedef struct {
    unsigned added, appended, called, entered, posted, matched, set_out, arrived, received, completed, let_in, looked, polled,
        loaded, fetch;
} event_hearers;

typedef struct {
    int n;
    struct { const watcher *is; void *own; } at[WATCHERS_MAX];
    event_hearers hearers;
} watching;

/* A watcher comes, with a state of its own that it will free: 0, or SIM_OUT_OF_MEMORY when there are too many. One of its kind that
 * came before goes. */
int watch_begin(sim *s, const watcher *is, void *own);
void *watch_own(const sim *s, const watcher *is); /* its state; NULL: it does not watch */
void watch_free(sim *s);

#ifdef SMPY_CHECK
void watch_check(const sim *s);
#endif
#endif
