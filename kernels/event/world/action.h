/* action.h -- the steps of a timeline: an action is of a kind, and a kind is four functions.
 *
 * A new kind is one file: its four functions, a `static const action_kind`, and a function that appends it. An action's own
 * state is its part of the union; `other` is for kinds from outside this folder, whose files need this header, sim.h and what they
 * set under way (transfer.h): tests/extending/put.c is one to copy.
 *
 * Invariants: (1) `stage` is 0 when an action comes first in its timeline;
 *             (2) an action stays at its address while it is first, unless its timeline is appended to;
 *             (3) a kind's `free` is called once for each action, when it leaves its timeline or its world is freed. */
#ifndef SMPY_ACTION_H
#define SMPY_ACTION_H
#include <stddef.h>

#include "world/ranks.h"
#include "world/row_kind.h"

typedef struct action action;

/* Answer of a step, if not an error < 0. */
enum {
    MADE_A_CALL,                 /* the timeline goes on in the next turn */
    BLOCKED,                     /* until something wakes it */
    FREE_OF_CHARGE               /* the timeline goes on in this turn: the next stage, or the next action */
};

enum {                           /* nature of an action, to watchers of a run's progress */
    ACTION_PROGRESS,
    ACTION_TIME,                 /* computing, sleeping: neither progress nor the end of a row of polls */
    ACTION_POLL,
    ACTION_POLL_LOOP,            /* polls as a program does until one finds something */
    ACTION_REPEATED_POLL,        /* looks again and again until it finds something */
    ACTION_NOTHING               /* ignored */
};

typedef struct {
    const char *name;
    /* The next call of the first action of a timeline. */
    int (*step)(sim *s, int timeline, action *a);
    /* A request whose waiter the timeline is has been completed; NULL: the kind waits for no requests. */
    void (*told)(sim *s, int timeline, action *a, int request);
    /* Gives back what the action owns; NULL: nothing. */
    void (*free)(sim *s, action *a);
    /* Writes the object that a timeline blocked in the action waits for; NULL: nothing that has a name. */
    void (*describe)(const sim *s, const action *a, waiting *out);
    int nature;                  /* ACTION_* */
    const row_kind *row;         /* of a poll, which tells its answer; or NULL */
    int cpu_order;               /* of ordered operations that become ready together, the lower begins first */
    int keeps_tail;              /* the date at the timeline's tail stays known: it takes no time, or the tail includes it */
} action_kind;

struct action {
    const action_kind *kind;
    int stage;                   /* progress, as the kind counts it */
    int account;                 /* account of the call that it is part of */
    union {
        struct { double flop, bytes; int n_threads; } compute;
        struct { double seconds; int spent_on; } sleep; /* SPENT_* */
        struct { int sum; double amount, variance; } path;
        struct { double until_s; int spent_on; } park; /* SPENT_* */
        struct { int first, n; } launch; /* ranks */
        struct { int request; } post, cancel, wait_collective;
        struct { int request; struct storage_range *range; } file_access; /* the range is owned */
        struct { int request; uint8_t stream, is_copy, detail; double flop, bytes; } device; /* detail: of its row */
        struct collective_test {
            int request;
            int under_test, is_found; /* index of the request of the collective that it looks at; was that over? */
        } test_collective;
        struct {                 /* waits and tests; `list` is owned; NULL: of `one` */
            int *list;
            int one, n;
            int n_pending;       /* requests that it still waits for */
            int n_ended;         /* and those that ended and that it has not learnt of */
        } wait;
        struct { int request; double flop; int64_t n_sends; } probe; /* whose status is asked for, or the timeline's `wanted`;
                                                                     * n_sends_queued (poll.h) when it looked last */
        struct { struct collective_run *run; } collective;
        struct {                 /* accesses, their completion and locks (window.h) */
            union {
                struct { int send, recv; };
                struct pending *pending; /* receives that it completes: owned, or NULL */
            };
            int comm, rank;      /* of the part */
            int next_waiting;    /* timeline that waits for the same gate, behind this one */
            unsigned from : 27;  /* 1 + the rank at the other end of what it completes, or 0: any */
            unsigned access : 3, gate : 1, is_shared : 1;
        } window;
        struct { int64_t id; } mark;
        struct { void *data; int64_t number[2]; } other; /* `data` is the kind's to free */
    };
};

action *action_append(sim *s, int timeline, const action_kind *kind); /* NULL without memory: then the world is broken */
void action_end(sim *s, int timeline);                   /* the first one is over */
/* The timeline stays in its first action until action_wake; its time goes to `spends` (SPENT_*). The step then answers what this
 * answers: BLOCKED. */
int action_block(sim *s, int timeline, int spends);
void action_wake(sim *s, int timeline);                  /* the first action's next step is in the next turn */
#endif
