/* trace.h -- the record of a run for later analysis: intervals, messages, and the actions each rank appended.
 *
 * It watches a world (watch.h), and adds rows to tables. The outside takes the rows and clears the tables, from time to
 * time: sim_next yields when there are many. smpy/records/schema.md says what the tables mean.
 *
 * Names instead of numbers: requests, communicators and latches are numbered again when they are over; a rank names its requests
 * 1, 2, 3, ..., and the serial numbers of communicators and latches are their names.
 *
 * The first timeline of a rank is its own program, all others are threads: these have intervals in a table of their own. A rank has
 * no actions from its second timeline on: they would have no order.
 *
 * Invariants: (1) a world without a trace does nothing here;
 *             (2) nothing here has an effect on a date;
 *             (3) of_request has an entry for each request that was posted or started since the trace began. */
#ifndef SMPY_TRACE_H
#define SMPY_TRACE_H
#include "mpi/request.h"
#include "watchers/account.h"

typedef struct {
    int64_t message;             /* message that it sends or has received, -1: none */
    double posted_s, started_s, alone_s;
    int name, held_name;         /* the receiver's, of a send that a matched probe holds */
    int thread;                  /* the thread that posted it, or 0 */
    uint8_t is_early;
} trace_request;

/* The end of a timeline's wait. */
typedef struct {
    int64_t message;             /* message whose end ended it; -1: none */
    int by;                      /* timeline that woke it, or a thread of the rank waited for where no message tells; or -1 */
} trace_wait;

typedef struct {
    int number;                  /* or 0: no thread, or of a rank that is left out */
    trace_wait wait;
} trace_thread;

typedef struct {
    int n_requests;              /* requests that it has named */
    trace_wait wait;             /* of its own program */
    int64_t last_poll;           /* its last row, if that is a poll in vain: its place among all actions; or -1 */
    int64_t last_overhead;       /* likewise, an overhead */
    int64_t last_start;          /* likewise, a blocking send or a receive, which nothing has followed */
    int64_t until;               /* the row of the probe that it repeats until it finds something; or -1 */
    uint8_t is_left_out;
} trace_rank;

typedef struct {
    char *row;
    int n, room;
} trace_table;

typedef struct trace {
    trace_table table[TRACE_TABLES];
    trace_request *of_request;
    int request_room;
    trace_rank *rank;
    int rank_room, has_some_ranks;
    trace_thread *thread;        /* by timeline */
    int thread_room, n_threads;
    uint8_t *has_members;        /* by a communicator's serial number, which is its name: they are written */
    int comm_room;
    int64_t n_messages, n_actions_taken; /* rows of actions that the outside has */
    double first_s, last_s;
    int has_actions;
} trace;

/* For other watchers. The first four are called in a world with a trace only; the others do nothing in one without. */
void trace_interval_of(sim *s, const timeline *t, const held_time *time, int other); /* the rank that was waited for, or -1 */
void trace_waited(sim *s, const timeline *t, const slot *x); /* a request, or a send that a probe found, ends its wait */
void trace_has_waited(sim *s, const timeline *t);        /* its next intervals are of no message */
void trace_ended(sim *s, const timeline *t);
void trace_region(sim *s, int timeline, int region, int is_begin); /* it is executed */
#endif
