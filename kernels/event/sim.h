/* sim.h -- one simulated world: ranks as timelines over a modelled machine.
 *
 * A timeline is a queue of actions that the kernel executes in simulated time; a rank has one, or one for each of its threads. The
 * program's side appends (sim_append_*), then asks "who runs next?" (sim_next). The kernel never calls the program and holds no
 * global state.
 *
 * Laws:
 *   (1) at one date every runnable timeline performs one call in turn, in the order their events fired, then comes the next turn;
 *   (2) sim_next names a timeline only when all that was appended to it has been executed;
 *   (3) sim_next returns after at most about 50 ms of its own work, and what cannot be divided: the events of one date, some
 *       1 us each, and a full fair-share solve (fair.h);
 *   (4) a function that answers with an error checks every number it is given (timeline, rank, communicator, request, schedule)
 *       before it uses it: SIM_BAD_*; a query about a timeline is given one that exists;
 *   (5) payload of a transfer is moved (payload.h) when the transfer ends, before either side's next action;
 *   (6) any timeline of a rank may complete the rank's requests, but two do not wait for one, or test it, at the same time (MPI
 *       forbids it to threads). */
#ifndef SMPY_SIM_H
#define SMPY_SIM_H
#include <stdint.h>
#include "folded_table.h"
#include "platform.h"
#include "strided.h"

/* cdef */
typedef struct sim sim;

enum { SIM_ANY = -1 };                /* any source, any tag */
enum {                                /* answers of sim_next besides a rank */
    SIM_YIELD = -1,                   /* nothing yet: let signals and the progress line live, then call again */
    SIM_STUCK = -2,                   /* no rank can run and none will wake */
    SIM_DONE = -3,                    /* every rank has ended */
    SIM_STOPPED = -4,                 /* a stop action was executed: see sim_stop_id */
    SIM_BROKEN = -5                   /* the kernel cannot go on: see sim_error */
};
enum { SIM_OUT_OF_MEMORY = -10, SIM_NO_ROUTE = -11, SIM_BAD_RANK = -12, SIM_BAD_SCHEDULE = -13,
       SIM_BAD_REQUEST = -14, SIM_BAD_SIZE = -15, SIM_TOO_LATE = -16,
       SIM_HOST_OFF = -20, SIM_LINK_OFF = -21, /* see sim_lost */
       SIM_FIXED_LINKS = -22,         /* the machine's links change, and the network does not follow */
       SIM_HOST_STOPPED = -23 };      /* a host's speed is 0 for good, and a rank computes there: see sim_lost */
enum { SIM_COMM_WORLD = 0 };
enum { SEND_STANDARD = 0, SEND_SYNCHRONOUS = 1, SEND_BUFFERED = 2, /* buffered: whatever its size, as if detached */
       SEND_INNER = 3 };              /* a standard one, but no program's own: part of a collective, say */
enum {                                /* kind of a rank's wait (sim_waiting) */
    WAIT_NOTHING = 0, WAIT_SEND = 1, WAIT_RECV = 2, WAIT_SEVERAL = 3, WAIT_PROBE = 4, WAIT_COLLECTIVE = 5, WAIT_TIME = 6
};
enum { PAYLOAD_NONE = 0, PAYLOAD_BORROWED = 1, PAYLOAD_OWNED = 2, PAYLOAD_PYTHON = 3 };

/* Ranges of a message's bytes, in order and apart. */
typedef struct {
    int64_t n;
    byte_range at[];
} byte_ranges;

/* The payload end of a request; the timing plane never reads it.
 * NONE carries no bytes (folded memory, zero bytes). BORROWED: the memory is kept alive by whoever posted, until the request
 * is complete. OWNED (sends): a copy made by payload_copy, freed on delivery. PYTHON (receives): the bytes are handed over as
 * a delivery. `token` != 0, or `object` != NULL: a delivery tells when the transfer has ended. */
typedef struct {
    char *data;
    int64_t bytes;
    int64_t token;                    /* the Python face's own key */
    void *object;                     /* the compiled surface's reference */
    const strided *layout;            /* BORROWED (receives): where the bytes go, kept alive as the memory is; NULL: one stretch */
    byte_ranges *carried;             /* sends: the bytes with a content, freed on delivery; NULL: see the folded table */
    int kind;
} payload;

