/* row_kind.h -- kinds of rows: how the trace writes what was appended, and how a replay performs it.
 *
 * A kind of row is a constant beside the action that it tells of, and a name in ROW_KINDS (row_kinds.c). The trace, the replay, the
 * schema of traces and Python's names are made from that table. One from outside this folder has a number in a world from its first
 * use on.
 *
 * A kind's functions are called in a replay only; performing.h has what they may ask. */
#ifndef SMPY_ROW_KIND_H
#define SMPY_ROW_KIND_H
#include "world/ranks.h"
#include "world/rows.h"

enum {                           /* answers of `perform`, if not 0 or an error < 0 */
    ROW_ASKS = 1,                /* the answer to what it has appended decides what comes next */
    ROW_LOOKS = 2                /* a timeline looks for one thing at a time: what comes next is appended after it */
};

typedef struct row_kind {
    row_words is;
    /* Appends what the row says; `n` rows belong together, from this one on. NULL: there is nothing to do. */
    int (*perform)(sim *s, int timeline, const trace_action *row, int n);
    /* A poll that the row stands for has succeeded, with an answer; NULL: that changes nothing. 0, or an error. */
    int (*found)(sim *s, int timeline, const trace_action *row, int64_t answer);
    /* Kind that the row becomes when a wait for its request follows at once: its own, and then its amount is 1. NULL: none. */
    const struct row_kind *awaited;
} row_kind;

enum { ROW_KINDS_MAX = 64 };

typedef struct {
    const row_kind *at[ROW_KINDS_MAX];
    int n;
} row_kinds;

void row_kinds_begin(row_kinds *all);                    /* with the kernel's own (row_kinds.c) */
const row_kind *row_kind_at(const row_kinds *all, int number); /* NULL: there is no such number */

/* Number of a kind in a world, which has it from then on; SIM_OUT_OF_MEMORY when there are too many. */
int sim_row_kind_number(sim *s, const row_kind *kind);
#endif
