/* ranks.h -- ranks and their timelines as the outside sees them: numbers, clocks, waits, kinds of time. */
#ifndef SMPY_RANKS_H
#define SMPY_RANKS_H
#include <stdint.h>

#include "basics/errors.h"

/* cdef */
enum {                                /* kind of a rank's wait (sim_waiting) */
    WAIT_NOTHING = 0, WAIT_SEND = 1, WAIT_RECV = 2, WAIT_SEVERAL = 3, WAIT_PROBE = 4, WAIT_COLLECTIVE = 5, WAIT_TIME = 6,
    WAIT_WINDOW = 7, WAIT_STORAGE = 8, WAIT_PARKED = 9, WAIT_DEVICE = 10
};

typedef struct {
    int comm, source, tag;
    int64_t bytes;
} message_envelope;

typedef struct {
    int64_t messages, bytes;          /* point-to-point transfers that started, user bytes (collectives' inner ones too) */
    int64_t events, solves, copied_bytes; /* fired events; fair-share solves; bytes of owned copies now alive */
    int64_t progress;                 /* grows with actions but polls, computing and sleeping, and with ends of transfers */
} statistics;

/* Categories of a rank's time. Blocked, it waits for others until the request that ends the wait has matched or, inside a
 * collective, all ranks have entered that; then for a transfer. So does a row of polls that a success ends (poll_row.h). Among
 * polls without one, looks of a blocking probe after its first are apart. So are waits that the end of an access to a file, or of
 * an operation of a device, ends. */
enum {
    SPENT_COMPUTING, SPENT_SLEEPING, SPENT_OVERHEAD, SPENT_POLLING, SPENT_PROBING, SPENT_IO, SPENT_DEVICE,
    SPENT_TRANSFER, SPENT_LATE_SENDER, SPENT_LATE_RECEIVER, SPENT_LATE_MEMBERS,
    SPENT_KINDS,
    SPENT_WAITING = SPENT_KINDS,      /* a blocked timeline's: in a transfer, or for somebody late: its end tells */
    SPENT_SKIPPED,                    /* for iterations that were not performed: a rank's, and of none of its accounts */
    SPENT_NOTHING                     /* in a replay, of a rank that another one starts later: it is not there yet */
};

typedef struct {
    int kind;                         /* WAIT_* */
    int comm, peer, tag;              /* envelope of the request, when there is one */
    int64_t bytes;
    int n_requests;
    int request;                      /* its number, or 0 */
} waiting;

/* ---- ranks and their timelines: both may grow while the world runs ----
 * The ranks that a world begins with have one timeline each, of the rank's number. A new timeline begins at the present date. From
 * its second timeline on a rank's timelines share its cores (shared_cores.h). */
int sim_rank_new(sim *s, int host);                  /* a rank in no communicator, without a timeline: its number */
int sim_timeline_new(sim *s, int rank);              /* its number: what sim_next names and sim_append_* take */
void sim_cores_per_rank(sim *s, int n);              /* cores of its host for each rank, 1 by default; before the run */
int sim_rank_has_one_core(const sim *s);             /* has each? */
int sim_rank_of(const sim *s, int timeline);         /* or SIM_BAD_RANK */
int sim_host_of(const sim *s, int rank);             /* or SIM_BAD_RANK */

/* Must the rank let the kernel catch up before it appends more? (a few hundred actions, a few MiB of payload) */
int sim_is_far_ahead(const sim *s, int timeline);
/* The date at the tail of the rank's timeline, or NaN when the kernel has to find out: then block and read sim_now_s. */
double sim_clock_s(const sim *s, int timeline);
double sim_earliest_clock_s(const sim *s, int timeline); /* a date that it does not come before, known at any time */
int64_t sim_answer(const sim *s, int timeline);          /* of its last action that has one */
double sim_speed_flop_per_s(const sim *s, int timeline); /* speed of a core of its host */

/* The memory bandwidth of a host, and what one core has of it at most (0: all); before anything moves bytes there, and once: 0, or
 * an error. Without it bytes take no time. */
int sim_host_memory(sim *s, int host, double bytes_per_s, double core_bytes_per_s);

/* Cores of hosts from `first` on have a part of their speed while 1, 2, ..., n of them are busy, the last one while more are. The
 * timelines of a rank that has several are not slowed down. Before the run: 0, or an error. */
int sim_host_busy_speed(sim *s, int first, int n_hosts, int n, const double *share);

/* ---- actions that let time pass, and marks ---- */
int sim_append_compute(sim *s, int timeline, double flop, double bytes); /* at once: so many bytes of memory */
/* Likewise in n_threads threads, each on a core: so many flop each, and bytes of all together. SIM_BAD_THREADS: there are fewer
 * cores for each rank. */
int sim_append_threads(sim *s, int timeline, int n_threads, double flop, double bytes);
int sim_append_sleep(sim *s, int timeline, double seconds);
int sim_append_overhead(sim *s, int timeline, double seconds);              /* likewise, inside MPI */
int sim_extend_overhead(sim *s, int timeline, double seconds);   /* one in a row, as part of the last: they need no switch */

/* A timeline parks until another one wakes it or, with a date from now on, until then: the answer is 1 if it was woken, else 0.
 * Whoever wakes a timeline finds it parked: its queue was empty when it appended, and sim_next was called since. */
int sim_append_park(sim *s, int timeline, double until_s); /* INFINITY: without end */
/* Parks without end, at the end of an iteration, and passes time for iterations that are skipped: `whole_s`, of which `rest_s` is
 * left when it is woken. A replay passes all of it. */
int sim_append_gather(sim *s, int timeline);
int sim_append_skip(sim *s, int timeline, double whole_s, double rest_s);
int sim_wake(sim *s, int timeline);                          /* at the present date: 0, or SIM_BAD_REQUEST: it is not parked */
int sim_drop(sim *s, int timeline);                          /* it has ended where it is: what it still does counts for nobody */
/* Ranks from `first` on have been added by the rank of a timeline, and have appended nothing: watchers are told. */
int sim_tell_launch(sim *s, int timeline, int first, int n);
int sim_is_idle(const sim *s, int timeline);                 /* has all that was appended been executed? */
int sim_idle_timeline(const sim *s);                         /* the running one, if so; else -1 */

int sim_append_marker(sim *s, int timeline, int64_t id);                     /* executed notes: sim_notes */
int sim_append_stop(sim *s, int timeline, int64_t id);                     /* ends the run at that date */
int sim_append_end(sim *s, int timeline);
int sim_notes(const sim *s, const int64_t **ids);                      /* executed since the last sim_notes_done */
void sim_notes_done(sim *s);
int64_t sim_stop_id(const sim *s);

void sim_waiting(const sim *s, int timeline, waiting *out);
void sim_finish_s(const sim *s, double *finish_s); /* [ranks] date when a rank's last timeline ended, NaN before */
/* end cdef */
#endif