typedef struct request {
    int rank;                         /* world rank of the poster */
    int comm;
    int peer;                         /* rank in comm as posted, or SIM_ANY */
    int tag;                          /* tag as posted, or SIM_ANY */
    int64_t bytes;                    /* sent, or capacity of the receive */
    int64_t matched_bytes;            /* receives, once matched: of the message; more than `bytes` means truncation */
    int matched_source;               /* receives, once matched: rank in comm; sends: the poster's own */
    int matched_tag;
    uint8_t is_send;
    uint8_t is_detached;              /* a send that completes at once; the kernel frees it, but for a buffered one */
    uint8_t is_done;
    uint8_t is_cancelled;             /* done, without a transfer */
    int line;                         /* line of the call that posted it (sim_begin_call); 0: none was open */
} request;

/* Work of the payload plane after a transfer: read it, then call sim_deliveries_done. */
typedef struct {
    int request;                      /* request of the side that asked */
    int64_t token;
    void *object;
    char *data;                       /* PAYLOAD_PYTHON: the bytes (valid until sim_deliveries_done), else NULL */
    int64_t bytes;
    int is_cancelled;                 /* there was no transfer, and there will be none */
    const byte_ranges *carried;       /* bytes that have a content (valid as long); NULL: all */
} delivery;

/* Numbers that a rank's schedule reads (TERM_TABLE). */
typedef struct {
    int n;
    const int64_t *table[4];
    int n_entries[4];
} rank_tables;

/* The network: which one, and its numbers. Each reads those that are its own. */
enum { NETWORK_FLOW = 0, NETWORK_IB = 1, NETWORK_CONSTANT = 2 };
typedef struct {
    int kind;                         /* NETWORK_* */
    int n_factors;                    /* piecewise constant in the size on the wire: value of the largest threshold < size */
    double factor_above_bytes[32];
    double latency_factor[32];
    double bandwidth_factor[32];
    double weight_bytes;              /* S: penalty = latency + sum S / bandwidth */
    double tcp_gamma_bytes;           /* bound gamma / (2 latency); 0: none */
    double crosstraffic;              /* share of a flow that its acknowledgements load on the way back */
    double envelope_bytes;            /* added to each message on the wire */
    int factor_caps;                  /* the bandwidth factor lowers a flow's bound; else it scales the rate of its share */
    int has_no_latency, has_no_contention, has_no_bandwidth_limit; /* idealisations: see network_flow.h */
    double ib_inbound, ib_outbound, ib_crowded; /* Be, Bs, ys of network_ib.h */
    double constant_s;                /* time of every transfer: network_constant.h */
} network_model;

/* Costs of MPI's calls to their rank (protocol.h). */
typedef struct {
    int64_t detached_below_bytes;     /* smaller sends complete at once */
    int64_t early_below_bytes;        /* and of these, smaller ones travel when they are posted, received or not */
    int n_send_overhead, n_isend_overhead, n_recv_overhead; /* threshold, constant, per byte */
    double send_overhead[3 * 16];
    double isend_overhead[3 * 16];
    double recv_overhead[3 * 16];
    int rendezvous_overheads;         /* sends above the eager limit and their receives cost theirs, too */
} call_costs;

typedef struct {
    double test_s, iprobe_s;          /* a first poll */
    double iprobe_part;               /* most of a core that a probe takes; above 1: its work is as much more; 0: 1 */
    int grow;                         /* the k-th failed poll in a row, of all ranks, costs k times the first */
    int notice;                       /* instead: polls come in rounds, and are cut short by what they wait for (poll.h) */
} poll_costs;

typedef struct {
    network_model network;
    call_costs calls;
    poll_costs polling;
} model;

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
 * polls without one, looks of a blocking probe after its first are apart. */
enum {
    SPENT_COMPUTING, SPENT_SLEEPING, SPENT_OVERHEAD, SPENT_POLLING, SPENT_PROBING, SPENT_TRANSFER,
    SPENT_LATE_SENDER, SPENT_LATE_RECEIVER, SPENT_LATE_MEMBERS,
    SPENT_KINDS,
    SPENT_WAITING = SPENT_KINDS       /* a blocked timeline's: in a transfer, or for somebody late: its end tells */
};

