/* world.h -- the parts of one world, for the kernel's own files only.
 *
 * Numbers, not pointers, name requests, timelines and flows: the pools behind them grow.
 * A request lives from its append until it is done and nobody will ask again; a flow from the match until the last byte. */
#ifndef SMPY_WORLD_H
#define SMPY_WORLD_H
#include <signal.h>

#include "fair.h"
#include "heap.h"
#include "lanes.h"
#include "schedule.h"
#include "sim.h"

/* ---- requests ---- */
typedef struct {
    request is;                  /* what the outside sees */
    int context;                 /* 2 comm for programs, 2 comm + 1 for collectives: they never match each other */
    int target;                  /* world rank of the receiver */
    union {
        int next;                /* in its queue (match.c), or in the free list */
        int partner;             /* before it is posted, a receive's of a matched probe: the send it found */
    };
    union {
        int next_seen;           /* of an unexpected send: in its receiver's list of arrivals, */
        int entry;               /* or in the index of them */
    };
    int previous;                /* in that list; of a posted receive: in its queue */
    int waiter;                  /* timeline to tell, or -1 */
    int waiter_index;            /* of the request in the waiter's call, or among its group's */
    int group;                   /* the request of a collective that was started, whose calls made this one; or 0 */
    int payload;                  /* in the pool of payloads, or 0 */
    int n_cancels;               /* actions that are to take it back, not yet executed */
    uint8_t is_released;
    uint8_t has_overhead;        /* a receive that pays the receive overhead: see rendezvous_overheads */
    uint8_t is_queued;           /* posted, and without a match */
    uint8_t is_group;            /* of a collective that was started */
    uint8_t has_matched;
    uint8_t is_free;             /* no request: its number is that of nothing */
    union {
        int64_t posted;          /* when it was posted, as a count */
        double matched_s;        /* when its transfer started */
        struct performance *show;/* of a group */
    };
} slot;

typedef struct {
    slot *at;                    /* numbered from 1; 0 is nobody */
    int n, room, free;
} slot_pool;

typedef struct {
    payload *at;                  /* numbered from 1; of a free one, `kind` is the next free one */
    int n, room, free;
} payload_pool;

/* ---- matching (match.c) ---- */
typedef struct {
    int head, tail;              /* slots in posting order: all sends or all receives of one key, which is the head's */
    int next;                    /* in its bucket, or in the free list */
    uint32_t hash;               /* of the key: saves looking at the head of another one */
} match_queue;

typedef struct {
    int queue, next, previous;   /* slots of the same queue, or 0 */
} match_place;

typedef struct {
    match_place in[3];           /* of an unexpected send: in the queue of each pattern that has a wildcard */
} match_entry;

/* What a receiver has of programs. */
typedef struct {
    int first_send, last_send;   /* unexpected sends in order of arrival, */
    int n_indexed;               /* unless so many of them, which are all, are in the index */
    int n_wild[4];               /* posted receives of each pattern that has a wildcard; [0]: 0 */
} match_seen;

typedef struct {
    match_queue *queue;          /* numbered from 1 */
    int n, room, free, used;
    int *bucket;
    int n_buckets;               /* a power of two */
    match_seen *seen;            /* [n_ranks] */
    match_entry *entry;          /* numbered from 1; of a free one, in[0].next is the next free one */
    int n_entries, entry_room, free_entry;
    int64_t posted;
    int64_t steps;               /* under SMPY_CHECK: queues and sends that searches looked at */
} matching;

int match_init(matching *m, int n_ranks);
void match_free(matching *m);
/* Posts slot `id`: the partner it matches, or 0 after queueing it; negative without memory. */
int match_send(matching *m, slot_pool *pool, int id);
int match_recv(matching *m, slot_pool *pool, int id);
int match_probe(matching *m, slot_pool *pool, int context, int target, int source, int tag); /* send, or 0; or an error */
void match_take_send(matching *m, slot_pool *pool, int id);      /* the one match_probe found: nothing will match it */
int match_withdraw(matching *m, slot_pool *pool, int id);        /* 1, or 0 when it has matched */

