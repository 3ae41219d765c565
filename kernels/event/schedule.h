/* schedule.h -- what a collective does, written once for every rank and performed one call at a time.
 *
 * A schedule is a program of words. An instruction is a code followed by its expressions; an expression is a postfix
 * sequence of terms closed by TERM_END, over integers. One schedule serves every rank, root and message size:
 * nothing in it is per rank, and a performer of it (schedule_frame) is a few words; where ranks have blocks of their own
 * sizes, or peers of their own, each brings tables of numbers.
 *
 *   CALL_SEND to bytes | CALL_RECV from bytes      blocking
 *   CALL_ISEND to bytes | CALL_IRECV from bytes    outstanding until CALL_WAIT_ALL
 *   CALL_EXCHANGE to bytes from bytes              send and receive at once, wait for both
 *   CALL_WAIT_ALL
 *   CALL_UNLESS condition length                   skips `length` words when the condition is 0
 *   CALL_LOOP first bound | CALL_AGAIN length      the loop's variable runs from first while < bound; CALL_AGAIN jumps back
 *   CALL_HALT                                      waits for what is outstanding; in a collective that was started, does not
 *
 * Invariant: schedule_new accepts only programs whose every path ends in CALL_HALT and whose expressions need at most
 * SCHEDULE_STACK places, so performing one needs no checks but those of numbers: what does not fit 64 bits, a peer that is no
 * int >= 0, a negative size and an index beside a table break the frame. As in Python, division and shifts round down; here
 * a / 0 is 0, and a % 0 is a. */
#ifndef SMPY_SCHEDULE_H
#define SMPY_SCHEDULE_H
#include <stdint.h>

/* cdef */
enum {
    CALL_HALT = 0, CALL_SEND = 1, CALL_RECV = 2, CALL_ISEND = 3, CALL_IRECV = 4, CALL_EXCHANGE = 5, CALL_WAIT_ALL = 6,
    CALL_UNLESS = 7, CALL_LOOP = 8, CALL_AGAIN = 9
};
enum {
    TERM_END = 0, TERM_CONSTANT = 1, TERM_RANK = 2, TERM_SIZE = 3, TERM_ROOT = 4, TERM_BYTES = 5, TERM_LOOP = 6,
    TERM_ADD = 7, TERM_SUB = 8, TERM_MUL = 9, TERM_DIV = 10, TERM_MOD = 11, TERM_AND = 12, TERM_OR = 13, TERM_XOR = 14,
    TERM_SHL = 15, TERM_SHR = 16, TERM_LT = 17, TERM_LE = 18, TERM_EQ = 19, TERM_NE = 20, TERM_MIN = 21, TERM_MAX = 22,
    TERM_TABLE = 23                          /* the next word k: index -> entry of the performer's table k */
};
/* end cdef */

enum { CALL_NOT_YET = -1 };              /* of schedule_step: so many instructions without a call; ask again */

enum {
    SCHEDULE_STACK = 16,                 /* values of an expression at once */
    SCHEDULE_BLOCKS = 64,                /* blocks within one another, of CALL_UNLESS and CALL_LOOP */
    SCHEDULE_LOOPS = 4,                  /* of them, loops */
    SCHEDULE_TABLES = 4
};

typedef struct {
    int n;
    int64_t *word;
} schedule;

/* Numbers of one performer, in one piece: table k is entry[end[k - 1]] .. entry[end[k] - 1]. */
typedef struct {
    int end[SCHEDULE_TABLES];
    int64_t entry[];
} schedule_tables;

typedef struct {
    const schedule *program;
    const schedule_tables *tables;       /* or NULL */
    int at;                              /* next instruction */
    int n_loops;
    int is_broken;                       /* it has read beside a table, or a number was out of range: its call means nothing */
    int64_t rank, size, root, bytes;
    int64_t loop[SCHEDULE_LOOPS], bound[SCHEDULE_LOOPS];
} schedule_frame;

typedef struct {
    int code;                            /* CALL_SEND .. CALL_WAIT_ALL, CALL_HALT, or CALL_NOT_YET */
    int to, from;                        /* ranks in the communicator */
    int64_t bytes_out, bytes_in;
} schedule_call;

int schedule_is_sound(int n, const int64_t *words);  /* 1 unless it is malformed */
schedule *schedule_new(int n, const int64_t *words); /* NULL when it is malformed, or without memory */
void schedule_free(schedule *s);
schedule_tables *schedule_tables_new(int n_tables, const int64_t *const *table, const int *n_entries); /* or NULL */
void schedule_start(schedule_frame *f, const schedule *s, int rank, int size, int root, int64_t bytes,
                    const schedule_tables *tables);
schedule_call schedule_step(schedule_frame *f); /* the next call; what it reads beside one expression is bounded */
#endif
