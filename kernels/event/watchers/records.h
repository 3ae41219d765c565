/* records.h -- records of a run: accounts, pairs, links, sums over the critical path, and the trace. */
#ifndef SMPY_RECORDS_H
#define SMPY_RECORDS_H
#include <stdint.h>

#include "world/ranks.h"
#include "world/rows.h"

/* cdef */
/* Account of one rank at one call site (account.h). */
enum { ACCOUNT_SIZES = 16 };          /* 0 bytes; then from 4^(k - 1) bytes on, the last one without end */
typedef struct {
    uint32_t messages_of_size[ACCOUNT_SIZES]; /* sent; one cache line. Most calls change only the third: from SPENT_DEVICE on */
    int64_t sent_bytes, received_bytes;
    double spent_s[SPENT_KINDS];
    int64_t count;                    /* number of calls */
    int rank, call, line, comm;       /* arguments of sim_begin_call; call 0, comm -1: the program's own, up to the line */
} call_account;

/* Messages from one rank to another, or from one host to another. */
typedef struct {
    int source, target;
    int64_t messages, bytes;
} message_pair;

/* Traffic of a link. Its flows are there from the end of their latency phase on. */
typedef struct {
    int link, most_flows;             /* at once */
    double bytes, busy_s, saturated_s; /* with flows on it; with flows that take all of it */
} link_load;

/* ---- call sites: actions appended between the two belong to the call. A call in another belongs to that ---- */
void sim_begin_call(sim *s, int timeline, int call, int line, int comm);
void sim_end_call(sim *s, int timeline);
/* Makes n accounts, from arrays of their ranks, and of calls, lines and communicators as in sim_begin_call, for a replay, whose
 * rows name accounts by number. The number of the first one, or an error. */
int sim_new_accounts(sim *s, int n, const int *rank, const int *call, const int *line, const int *comm);
/* Number of accounts, listed in the order of their first calls. Accounts of ranks that have not ended are brought up to date. */
int sim_accounts(sim *s, const call_account **list);
/* The same in the middle of a run, which it does not change: times of ranks that have not ended end at their last event. */
int sim_accounts_so_far(const sim *s, const call_account **list);
void sim_skipped_s(const sim *s, double *skipped_s);     /* [ranks] time of iterations that each one did not perform */
void sim_kept_waiting_s(const sim *s, double *kept_s);   /* [ranks] time for which each one kept others waiting */
/* [ranks] waiting of others that is certainly due to each rank's delays (blame.h). */
void sim_caused_waits_s(const sim *s, double *caused_s);
int sim_count_links(sim *s);                             /* count traffic of links; before the first message. 0, or an error */
int sim_count_pairs(sim *s, int all_pairs); /* likewise messages by pair; all_pairs: of ranks, however many. 0, or an error */
/* Number of pairs that exchanged messages. Their traffic is written to `list` in no order, unless it is NULL. */
int sim_message_pairs(const sim *s, int *is_of_hosts, message_pair *list);
/* Number of links that were used; 0: they are not counted, or not shared. Writes them to `list` in the order of their numbers,
 * unless it is NULL. */
int sim_link_loads(const sim *s, link_load *list);
void sim_spent_s(const sim *s, double *spent_s); /* [SPENT_KINDS] of the lives of all ranks so far */

/* Like sim_append_threads, for n_calls calls of something that is computed while a call is open, in that one's line. Call 0: the
 * program itself, up to there. */
int sim_append_compute_of(sim *s, int timeline, int call, int n_calls, int n_threads, double flop, double bytes);

/* Adds to sums over the critical path (critical_path.c), where the timeline then is; takes no time. */
enum { PATH_SUMS = 20, PATH_VARIANCE = 19 };             /* the last one is of variances */
int sim_append_to_path(sim *s, int timeline, int sum, double amount, double variance);
void sim_path(const sim *s, int timeline, double *sums); /* [PATH_SUMS] over the critical path to its date */

/* ---- a trace ---- */
/* A trace is tables of rows; its columns are told in smpy/records/schema.md. Rows of actions: row_kind.h. */
enum { TRACE_INTERVALS, TRACE_MESSAGES, TRACE_ACTIONS, TRACE_COMMS, TRACE_REGIONS, TRACE_THREADS, TRACE_THREAD_INTERVALS,
       TRACE_THREAD_MESSAGES, TRACE_WAKE_UPS, TRACE_TABLES };
typedef struct {
    double start_s, end_s;
    double power_w;                   /* mean of the rank's part above its host's idle power; NaN: not known */
    int64_t message;                  /* -1: none */
    int location, kind, account, other; /* rank or, in TRACE_THREAD_INTERVALS, thread; SPENT_*; index in sim_accounts, from 1;
                                         * the rank waited for, or -1 */
} trace_interval;
typedef struct {
    int64_t message, bytes;
    double send_posted_s, receive_posted_s, started_s, ended_s, alone_s; /* NaN: not told apart; by this network not known */
    int source, target, tag, is_inner, send_account, receive_account;
} trace_message;
typedef struct {
    int comm, other, number;          /* the trace's names of it and its other side; the kernel's number while it lives */
    int first, step, n;               /* world ranks first, first + step, ... */
} trace_members;
typedef struct {
    double date_s;
    int rank, region, is_begin, thread; /* 0: the rank's own program */
} trace_mark;
/* Threads are the timelines of ranks but for the first, numbered from 1 in the order in which they begin. */
typedef struct {
    double date_s;
    int thread, rank, timeline, is_begin;
} trace_thread_mark;
typedef struct {
    int64_t message;
    int send_thread, receive_thread;  /* 0: the rank's own program */
} trace_message_threads;
typedef struct {
    double date_s;                    /* a thread, or 0: a rank's own program, begins or goes on because of another one */
    int rank, thread, by_rank, by_thread;
} trace_wake_up;

/* Before the first call. Intervals and messages that touch [first_s, last_s] and the ranks with a 1 (NULL: all) are written; what
 * ranks append only when that is everything. 0, or an error. */
int sim_trace_begin(sim *s, double first_s, double last_s, const uint8_t *ranks);
int sim_trace_rows(const sim *s, int table);                     /* number of rows since they were taken */
/* Takes all rows of a table: writes n columns of them, each the member of the row at an offset and of 4 or 8 bytes. */
void sim_trace_take(sim *s, int table, int n, const int *offset, const int *bytes, char *const *column);
/* Computing of a call without the noise that is drawn for it; `has_noisy`: the noisy one is appended next. `call` is that of
 * sim_append_compute_of. */
void sim_trace_noise_free(sim *s, int timeline, int call, double flop, int has_noisy);
int sim_append_region(sim *s, int timeline, int region, int is_begin);      /* takes no time; a row of TRACE_REGIONS */
/* end cdef */
#endif