/* ---- communicators (comm.c) ---- */
typedef struct {
    int n;
    int first;                   /* rank r is world rank first + r when world is NULL */
    int *entered;                /* the instance (instance.c) each rank entered last; NULL before the first collective */
    int other;                   /* number of the side it talks to: its own, unless it is an intercommunicator */
    int is_freed, n_uses;        /* by its ranks; by requests and collectives under way */
    int next;                    /* in the free list */
    int *world;
    int *sorted;                 /* ranks in order of their world rank, for the way back */
} comm_table;

/* ---- flows (flow.c) ---- */
typedef struct {
    int send, recv;
    int share;                   /* number in the fair-share solver, -1 in the latency phase; or next free flow */
    int row;                     /* of the model's factors, -1: none */
    double rate_bytes_per_s, remaining_bytes, since_s;
    int64_t order;               /* of creation */
} flow;

/* What the solver is told of a flow. */
typedef struct {
    double penalty, bound_bytes_per_s;
    int n, room;                 /* links with their coefficients */
    int *link;
    double *coefficient;
} flow_links;

/* ---- processors (cpu.c) ---- */
typedef struct {
    double speed_flop_per_s;
    int cores, n_ranks;
    int n_running;
    int n_under_way;             /* executions, sleeps and waits for one request */
    double served_flop;          /* that one execution has received since the host was idle */
    double since_s;
    int64_t touched, mark;       /* the date (its date_order) its executions were scheduled at, or -1; and when then, as a count */
    heap running;                /* by served_flop at completion, of equal ones the newest first; ids are timelines */
} processor;

/* ---- timelines ---- */
enum {
    DO_COMPUTE, DO_SLEEP, DO_POST, DO_WAIT, DO_WAIT_ALL, DO_WAIT_ANY, DO_WAIT_GROUP, DO_TEST, DO_TEST_ANY, DO_TEST_GROUP,
    DO_IPROBE, DO_PROBE, DO_IMPROBE, DO_MPROBE, DO_GET_STATUS, DO_CANCEL, DO_COLLECTIVE, DO_NOTE, DO_STOP, DO_END
};

static inline int is_poll(int what)
{
    return what >= DO_TEST && what <= DO_GET_STATUS;
}

typedef struct {
    int what;
    int id;                      /* request, number of requests in the list, or what a pause is (SPENT_*) */
    union {
        double amount;           /* flop or seconds */
        int64_t note;
        int *list;               /* owned */
        struct performance *show;
    } with;
} action;

/* What a group knows of each request its calls made. */
enum { UNDER_WAY, DETACHED, OVER, LEARNT };

typedef struct performance {
    schedule_frame frame;
    schedule_call call;
    int comm;
    int n_awaited, n_background; /* requests of the call under way; outstanding ones */
    int n_ended, n_background_ended; /* of either, that it has not learnt of */
    int instance;                /* which collective of the communicator it is, or 0 */
    double owed_s;               /* receive overheads of outstanding ones that ended before they were waited for */
    int group;                   /* its request, when the rank goes on meanwhile; or 0 */
    int latch, next_at_latch;      /* the latch, or 0; the group that came to it next */
    int is_halted;               /* all its calls are made */
    int n_made, made_room;
    uint8_t *made;               /* UNDER_WAY ..., of a group's requests in order */
    double *owed_of_s;           /* receive overhead of each, in models that have some */
    int first_over;              /* none before it is OVER */
    int under_test, is_found;    /* which of them a Test looks at, and whether that one was over */
    struct performance *next;    /* in the free list */
} performance;

/* ---- latches (group.c) ---- */
typedef struct {
    int n_to_come, n_missing;    /* ranks that have not called for it; of which the call was not performed */
    int n_users;                 /* groups that are not over, of all it was made for */
    int first, last;             /* groups that came, linked by next_at_latch */
    int next;                    /* in the free list */
} latch;