/* Account of one rank at one call site (account.h). */
enum { ACCOUNT_SIZES = 16 };          /* 0 bytes; then from 4^(k - 1) bytes on, the last one without end */
typedef struct {
    uint32_t messages_of_size[ACCOUNT_SIZES]; /* sent; one cache line. Most calls change only the third: from SPENT_TRANSFER on */
    int64_t sent_bytes, received_bytes, padding;
    double spent_s[SPENT_KINDS];
    int64_t count;                    /* number of calls */
    int rank, call, line, comm;       /* arguments of sim_begin_call; call 0, comm -1: the program's own, up to the line */
    int follower;                     /* the kernel's own: account of the call that last followed this one, or 0 */
} call_account;

/* Loss that broke a world when a host or link was off (SIM_HOST_OFF, SIM_HOST_STOPPED, SIM_LINK_OFF); -1: nothing of that kind. */
typedef struct {
    int host, rank;                   /* the host, and the lowest rank on it */
    int link, source_host, target_host; /* the link, and the ends of the transfer that needs it */
    int request;                      /* request that sends it; 0: not the send of a message */
    int64_t bytes;
} loss_report;

typedef struct {
    int kind;                         /* WAIT_* */
    int comm, peer, tag;              /* envelope of the request, when there is one */
    int64_t bytes;
    int n_requests;
    int request;                      /* its number, or 0 */
} waiting;

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

/* A trace is tables of rows; its columns are told in smpy/records/schema.md. What a rank did (DID_*) it has appended itself. */
enum { TRACE_INTERVALS, TRACE_MESSAGES, TRACE_ACTIONS, TRACE_COMMS, TRACE_REGIONS, TRACE_TABLES };
enum {
    DID_COMPUTE, DID_NOISE_FREE, DID_SLEEP, DID_OVERHEAD, DID_SEND, DID_ISEND, DID_IRECV, DID_RECV, DID_IRECV_HELD, DID_WAIT,
    DID_WAIT_ALL, DID_AND, DID_TEST, DID_TEST_ANY, DID_WAIT_ANY, DID_IPROBE, DID_IMPROBE, DID_GET_STATUS, DID_PROBE, DID_MPROBE,
    DID_CANCEL, DID_COLLECTIVE, DID_START, DID_LATCH, DID_ENTRY, DID_FREE, DID_BEGIN_REGION, DID_END_REGION, DID_TOOK, DID_END,
    DID_KINDS
};
typedef struct {
    double start_s, end_s;
    int64_t message;                  /* -1: none */
    int rank, kind, account, other;   /* SPENT_*; index in sim_accounts, from 1; the rank waited for, or -1 */
} trace_interval;
typedef struct {
    int64_t message, bytes;
    double send_posted_s, receive_posted_s, started_s, ended_s, alone_s; /* NaN: not told apart; by this network not known */
    int source, target, tag, is_inner, send_account, receive_account;
} trace_message;
typedef struct {
    double amount;
    int64_t bytes;
    int rank, action, account, comm, peer, tag, request, detail;
} trace_action;
typedef struct {
    int comm, other, number;          /* the trace's names of it and its other side; the kernel's number while it lives */
    int first, step, n;               /* world ranks first, first + step, ... */
} trace_members;
typedef struct {
    double date_s;
    int rank, region, is_begin, unused;
} trace_mark;

sim *sim_new(const platform *p, const model *m, int n_ranks, const int *host_of_rank); /* NULL: no memory, or no such host */
void sim_free(sim *s);
void sim_make_sends_synchronous(sim *s);             /* all standard sends, from now on */
/* Before the first call: the overheads of ranks on these hosts are not the model's but these: 0, or an error. */
int sim_host_costs(sim *s, int n_hosts, const int *host, const call_costs *costs);
/* The memory bandwidth of a host, and what one core has of it at most (0: all); before anything moves bytes there, and once: 0, or
 * an error. Without it bytes take no time. */
int sim_host_memory(sim *s, int host, double bytes_per_s, double core_bytes_per_s);
int sim_shift(sim *s, double seconds);               /* all dates that are told from now on are later by so much */

/* ---- ranks and their timelines: both may grow while the world runs ----
 * The ranks that a world begins with have one timeline each, of the rank's number. A new timeline begins at the present date. */
