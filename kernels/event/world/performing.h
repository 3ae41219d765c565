/* performing.h -- rows that a world performs (replay.c): those of each rank that are not appended yet, and the names of requests.
 *
 * Invariants: (1) a rank's request has a name from when it is started until it has been waited for, found complete or freed; a name
 *                 that is not known is that of a request that is over;
 *             (2) a request is released when its timeline is named again, after the wait for it. */
#ifndef SMPY_PERFORMING_H
#define SMPY_PERFORMING_H
#include "world/ranks.h"
#include "world/rows.h"

typedef struct {
    uint64_t key;                /* rank and name, or 0 */
    int number;
} request_name;

typedef struct {
    trace_action *row;           /* a ring of rows that are not appended; `room` is a power of two */
    int first, n, room;
    int *due;                    /* requests to release */
    int n_due, due_room;
    int latch;                   /* latch of the next start, or 0 */
    int polled;                  /* the first row is a poll under way: so many times; 0: it is not */
    int polled_before;           /* `polled` when the world was found quiet */
    int next_at_point;           /* 1 + the timeline that waits for the same point, before this one; or 0 */
} rank_rows;

typedef struct performing {
    rank_rows *rank;             /* of its first timeline; then of further timelines that there were when it began */
    int n_ranks;
    request_name *name;          /* open addressing: at least two places for each */
    int n_names, name_room;
    int *latch;                  /* latches by the trace's serial number */
    int latch_room;
    int *point;                  /* by number: -1: reached; else 1 + a timeline that waits for it (next_at_point), or 0 */
    int point_room;
    int is_ordered;              /* there are operations that are ordered by what they require (action_ordered.c) */
    int *list;                   /* requests of the row that is performed */
    int64_t *entry;
    int list_room, entry_room;
    int64_t n_left_alone;        /* sends that were complete at once in the trace, and are not here */
    int64_t quiet_since;         /* the world's progress when it was found quiet, or -1 */
} performing;

/* Does it replay operations that are ordered by what they require? */
static inline int performing_is_ordered(const performing *p)
{
    return p && p->is_ordered;
}

performing *performing_new(int n_ranks);                  /* NULL without memory */
void performing_free(performing *p);

/* ---- rows of a rank ---- */
int rows_push(rank_rows *of, const trace_action *row);    /* 0, or SIM_OUT_OF_MEMORY */
void rows_drop(rank_rows *of, int n);

static inline trace_action *rows_at(const rank_rows *of, int i)
{
    return &of->row[(of->first + i) & (of->room - 1)];
}

/* ---- what kinds of rows ask for, of the rank whose row is performed ---- */
const trace_action *perform_row(const sim *s, int rank, int i); /* the i-th of the rows that belong together */
int perform_request(const sim *s, int rank, int name);    /* the request of a name, or 0: it is over */
int perform_name(sim *s, int rank, int name, int request); /* the request has the name from now on: 0, or an error */
void perform_forget(sim *s, int rank, int name);          /* nobody will name it again */
int perform_due(sim *s, int rank, int request);           /* to be released when the timeline is named next: 0, or an error */
int perform_over(sim *s, int rank, int name, int request); /* the same, and its name is not known any more */
int *perform_list(sim *s, int n);                         /* room for n requests, until the next row; NULL without memory */
int64_t *perform_entries(sim *s, int n);                  /* likewise, for n numbers */
int *perform_latch(sim *s, int serial);                   /* place for the latch of a serial number, or 0; NULL without memory */
#endif