/* ---- instances (instance.c): one collective of a communicator ---- */
typedef struct {
    int n_missing;               /* ranks that have not entered */
    int n_users;                 /* ranks that have not entered the next one, and performances */
    int next;                    /* the one that follows it, or 0; or in the free list */
    double complete_s;           /* when the last rank entered; before, infinite */
} instance;

/* What fires at one date: sleeps and executions by date, then the network's in order of creation. */
typedef struct {
    int is_host, id;             /* a host, or a timeline */
    double date_s;
    int64_t epoch, place, order; /* at equal dates: see elapse.c */
} due;

typedef struct {
    int64_t order;
    int id, is_latency;          /* the flow, and which of its phases ends */
} flow_due;

enum { AWAKE, ASLEEP, COMPUTING, WAITING, ENDED };

/* What a poll looks for; `what` is DO_COMPUTE where nothing is. */
typedef struct {
    int what, id, comm, peer, tag;
} question;

typedef struct {
    action *queue;               /* a ring */
    int first, n, room;
    int state, spends;           /* and what its time goes to (SPENT_*) */
    double since_s;              /* it is in this state */
    double met_s;                /* from when on nobody kept it waiting; known when it is told so */
    double spent_s[SPENT_KINDS]; /* in earlier ones */
    int rank, host;
    int stage;                   /* progress within the first action */
    int n_pending;               /* requests the first action still waits for */
    int n_ended;                 /* and those that ended and that it has not learnt of */
    int64_t answer;
    int64_t waits_since;         /* when it last called to wait, as a count: each request of several is a call */
    int64_t began, began_at_date;/* the sleep or execution under way: as a count, and date_order then */
    int is_computing;            /* it is an execution */
    int waits_for_one;           /* request, which the host knows of */
    question in_vain;            /* the last poll, when it failed and nothing else was done since */
    question first_asked;        /* where polls notice: of a row that failed, with nothing in between and no news */
    int n_rounds, n_in_round;    /* how often it was asked again, and polls since */
    double poll_s, polls_since_s;/* the poll under way: those it stands for take so long, from when on; 0: none */
    double busy_until_s;         /* receive overheads of the wait under way */
    double tail_s;               /* the date at the tail, NaN when unknown */
    double earliest_tail_s;      /* and a date that it does not come before */
    int64_t ahead_bytes;         /* payload of sends not yet executed */
    request probed;
    int64_t news;                /* what a blocking probe knows: see sim.news */
} timeline;

struct sim {
    const platform *machine;
    model model;
    double now_s;
    int n_ranks;
    timeline *line;              /* [n_ranks] */
    int *turn, *next_turn;       /* timelines to perform one call each */
    int n_turn, n_next_turn, at_turn;
    int running;
    int n_ended;

    heap sleeps;                 /* ends of sleeps and of executions on a core of their own; ids are timelines */
    heap cores;                  /* the next end of an execution on a shared host; ids are hosts */
    lanes latencies;             /* ends of the two phases of a flow; ids are flows */
    heap transfers;
    int64_t order;               /* of creation of whatever fires */
    int64_t date_order;          /* `order` when this date began */
    due *due;
    int n_due, due_room;
    flow_due *flow_due;
    int n_flows_due, flows_due_room;

    slot_pool requests;
    payload_pool payloads;
    payload no_payload;            /* of requests that have none */
    matching match;
    comm_table *comm;
    int n_comms, comm_room, free_comm;
    comm_table no_comm;          /* of numbers that are none's: nobody is in it */
    flow *flow;
    int n_flows, flow_room, free_flow, n_live_flows;
    fair *shares;
    int shares_are_old;
    platform_path path, way_back;
    flow_links links;            /* of the flow that is handed over */
    processor *host;
    schedule **schedule;
    int n_schedules, schedule_room;
    performance *free_show;
    latch *latch;                  /* numbered from 1 */
    int n_latches, latch_room, free_latch;
    instance *instance;          /* numbered from 1 */
    int n_instances, instance_room, free_instance;