int sim_rank_new(sim *s, int host);                  /* a rank in no communicator, without a timeline: its number */
int sim_timeline_new(sim *s, int rank);              /* its number: what sim_next names and sim_append_* take */
int sim_rank_of(const sim *s, int timeline);         /* or SIM_BAD_RANK */
int sim_host_of(const sim *s, int rank);             /* or SIM_BAD_RANK */

/* ---- communicators: rank tables, numbered from SIM_COMM_WORLD on ----
 * An intercommunicator is two of them, one a side: a rank posts on its own side's, and means ranks of the other side. */
int sim_comm_self(sim *s, int rank);                             /* communicator of the rank alone */
int sim_comm_is_self(const sim *s, int comm);
int sim_comm_new(sim *s, int n, const int *world_rank);
int sim_comm_new_inter(sim *s, int n, const int *world_rank, int n_remote, const int *remote_world_rank); /* the first side's */
void sim_comm_free(sim *s, int comm);                            /* its number is used again when nothing names it */
int sim_comm_other(const sim *s, int comm);                      /* the other side's number; its own when there is none */
int sim_comm_peers(const sim *s, int comm);                      /* number of ranks a message may go to or come from */
int sim_comm_size(const sim *s, int comm);
int sim_comm_rank(const sim *s, int comm, int world_rank);       /* -1: not a member */
int sim_comm_world_rank(const sim *s, int comm, int rank);

/* ---- call sites: actions appended between the two belong to the call. A call in another belongs to that ---- */
void sim_begin_call(sim *s, int timeline, int call, int line, int comm);
void sim_end_call(sim *s, int timeline);
/* Number of accounts, listed in the order of their first calls. Accounts of ranks that have not ended are brought up to date. */
int sim_accounts(sim *s, const call_account **list);
void sim_kept_waiting_s(const sim *s, double *kept_s);   /* [ranks] time for which each one kept others waiting */
/* [ranks] waiting of others that is certainly due to each rank's delays (blame.h). */
void sim_caused_waits_s(const sim *s, double *caused_s);
void sim_count_links(sim *s);                            /* count traffic of links; to call before the first message */
void sim_count_pairs(sim *s, int all_pairs);             /* likewise messages by pair. all_pairs: of ranks, however many */
/* Number of pairs that exchanged messages. Their traffic is written to `list` in no order, unless it is NULL. */
int sim_message_pairs(const sim *s, int *is_of_hosts, message_pair *list);
/* Number of links that were used; 0: they are not counted, or not shared. Writes them to `list` in the order of their numbers,
 * unless it is NULL. */
int sim_link_loads(const sim *s, link_load *list);

/* ---- actions that the running rank appends to a timeline; requests are numbered from 1 ---- */
int sim_append_compute(sim *s, int timeline, double flop, double bytes); /* at once: so many bytes of memory */
/* The same for n_calls calls of something that is computed while a call is open, in that one's line. Call 0: the program itself, up
 * to there. */
int sim_append_compute_of(sim *s, int timeline, int call, int n_calls, double flop, double bytes);
/* Adds to sums over the critical path (critical_path.h), where the timeline then is; takes no time. */
enum { PATH_SUMS = 16, PATH_VARIANCE = 15 };             /* the last one is of variances */
int sim_append_to_path(sim *s, int timeline, int sum, double amount, double variance);
int sim_append_sleep(sim *s, int timeline, double seconds);
int sim_append_overhead(sim *s, int timeline, double seconds);              /* likewise, inside MPI */
int sim_extend_overhead(sim *s, int timeline, double seconds);   /* one in a row, as part of the last: they need no switch */
int sim_append_send(sim *s, int timeline, int comm, int dest, int tag, int64_t bytes, int mode, int blocking); /* request */
int sim_sends_at_once(const sim *s, int timeline, int64_t bytes); /* is a standard send complete when it is posted? */
int sim_append_recv(sim *s, int timeline, int comm, int source, int tag, int64_t capacity_bytes);              /* request */
int sim_append_wait(sim *s, int timeline, int request);
int sim_append_wait_all(sim *s, int timeline, int n, const int *request);  /* zeros are skipped */
int sim_append_wait_any(sim *s, int timeline, int n, const int *request);  /* answer: index; 0: complete, < 0: skipped */
int sim_append_test(sim *s, int timeline, int request);                    /* answer: 0 or 1 */
int sim_append_test_any(sim *s, int timeline, int n, const int *request);  /* answer: index, or -1 */
int sim_append_iprobe(sim *s, int timeline, int comm, int source, int tag);/* answer: 0 or 1, then sim_probed */
int sim_append_iprobe_until(sim *s, int timeline, int comm, int source, int tag); /* one after the other until the answer is 1 */
int sim_append_probe(sim *s, int timeline, int comm, int source, int tag); /* then sim_probed */
/* Like them; the answer is the number of the send, which no other receive or probe will find, or 0. */
int sim_append_improbe(sim *s, int timeline, int comm, int source, int tag);
int sim_append_mprobe(sim *s, int timeline, int comm, int source, int tag);
int sim_append_mrecv(sim *s, int timeline, int send, int64_t capacity_bytes);                                  /* request */
int sim_append_get_status(sim *s, int timeline, int request);                    /* answer: 0 or 1; costs an iprobe */
int sim_append_cancel(sim *s, int timeline, int request);                  /* done and is_cancelled, unless it has matched */
int sim_append_collective(sim *s, int timeline, int comm, int schedule, int root, int64_t bytes, const rank_tables *given);
/* A collective whose calls (none of which waits) are made now; the request is done when all of these are and, with a latch, as
 * many ranks have come to it as it was made for. */
