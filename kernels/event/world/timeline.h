/* timeline.h -- timelines: queues of actions, each of a rank; and whose turn it is.
 *
 * A rank has one timeline or several. timeline_enter alone changes what a timeline is doing: who records or charges what goes on
 * listens there.
 *
 * Invariants: (1) a timeline is AWAKE exactly while it is in one of the two turns, or its rank runs;
 *             (2) tail_s is the date at which all that was appended will have been executed, as long as that is plain arithmetic
 *                 (sleeps, computing on a core of its own, posting), then NaN until the rank runs again; earliest_tail_s is
 *                 the same sum, with a core for each computation and nothing for a wait. */
#ifndef SMPY_TIMELINE_H
#define SMPY_TIMELINE_H
#include "world/action.h"
#include "world/poll_state.h"

enum { AWAKE, ASLEEP, EXECUTING, WAITING, ENDED };

typedef struct {
    _Alignas(64) action *queue;  /* a ring; `room` is a power of two. One cache line goes up to since_s, the next to next_of_host */
    int first, n, room;
    int rank, host;
    int state, spends;           /* and what its time goes to (SPENT_*) */
    int account, account_at_tail;/* account of its present action; of actions appended now */
    int n_open;                  /* open calls: the first one, and calls inside it */
    int last_account;            /* account of the last call, or 0 */
    int next_account;            /* account of the call that followed the last one before, or 0 */
    double since_s;              /* it is in this state */
    double met_s;                /* from when on nobody kept it waiting; known when it is told so: */
    int late, late_rank;         /* SPENT_LATE_*, and who it was, or -1 */
    poll_row row;                /* failed polls that are not charged yet */
    double tail_s, earliest_tail_s;
    int next_of_rank, next_of_host; /* the rank's, the host's next timeline; or -1 */
    int64_t answer;
    int64_t waits_since;         /* date of its last call to wait, as a count: each request of several is a call */
    int64_t began, began_at_date;/* the sleep or execution under way: as a count, and the order of creation when its date began */
    int n_threads;               /* of the execution; else 0 */
    int n_parts;                 /* parts of it that are not over */
    uint8_t is_executing;        /* it is an execution */
    uint8_t waits_for_one;       /* request, which the host knows of */
    uint8_t has_polled;          /* `poll` may remember something */
    uint8_t shares_cores;        /* with the other timelines of its rank (shared_cores.h) */
    uint8_t is_dropped;          /* ENDED for good, in the midst of its queue */
    uint8_t waits_for_interface; /* of its host, to send: while it is ASLEEP */
    uint8_t names_device;        /* the next message that it appends has its memory on the device */
    double busy_until_s;         /* receive overheads of the wait under way */
    int64_t ready;               /* in a replay of ordered operations: place of its next one in the order of readiness; else 0 */
    double ready_s;              /* likewise: from when on the CPU of its rank was free then */
    int64_t ahead_bytes;         /* payload of sends not yet executed */
    int line_at_tail;            /* line of the open call, or 0 */
    int64_t n_sends_seen;        /* by a blocking probe that found nothing: n_sends_queued (poll.h) when it looked; else -1 */
    message_envelope wanted;     /* by a probe; then, of the message it found */
    poll_state poll;
} timeline;

typedef struct {
    int64_t ready;
    int cpu_order, timeline;
} ready_turn;

/* A rank's time since it last was blocked: its beginning, one label, and a lower bound of that label's part (blame.h). */
typedef struct {
    double since_s, label_s;
    uint64_t label;
} own_run;

/* A rank's wait for others that is over (blame.h). */
typedef struct {
    double start_s, end_s;
    double earlier_s;            /* sum of the rank's waits before it */
    own_run before;
    int cause;                   /* the rank that causes at least `share` of it; or -1 */
    float share;
} past_wait;

typedef struct {
    _Alignas(64) int host;
    int first_timeline;          /* first of its timelines, which are linked by next_of_rank */
    int n_live;                  /* timelines that have not ended */
    int cores;                   /* number of the cores that they share (shared_cores.h), or 0 */
    double kept_waiting_s;       /* time that others waited for it */
    double skipped_s;            /* time of iterations that it did not perform */
    double caused_s;             /* lower bound of others' waiting that is due to it (blame.h) */
    own_run run;
    double waited_s;             /* sum of its waits for others; a cache line ends here */
    past_wait waited[2];         /* its last wait for others, and a long one before */
    double fading_s;             /* length of the long one, halved with each wait since */
    double finish_s;             /* date of the last end, or NaN */
    double cpu_from_s;           /* from then on messages load its CPU no more (network_kind.sends_from_s) */
    uint8_t is_launched, waits_for_launch; /* in a replay, of a rank that another one starts */
} rank_state;

typedef struct {
    timeline *at;                /* in `memory`; each begins at a cache line */
    void *memory;
    int n, room, n_ended;
    rank_state *rank;            /* in `rank_memory`; likewise */
    void *rank_memory;
    int n_ranks, rank_room;
    int *turn, *next_turn;       /* timelines to perform one call each; room for all */
    ready_turn *sorted;          /* the turns of ordered operations while they are sorted, or NULL */
    int sorted_room;
    int n_turn, n_next_turn, at_turn;
} timelines;

int timelines_init(timelines *all, int n_ranks);
void timelines_free(sim *s);
int timeline_new(sim *s, int rank);                     /* AWAKE in no turn, and its host has one more; or an error */
int timeline_rank_new(sim *s, int host);                /* a rank without timelines; or an error */
void timeline_enter(sim *s, int timeline, int state, int spends);
void timeline_gets_ready(sim *s, timeline *t);          /* for its next operation: see `ready` */
void timeline_is_ready_with(timeline *t, const timeline *other); /* as the next one of another timeline of the rank is */
void timeline_runs_next(sim *s, int timeline);          /* AWAKE, in the next turn */
int timeline_next_turn(sim *s);                         /* 0 when nobody has one */

/* Is it the one in which its rank's own program runs? */
static inline int timeline_is_first(const timeline *t)
{
    return t->next_of_rank < 0;
}

static inline action *timeline_first(timeline *t)
{
    return &t->queue[t->first];
}

/* Is it a probe that looks until it finds something? */
static inline int timeline_probes_on(const timeline *t)
{
    return t->n && t->queue[t->first].kind->nature == ACTION_REPEATED_POLL;
}

/* Does nobody else have a turn at this date? Then the calls of the one that runs follow each other. */
static inline int timelines_one_runs(const timelines *all)
{
    return all->n_turn == 1 && all->n_next_turn == 0;
}

static inline int is_timeline(const timelines *all, int timeline)
{
    return timeline >= 0 && timeline < all->n;
}

#ifdef SMPY_CHECK
void timelines_check(const sim *s);
#endif
#endif
