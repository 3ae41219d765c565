/* rows.h -- actions as rows of a trace (TRACE_ACTIONS, smpy/records/schema.md), which a replay performs again. */
#ifndef SMPY_ROWS_H
#define SMPY_ROWS_H
#include <stdint.h>

/* cdef */
/* Columns of a kind of row. The trace writes those that a kind has; others are 0, or comm -1. */
enum {
    ROW_COMM = 1, ROW_PEER = 2, ROW_TAG = 4, ROW_BYTES = 8, ROW_AMOUNT = 16, ROW_REQUEST = 32, ROW_DETAIL = 64,
    ROW_STARTS = 128,                 /* its request is new: the row names it */
    ROW_AWAITS = 256,                 /* and its request is waited for */
    ROW_HOLDS = 512,                  /* its request is a send that a matched probe holds: the row gives it a name */
    ROW_HELD = 1024,                  /* its detail is the name of such a send */
    ROW_LIST = 2048,                  /* it has a list of requests: its own, and those of the rows `and` behind it */
    ROW_COUNTED = 4096,               /* a list of `detail` more rows */
    ROW_TABLES = 8192,                /* it has numbers that a schedule reads: those of the `amount` rows `entry` behind it */
    ROW_PART = 16384,                 /* it is part of the row before it */
    ROW_POLL = 32768,                 /* its amount is a number of polls in vain, its detail tells whether one succeeds */
    ROW_ADDS = 65536,                 /* with a detail, it adds its amount to the last row, when that is of its kind */
    ROW_SECONDS = 131072,             /* its amount is a time */
    ROW_SENDS = 262144                /* its bytes go to another rank */
};

typedef struct {
    double amount;
    int64_t bytes;
    int rank, action, account, comm, peer, tag, request, detail;
    int line;                         /* of the file that the row is from, in a replay; 0: not known */
} trace_action;

/* A kind of row, in words: its name, its meaning, and that of its detail, or "". */
typedef struct {
    const char *name, *means, *detail;
    int columns;                      /* ROW_* */
} row_words;

/* Numbers that a rank's schedule reads (TERM_TABLE). */
typedef struct {
    int n;
    const int64_t *table[4];
    int n_entries[4];
} rank_tables;

const row_words *sim_row_words(int number); /* of the kernel's kinds of rows, from 0 on; NULL: there is no such number */
/* end cdef */
#endif