int sim_append_start(sim *s, int timeline, int comm, int schedule, int root, int64_t bytes, const rank_tables *given,
                     int latch);                                        /* request */
int sim_latch_new(sim *s, int n_ranks);                                 /* numbered from 1; gone after its last rank's request */
int sim_append_note(sim *s, int timeline, int64_t id);                     /* executed notes: sim_notes */
int sim_append_stop(sim *s, int timeline, int64_t id);                     /* ends the run at that date */
int sim_append_end(sim *s, int timeline);

/* Must the rank let the kernel catch up before it appends more? (a few hundred actions, a few MiB of payload) */
int sim_is_far_ahead(const sim *s, int timeline);
/* The date at the tail of the rank's timeline, or NaN when the kernel has to find out: then block and read sim_now_s. */
double sim_clock_s(const sim *s, int timeline);
double sim_earliest_clock_s(const sim *s, int timeline); /* a date that it does not come before, known at any time */
double sim_speed_flop_per_s(const sim *s, int timeline); /* speed of a core of its host */

/* ---- a trace ---- */
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

/* ---- the loop ---- */
int sim_next(sim *s);                 /* a timeline whose rank is to run it, or SIM_* */
void sim_interrupt(sim *s);           /* the next sim_next says SIM_YIELD at once; async-signal safe */
int sim_running(const sim *s);        /* the timeline last named by sim_next, or -1 */
int sim_running_rank(const sim *s);   /* its rank, or -1 */
double sim_now_s(const sim *s);
int64_t sim_answer(const sim *s, int timeline);
const request *sim_request(const sim *s, int id);
payload *sim_payload(sim *s, int id);   /* its payload end, NONE at first, for the poster to fill in; NULL without memory */
void sim_release(sim *s, int id);     /* the poster is through with it; an active one goes on and is freed when it ends */
const message_envelope *sim_probed(const sim *s, int timeline); /* the message a successful probe found */

char *payload_copy(sim *s, const char *data, int64_t bytes, const strided *layout); /* for PAYLOAD_OWNED; NULL: one stretch */
/* Has a send carry a copy of the bytes with a content: 0, or SIM_OUT_OF_MEMORY. Entries of a layout have a content or none. */
int payload_fill(sim *s, payload *p, const char *data, int64_t bytes, const strided *layout);
/* Has it carry some of its bytes only: 0, or SIM_OUT_OF_MEMORY. */
int payload_restrict(payload *p, int64_t n, const byte_range *carried);
void sim_use_folded_table(sim *s, const folded_table *t); /* tells memory with a content; outlives the world. Without: all */
int sim_deliveries(const sim *s, const delivery **list);
void sim_deliveries_done(sim *s);
int sim_notes(const sim *s, const int64_t **ids);                      /* executed since the last sim_notes_done */
void sim_notes_done(sim *s);
int64_t sim_stop_id(const sim *s);
int sim_error(const sim *s);           /* reason why it is SIM_BROKEN */
int sim_unreached_host(const sim *s, int end); /* SIM_NO_ROUTE: from (0) and to (1) which */
void sim_lost(const sim *s, loss_report *out);
const char *sim_network_name(const sim *s);

