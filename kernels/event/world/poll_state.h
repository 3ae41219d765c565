/* poll_state.h -- a timeline's memory of its polls (poll.h). */
#ifndef SMPY_POLL_STATE_H
#define SMPY_POLL_STATE_H
#include "world/action.h"

/* The identity of a poll: two polls ask the same when all members are equal. */
typedef struct {
    const action_kind *kind;     /* NULL: no question */
    int request;                 /* 0: it is a probe; -1: for any of several */
    int n_requests, first;       /* requests polled: their number and the first one */
    int comm, source, tag;       /* envelope of a probe */
} poll_question;

static inline int poll_is_same(const poll_question *a, const poll_question *b)
{
    return a->kind == b->kind && a->request == b->request && a->n_requests == b->n_requests && a->first == b->first &&
           a->comm == b->comm && a->source == b->source && a->tag == b->tag;
}

typedef struct {
    poll_question in_vain;       /* the last poll, when it failed and nothing else was done since */
    poll_question first_asked;   /* if polls notice: first of a row that failed, with nothing in between and nothing new */
    int n_rounds, n_in_round;    /* times it was asked again, and polls since */
    double each_s, since_s;      /* the poll under way: length of each poll it stands for, and its beginning; 0: none */
    int is_awaiting;             /* it takes no time, and waits for something new */
} poll_state;

/* A time of one kind, in one call. */
typedef struct {
    double start_s, end_s;
    double above_idle_j;         /* with a trace: Joules of computing (energy.h); NaN: not known */
    int kind, account;           /* SPENT_*; number of the account, or 0 */
} held_time;

typedef struct {
    held_time *held;             /* not yet charged (poll_row.h) */
    int n, room;
    int is_mixed;                /* its polls asked different questions */
    int rank;                    /* the rank that all polls of a mixed row ask for, or -1 */
} poll_row;
#endif
