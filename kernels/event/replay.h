/* replay.h -- a world whose ranks do what the rows of a trace say, without a program.
 *
 * The outside feeds rows, each rank's in its order; sim_replay_next turns the loop and appends, for the timeline whose turn it is,
 * what its next rows say, up to one whose answer decides what comes then. Rows are those of TRACE_ACTIONS, but for numbers of
 * communicators and schedules, which are this world's.
 *
 * Answers of the traced run decide here, too: a poll that found something is repeated until it does; one in vain is made as often
 * as it was, or until it finds something; a wait for any waits for the one that was over first.
 *
 * Rows that no run has recorded may have ranks poll for messages that never come. The world is quiet when nothing is under way but
 * polls that have to succeed. A quiet world stays as it is until one of them succeeds.
 *
 * Invariants: (1) a rank's request has a name from when it is started until it has been waited for, found complete or freed; a name
 *                 that is not known is that of a request that is over;
 *             (2) a request is released when its timeline is named again, after the wait for it. */
#ifndef SMPY_REPLAY_H
#define SMPY_REPLAY_H
#include "sim.h"

typedef struct {
    uint64_t key;                /* rank and name, or 0 */
    int number;
} replay_name;

typedef struct {
    trace_action *row;           /* a ring of rows that are not appended; `room` is a power of two */
    int first, n, room;
    int *due;                    /* requests to release */
    int n_due, due_room;
    int latch;                   /* latch of the next start, or 0 */
    int polled;                  /* the first row is a poll under way: so many times; 0: it is not */
    int polled_before;           /* `polled` when the world was found quiet */
} replay_rank;

typedef struct replay {
    replay_rank *rank;
    int n_ranks;
    replay_name *name;           /* open addressing: at least two places for each */
    int n_names, name_room;
    int *latch;                  /* latches by the trace's serial number */
    int latch_room;
    int *list;                   /* requests of the row that is appended */
    int64_t *entry;
    int list_room, entry_room;
    int64_t n_left_alone;        /* sends that were complete at once in the trace, and are not here */
    int64_t quiet_since;         /* the world's progress when it was found quiet, or -1 */
} replay;

void replay_free(replay *r);
#endif
