/* clock_events.h -- ends of what time alone ends: sleeps, and executions on a core of their own or on a shared one, and on memory.
 *
 * An execution has a part for its flop, a part for the bytes it moves, or both, which go on at once: it ends with the last.
 *
 * The order of those that end at one date is the peer's (SMPI, Full): first what was scheduled at an earlier date; of one date,
 * sleeps before executions, the newest sleep first. A host's executions are scheduled again whenever something begins or
 * ends on it (an execution, a sleep, the wait for one request), all at once and the newest first; hosts in the order this first
 * happened, where a host on which nothing is left under way has lost its place. (The end of a sleep or of a wait changes no
 * shares: it is not a reason for a place.)
 *
 * Invariants: (1) a timeline is ASLEEP or EXECUTING exactly while n_parts of it are in `ends` or among users of its host or rank;
 *             (2) a host is in `hosts` exactly while it has users, with the date of the first one's end. */
#ifndef SMPY_CLOCK_EVENTS_H
#define SMPY_CLOCK_EVENTS_H
#include "basics/heap.h"
#include "world/host.h"
#include "world/timeline.h"

/* Event due at one date: a timeline's end, or the first end among the executions on a host's cores or memory, or a rank's cores. */
enum { OF_TIMELINE, OF_CORES, OF_SHARED_CORES, OF_MEMORY };
typedef struct {
    int of, id;                  /* OF_* */
    double date_s;
    int64_t epoch, place, order; /* at equal dates */
} clock_event;

typedef struct {
    heap ends;                   /* ends of sleeps and of executions on a core of their own; ids are timelines */
    heap hosts;                  /* the next end of an execution on shared cores */
    clock_event *due;
    int n_due, due_room;
    int n_under_way;             /* timelines that time alone will wake; */
    int n_probing;               /* the ones among them whose first action is a blocking probe */
} clock_events;

int clock_events_init(clock_events *e, int moves_ends);
void clock_events_free(clock_events *e);

/* These block the timeline: BLOCKED, or an error. What the time goes to is a SPENT_*. */
int clock_events_sleep_until(sim *s, int timeline, double date_s, int spends);
int clock_events_execute(sim *s, int timeline, execution amount, int spends);
int clock_events_sleep_until_woken(sim *s, int timeline, double date_s, int spends); /* a sleep that clock_events_wake may end */
void clock_events_wake(sim *s, int timeline);                 /* ends that sleep now */
void clock_events_end_by(sim *s, int timeline, double date_s); /* a sleep that may end sooner (moves_ends) */
/* A host has got one rank more: if it is the first without a core of its own, executions under way share the cores from now on.
 * 0, or an error: then some are lost. */
int clock_events_crowd(sim *s, int host);

int clock_events_change_speed(sim *s, int host, double factor); /* from now on; of a host that changes its speed. 0, or an error */

/* Likewise in another state, in which a core has that speed while no profile changes it. */
int clock_events_change_state(sim *s, int host, int state, double speed_flop_per_s);

void host_entered(sim *s, int host);             /* by an execution, a sleep or the wait for one request */
void host_left(sim *s, int host, int is_execution);

double clock_events_next_s(const sim *s);              /* the next date; INFINITY: none */
int clock_events_fire(sim *s);                         /* wakes the timelines of all events due: their number, or an error */

#ifdef SMPY_CHECK
void clock_events_check(const sim *s);
#endif
#endif
