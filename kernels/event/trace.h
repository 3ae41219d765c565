/* trace.h -- the record of a run for later analysis: intervals, messages, and the actions each rank appended.
 *
 * The parts of a world tell it what happens; it adds a row to a table. The outside takes the rows and clears the tables, from time
 * to time: sim_next yields when there are many. smpy/records/schema.md says what the tables mean.
 *
 * Names instead of numbers: requests, communicators and latches are numbered again when they are over; a rank names its requests
 * 1, 2, 3, ..., and the serial numbers of communicators and latches are their names.
 *
 * Invariants: (1) a world without a trace does nothing here;
 *             (2) nothing here has an effect on a date;
 *             (3) of_request has an entry for each request that was posted or started since the trace began. */
#ifndef SMPY_TRACE_H
#define SMPY_TRACE_H
#include "action.h"
#include "poll_state.h"
#include "request.h"

typedef struct {
    int64_t message;             /* message that it sends or has received, -1: none */
    double posted_s, started_s, alone_s;
    int name, held_name;         /* the receiver's, of a send that a matched probe holds */
    uint8_t is_early;
} trace_request;

typedef struct {
    int n_requests;              /* requests that it has named */
    int64_t message;             /* message whose end ended its wait; -1: none */
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
    uint8_t *has_members;        /* by a communicator's serial number, which is its name: they are written */
    int comm_room;
    int64_t n_messages, n_actions_taken; /* rows of actions that the outside has */
    double first_s, last_s;
    int has_actions;
    int is_full;
} trace;

void trace_free(trace *t);

/* Each of these is called in a world with a trace only. */
void trace_interval_of(sim *s, int rank, const held_time *time, int other); /* the rank that was waited for, or -1 */
void trace_waited(sim *s, int rank, const slot *x);      /* a request, or a send that a probe found, ends the rank's wait */
void trace_posted(sim *s, int request);
void trace_set_out(sim *s, int send);                    /* the message is matched, or sets out early */
void trace_matched(sim *s, int recv);
void trace_arrived(sim *s, int send, int recv);

/* Rows of appended actions; the row may be filled in until the next one. NULL: there is none to be written, or no memory. */
trace_action *trace_appended(sim *s, int timeline, int what);
trace_action *trace_starts(sim *s, int timeline, int what, int request); /* names the request */
void trace_amount(sim *s, int timeline, int what, double amount, int64_t bytes);
void trace_more_overhead(sim *s, int timeline, double seconds); /* added to its last action */
void trace_wait(sim *s, int timeline, int request);      /* the wait may follow the start of its request at once */
void trace_list(sim *s, int timeline, int what, int n, const int *request, int detail);
void trace_collective(sim *s, int timeline, trace_action *row, int comm, int schedule, int root, int64_t bytes,
                      const rank_tables *given);
void trace_region(sim *s, int timeline, int region, int is_begin); /* it is executed */
void trace_polled(sim *s, int timeline, const trace_action *poll, int is_found); /* reads its action, request, comm, peer, tag */
/* A probe that is repeated until it finds something is known when it is appended: others may follow before its answer. */
void trace_iprobe_until(sim *s, int timeline, int comm, int source, int tag);
void trace_in_vain(sim *s, int timeline);                /* it has not */
void trace_released(sim *s, int request);
int trace_name(const sim *s, int request);               /* 0: it has none */
int trace_holds(sim *s, int timeline, int send);         /* a matched probe has found it: the receiver's name for it */
int trace_held_name(const sim *s, int send);
#endif
