/* goal_rank.h -- a rank of a program in GOAL between its text (goal.c) and its rows (goal_rows.c). */
#ifndef SMPY_GOAL_RANK_H
#define SMPY_GOAL_RANK_H
#include "goal.h"

typedef enum { GOAL_SEND, GOAL_RECV, GOAL_CALC } goal_kind; /* as they begin, of those that become ready together */

enum { GOAL_ANY = -1 };               /* as source or tag of a receive */

typedef struct {
    goal_kind kind;
    int peer, tag, line;
    int64_t amount;                   /* nanoseconds, or bytes */
    int label_bytes;                  /* 0: it has no label */
    int64_t label_at;                 /* in the text */
} goal_operation;

typedef struct {
    int later, earlier;               /* numbers of operations */
    int is_end;                       /* the end of the earlier one is required, not its start */
} goal_need;

typedef struct {
    goal_operation *operation;        /* in the order of the file */
    goal_need *need;                  /* likewise */
    int n, room, n_needs, need_room;
} goal_rank;

/* The program as it grows. */
typedef struct {
    goal_program is;
    trace_action *row;
    int64_t *first_row;
    int *rank_of_added;
    int n_rows, row_room, first_room, added_room, n_points;
    int work, isend, irecv, recv, wait, reach, after, end; /* numbers of actions */
    int *scratch;
    int scratch_room;
} goal_builder;

int goal_know_actions(goal_builder *g); /* 0, or an error: there is no action of such a name */

/* Appends the rows of a rank: its number of operations, or that of the first one in a cycle, or behind one; or an error. */
int goal_append_rank(goal_builder *g, int rank, const goal_rank *of);

/* Checks that each receive has a message: as many of its source and tag, or, of any, as many in all. Gives the row of the first one
 * that has none, -1, or an error. */
int goal_unfed_receive(const goal_builder *g);
#endif