/* ---- a replay (replay.h) ---- */
int sim_replay_begin(sim *s);                                    /* before the first call: 0, or an error */
int sim_replay_feed(sim *s, int n, const trace_action *rows);    /* 0, or an error */
int sim_replay_next(sim *s);          /* in place of sim_next; a timeline: its next rows are to be fed, then it is called again */
int sim_replay_is_in_vain(sim *s);    /* have ranks done nothing since its last call but poll for messages that will not come? */
int64_t sim_replay_left_alone(const sim *s); /* sends that nobody waits for, because in the trace they were complete at once */

/* ---- schedules (schedule.h): the steps of a collective, for every rank ---- */
int sim_schedule_new(sim *s, int n_words, const int64_t *words);       /* number, or an error < 0 */

/* ---- results ---- */
enum {                                                                 /* objects that a program leaves behind (sim_left_over) */
    LEFT_SEND = 1, LEFT_RECV = 2,                                      /* posted, without a match */
    LEFT_REQUEST = 3, LEFT_COLLECTIVE = 4                              /* started, and nobody has asked whether it is complete */
};
int sim_left_over(const sim *s, int after, int *kind);                 /* the next request of a program that is; 0: no more */
void sim_statistics(const sim *s, statistics *out);
void sim_waiting(const sim *s, int timeline, waiting *out);
void sim_polling(const sim *s, int timeline, waiting *out); /* likewise, the object it polls for again and again, in vain */
int sim_polls_in_vain(const sim *s, int timeline); /* its last poll was, and it has been told since only to compute and to sleep */
void sim_path(const sim *s, int timeline, double *sums); /* [PATH_SUMS] over the critical path to its date */
void sim_finish_s(const sim *s, double *finish_s); /* [ranks] date when a rank's last timeline ended, NaN before */
void sim_spent_s(const sim *s, double *spent_s); /* [SPENT_KINDS] of the lives of all ranks so far */
/* end cdef */

/* The calls the compiled surface needs, so that it shares the one kernel of the process. */
typedef struct {
    int (*append_send)(sim *, int, int, int, int, int64_t, int, int);
    int (*append_recv)(sim *, int, int, int, int, int64_t);
    int (*append_wait)(sim *, int, int);
    int (*append_wait_all)(sim *, int, int, const int *);
    int (*append_test)(sim *, int, int);
    int (*append_iprobe)(sim *, int, int, int, int);
    int (*append_iprobe_until)(sim *, int, int, int, int);
    int (*append_compute)(sim *, int, double, double);
    int (*append_compute_of)(sim *, int, int, int, double, double);
    int (*append_collective)(sim *, int, int, int, int, int64_t, const rank_tables *);
    int (*is_far_ahead)(const sim *, int);
    int (*sends_at_once)(const sim *, int, int64_t);
    double (*clock_s)(const sim *, int);
    double (*speed_flop_per_s)(const sim *, int);
    int (*next)(sim *);
    double (*now_s)(const sim *);
    int64_t (*answer)(const sim *, int);
    void (*begin_call)(sim *, int, int, int, int);
    void (*end_call)(sim *, int);
    const request *(*request_of)(const sim *, int);
    const message_envelope *(*probed)(const sim *, int);
    payload *(*payload_of)(sim *, int);
    void (*release)(sim *, int);
    int (*fill)(sim *, payload *, const char *, int64_t, const strided *);
    int (*folded_share)(const sim *, const char *, int64_t); /* FOLDED_*: of bytes at an address */
    int (*lies_within)(const strided *, int64_t, int64_t, int64_t);
    int (*deliveries)(const sim *, const delivery **);
    void (*deliveries_done)(sim *);
    int (*notes)(const sim *, const int64_t **);
    int (*comm_size)(const sim *, int);
    int (*comm_peers)(const sim *, int);
    int (*comm_other)(const sim *, int);
    int (*comm_rank)(const sim *, int, int);
    int (*comm_self)(sim *, int);
    int (*rank_of)(const sim *, int);
    int (*polls_in_vain)(const sim *, int);
} kernel_calls;
/* cdef */
const void *sim_kernel_calls(void);   /* a kernel_calls */
/* end cdef */
#endif
