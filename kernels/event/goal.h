/* goal.h -- programs in GOAL, the language of LogGOPSim: the text of a file as rows that a replay performs.
 *
 * A rank has one CPU, which works on one operation at a time. An operation goes on the timeline of the first one that it requires
 * and that nothing follows there yet, or begins a timeline: the rank's own, then further ones, which have the numbers from the
 * number of ranks on. What else it requires are points, which are reached on other timelines.
 *
 * Invariants: (1) the rows of a rank follow each other; those of a timeline are in its order;
 *             (2) an operation's rows have its line in the file;
 *             (3) the amount of `work` is in nanoseconds, until goal_time gives it in seconds. */
#ifndef SMPY_GOAL_H
#define SMPY_GOAL_H
#include <stdint.h>

#include "world/rows.h"

/* cdef */
enum {                                /* why a text is no program */
    GOAL_NO_HEAD = 1, GOAL_BAD_RANKS, GOAL_FEW_RANKS, GOAL_NO_RANK, GOAL_OTHER_RANK, GOAL_UNCLOSED, GOAL_NO_STATEMENT, GOAL_WAY,
    GOAL_TOO_LARGE, GOAL_OTHER_UNIT, GOAL_BAD_PEER, GOAL_BAD_TAG, GOAL_LABEL_TWICE, GOAL_NO_LABEL, GOAL_CYCLE, GOAL_UNFED
};

typedef struct {
    int why;                          /* GOAL_*; 0: there is no memory */
    int rank, n_ranks, line;
    int other_line;                   /* of the same label before */
    int64_t at, n_bytes;              /* the word that it is about, in the text */
    int64_t rank_at;                  /* begin of the rank, in the text */
    int is_send, is_nic, peer, tag;   /* of the operation */
} goal_error;

typedef struct {                      /* its arrays live as long as it does */
    int n_ranks, n_added, has_wildcards;
    const trace_action *row;
    const int64_t *first_row;         /* [n_ranks + 1] */
    const int *rank_of_added;         /* [n_added]: the ranks of further timelines */
} goal_program;

/* Reads a text, which a 0 follows. NULL: `error` says why. */
goal_program *goal_read(const char *text, int64_t n_bytes, goal_error *error);
void goal_free(goal_program *program);

/* Copies n rows, with the time of `work` in seconds on a CPU that is so many times as fast. */
void goal_time(const trace_action *rows, int n, double speed, trace_action *out);
/* end cdef */
#endif