    delivery *delivery;
    int n_deliveries, delivery_room;
    char **loose;                /* payload copies to free with the deliveries */
    int n_loose, loose_room;
    int64_t *note;
    int n_notes, note_room;
    int64_t stop_id;
    int is_stopped, error;
    int sends_are_synchronous;
    int unreached_host[2];
    unsigned effort;             /* calls, events and changed shares, to look at the clock now and then */
    double yielded_s;
    volatile sig_atomic_t is_interrupted;

    int tests_in_a_row, test_anys_in_a_row, iprobes_in_a_row; /* shared by all ranks, as the peer has it */
    int n_timed, n_probing;      /* timelines that time alone will wake; of those, the polls of blocking probes */
    int64_t news;                /* how many sends have been queued: a probe that has looked since will not find one */
    int n_probes_up_to_date;              /* blocking probes that have */
    statistics stats;
    double *finish_s;
};

/* Keeps an error that no caller can be told: sim_next answers SIM_BROKEN. The first one counts. */
static inline void keep_error(sim *s, int error)
{
    if (error < 0 && !s->error) s->error = error;
}

/* request.c */
int request_new(sim *s, request is);              /* a slot; or without memory an error */
int is_request(const sim *s, int id);             /* does the number name one? */
void request_free(sim *s, int id);
void request_let_go(sim *s, int id);              /* frees one that is done and released, unless an action names it */
payload *payload_of(sim *s, const slot *x);         /* one that carries nothing, when it has none */
void performance_free(sim *s, performance *p);

/* payload_move.c */
int payload_move(sim *s, slot *send, slot *recv); /* 0, or an error */
int payload_drop(sim *s, int id);                 /* there will be no transfer: 0, or an error */

/* world.c makes and frees it all; ask.c answers questions about it. */

/* flow.c */
int flow_start(sim *s, int send, int recv);       /* 0, or an error < 0 */
void flow_latency_ended(sim *s, int id);
void flow_ended(sim *s, int id);
int flow_update(sim *s);                          /* shares and end dates after the changes of one date; 1: not yet, call again */
double piecewise(const double *table, int n, int64_t bytes);

/* cpu.c */
int cpu_start(sim *s, int host, int line, double flop); /* 0, or an error < 0 */
int cpu_ended(sim *s, int host);                  /* a timeline whose execution ends at this date, or -1 */

/* comm.c */
int comm_tables_init(sim *s);
void comm_tables_free(sim *s);
comm_table *table_of(const sim *s, int comm);     /* of one that is not a rank alone */
void comm_use(sim *s, int comm);                  /* something under way names it; then, no longer */
void comm_leave(sim *s, int comm);

/* instance.c */
int instance_enter(sim *s, int comm, int rank);   /* the next collective of a rank of the communicator; 0: none; or an error */
void instance_leave(sim *s, int id);              /* by one of its users */
void instances_free(sim *s, comm_table *c);

/* states.c */
void timeline_enters(sim *s, timeline *t, int state, int spends); /* alone changes its state */

/* timeline.c */
static inline int is_line(const sim *s, int rank)
{
    return rank >= 0 && rank < s->n_ranks;
}

action *timeline_append(sim *s, int rank, int what); /* NULL without memory: then the world is broken, whether or not its caller looks */
void timeline_drop_first(timeline *t);

static inline action *timeline_last(timeline *t)
{
    return &t->queue[(t->first + t->n - 1) & (t->room - 1)];
}

/* group.c */
int group_made(const sim *s, performance *p, int is_detached); /* its calls made a request: index, or an error */
void group_halts(sim *s, performance *p);         /* its calls are made */
void group_told(sim *s, const slot *x);           /* one of its requests is done */

/* sim.c */
extern const double SAME_DATE_S;

/* perform.c */
enum { MADE_A_CALL, BLOCKED, FREE_OF_CHARGE };
int perform(sim *s, int line);                    /* the first action's next call, or an error < 0 */
void request_done(sim *s, int id);
void timeline_woken(sim *s, int line);            /* by time */

#endif
