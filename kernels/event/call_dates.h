/* call_dates.h -- dates of a rank's calls: a trace has actions without dates, and intervals and messages with dates.
 *
 * Actions and intervals are in the order of the rank: the intervals of an action are those of its site that follow the intervals of
 * the action before. A message says when its sides were posted, and when it had arrived. Actions of one site that follow each other
 * and take no time in between share their intervals: of such collectives the last one has all of the time, and an action has none
 * beyond the date at which one behind it posts a message.
 *
 * Invariants: (1) an interval belongs to one action at most, and a side of a message to the one action that posted it;
 *             (2) a request is open from the action that posted it to the one that completes it;
 *             (3) an action begins where the one before it ended, or later. */
#ifndef SMPY_CALL_DATES_H
#define SMPY_CALL_DATES_H
#include <stdint.h>

/* cdef */
enum {                                /* kinds of actions, by the time that they take */
    DATED_NONE,                       /* no call */
    DATED_INSTANT, DATED_ALONE,       /* no time; one interval */
    DATED_SKIPPED,                    /* one interval, and those of its kind behind it */
    DATED_OTHER,                      /* all intervals of its site */
    DATED_POST, DATED_POST_BUFFERED, DATED_POST_AND_WAIT,
    DATED_WAIT, DATED_WAIT_ALL, DATED_WAIT_ANY, DATED_AND, /* a DATED_AND has one more request of the list before it */
    DATED_TEST, DATED_TEST_ANY,       /* waits that may have polled in vain before */
    DATED_COLLECTIVE, DATED_START, DATED_ENTRY /* a DATED_ENTRY is of a table of the collective before it */
};

enum { DATED_ANY_TAG = -1, DATED_NO_QUEUE = -1, DATED_NO_MESSAGE = -1, DATED_NO_ACTION = -1 };

typedef struct {
    int n_actions, n_intervals, overhead; /* overhead: a kind of intervals */
    double start_s;                       /* of the rank: later than 0 if another one has started it */
    const int8_t *kind, *alone_kind;      /* of actions; kind of the intervals of a DATED_ALONE or DATED_SKIPPED */
    const int *site, *tag, *request;      /* requests have numbers from 0 */
    const int *queue;                     /* of the side of a message that the action posts, or DATED_NO_QUEUE */
    const int *chosen;                    /* of a list: the number of the request that is over, from 1; 0: none */
    const double *interval_end_s;
    const int *interval_site;
    const int8_t *interval_kind;
    const int *first_of_queue;            /* [n_queues + 1]: sides with one site and partner, in the order of matching */
    const int *message_tag;
    const double *posted_s, *ended_s;     /* of this side; of the message */
    int *next_of_queue;                   /* scratch: a copy of first_of_queue */
    uint8_t *is_posted;                   /* scratch: 0 for each side of a message */
    int *open, *started;                  /* scratch: DATED_NO_ACTION for each request; the action that posted it, or started it */
    double *begin_s, *end_s;              /* [n_actions], zeros; of those with is_call */
    uint8_t *is_call;                     /* [n_actions], zeros */
    int *message;                         /* [n_actions], DATED_NO_MESSAGE: the side that it posted */
    int *over;                            /* [n_actions]: actions whose requests are over, started collectives behind others */
    int *first_over;                      /* [n_actions + 1]: place in `over` of those that the action completed */
} dated_actions;

/* Returns the number of intervals that belong to the actions or lie between them. */
int call_dates_find(dated_actions *actions);
/* end cdef */
#endif
