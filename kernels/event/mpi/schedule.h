/* schedule.h -- the program of a collective: written once for all ranks, performed by each rank one call at a time.
 *
 * A program is an array of words. An instruction is a code and its operands: expressions, or lengths in words. An expression is
 * a sequence of terms in postfix order over 64-bit integers, closed by TERM_END. It may read the rank, the root and the size of
 * the message, so one program serves them all; where blocks have different sizes, or peers follow no formula, it reads tables of
 * numbers that each rank brings along. A rank that performs a program needs no more than a schedule_frame.
 *
 *   CALL_SEND to bytes | CALL_RECV from bytes      blocking
 *   CALL_ISEND to bytes | CALL_IRECV from bytes    outstanding until a wait
 *   CALL_EXCHANGE to bytes from bytes              a send and a receive at once; waits for both
 *   CALL_WAIT_ALL
 *   CALL_WAIT_OLDEST                           for the oldest of those started that no such wait was for, if there is one
 *   CALL_WAIT_FOR number                       for the one that was started as that number, from 0, since all were waited for
 *   CALL_MEET sent received                    a meeting of all ranks that the network times (meeting.h), with the bytes that
 *                                              the rank sends and receives: once; outstanding until a wait
 *   CALL_COMBINE bytes                         the arithmetic of a reduction on so many bytes, which takes the rank's own time
 *   CALL_IF condition length                   a block of `length` words, skipped if the condition is 0
 *   CALL_LOOP first bound length                   a block whose variable runs from first while it is below bound; its last
 *   CALL_AGAIN length                              instruction is this one, which jumps back to its begin
 *   CALL_HALT                                      the end. A blocking collective then waits for what is outstanding
 *   CALL_FORK strand length                        a block of `length` words that ends in CALL_HALT: a strand, whose calls the rank
 *                                              makes beside those that follow, as each becomes possible. Messages match within
 *                                              strands of one number, 1 .. SCHEDULE_STRANDS; waits are for their strand's own
 *                                              sends and receives. Blocking collectives alone have strands
 *   CALL_JOIN                                      waits for the end of all strands, as the end of the program does
 *
 * Invariants of a program, which schedule_new() checks in time linear in its length, so that performing needs no such checks:
 *   (1) every path ends in CALL_HALT, the last word of the program or of its strand; a block ends where an instruction of the
 *       same block ends; a strand contains neither CALL_FORK nor CALL_JOIN;
 *   (2) no more than SCHEDULE_BLOCKS blocks are within one another, SCHEDULE_LOOPS of them loops; TERM_LOOP names one of these;
 *   (3) an expression leaves one value, and has at most SCHEDULE_STACK at once.
 * Invariants of a frame, which schedule_check() checks in a debug build before every step:
 *   (4) `at` is the first word of an instruction;
 *   (5) `n_loops` loops contain that instruction, and the variable of each is below its bound.
 *
 * Numbers are checked when they are computed. A result beyond 64 bits, a shift by less than 0 (to the left: or more than 62, unless
 * of 0), a peer that is no int >= 0, a negative size and an index outside its table break the frame. Division and shifts to the
 * right round down, as in Python; but a / 0 is 0, and a % 0 is a. */
#ifndef SMPY_SCHEDULE_H
#define SMPY_SCHEDULE_H
#include <stdint.h>

#include "basics/errors.h"
#include "world/rows.h"

/* cdef */
enum {
    CALL_HALT = 0, CALL_SEND = 1, CALL_RECV = 2, CALL_ISEND = 3, CALL_IRECV = 4, CALL_EXCHANGE = 5, CALL_WAIT_ALL = 6,
    CALL_IF = 7, CALL_LOOP = 8, CALL_AGAIN = 9, CALL_WAIT_OLDEST = 10,
    CALL_WAIT_FOR = 11, CALL_MEET = 12, CALL_FORK = 13, CALL_JOIN = 14, CALL_COMBINE = 15
};
enum {
    TERM_END = 0, TERM_CONSTANT = 1, TERM_RANK = 2, TERM_SIZE = 3, TERM_ROOT = 4, TERM_BYTES = 5, TERM_LOOP = 6,
    TERM_ADD = 7, TERM_SUB = 8, TERM_MUL = 9, TERM_DIV = 10, TERM_MOD = 11, TERM_AND = 12, TERM_OR = 13, TERM_XOR = 14,
    TERM_SHL = 15, TERM_SHR = 16, TERM_LT = 17, TERM_LE = 18, TERM_EQ = 19, TERM_NE = 20, TERM_MIN = 21, TERM_MAX = 22,
    TERM_TABLE = 23                          /* replaces an index by that entry of table k, the next word */
};

typedef struct {
    int code;                            /* of a call, CALL_HALT, or CALL_NOT_YET */
    int to, from;                        /* ranks in the communicator */
    int number;                          /* of the operation that CALL_WAIT_FOR is for, or of the strand of CALL_FORK */
    int64_t bytes_out, bytes_in;         /* bytes_in of CALL_COMBINE: those of the operand */
} schedule_call;

/* The calls of a rank. A strand's follow its CALL_FORK, and end with a CALL_HALT; there is no other one. `tables` may be NULL.
 * Their number, of which the first `room` are in `calls`, or SIM_BAD_SCHEDULE, SIM_OUT_OF_MEMORY. */
int schedule_list(int n, const int64_t *words, int rank, int size, int root, int64_t bytes, const rank_tables *tables, int room,
                  schedule_call *calls);
/* end cdef */

enum { CALL_NOT_YET = -1 };              /* answer of schedule_step(): no call among so many instructions; ask again */

enum {
    SCHEDULE_STACK = 16,                 /* values of an expression at once */
    SCHEDULE_BLOCKS = 64,                /* blocks within one another, of CALL_IF and CALL_LOOP */
    SCHEDULE_LOOPS = 4,                  /* most loops among them */
    SCHEDULE_TABLES = 4,
    SCHEDULE_STRANDS = 2
};

typedef struct {
    int n;
    int waits_for_one;                   /* is CALL_WAIT_OLDEST or CALL_WAIT_FOR among its instructions? */
    int64_t *word;
} schedule;

/* The tables of one rank, one behind the other: table k is entry[end[k - 1]] .. entry[end[k] - 1]. */
typedef struct {
    int end[SCHEDULE_TABLES];
    int64_t entry[];
} schedule_tables;

typedef struct {
    const schedule *program;
    const schedule_tables *tables;       /* or NULL */
    int at;                              /* the next instruction */
    int n_loops;
    int is_broken;                       /* a number was out of range: the calls that schedule_step() returns mean nothing */
    int64_t rank, size, root, bytes;
    int64_t loop[SCHEDULE_LOOPS], bound[SCHEDULE_LOOPS];
} schedule_frame;

int schedule_is_sound(int n, const int64_t *words);  /* do the invariants of a program hold? */
schedule *schedule_new(int n, const int64_t *words); /* copies the words; NULL: they are not sound, or there is no memory */
void schedule_free(schedule *s);
schedule_tables *schedule_tables_new(int n_tables, const int64_t *const *table, const int *n_entries); /* NULL: no memory */
void schedule_start(schedule_frame *f, const schedule *s, int rank, int size, int root, int64_t bytes,
                    const schedule_tables *tables);
schedule_call schedule_step(schedule_frame *f);      /* the next call; reads a bounded number of words, and one instruction */
/* After CALL_FORK: the frame of the strand; `f` goes on behind it. */
schedule_frame schedule_fork(schedule_frame *f);
#ifdef SMPY_CHECK
void schedule_check(const schedule_frame *f);        /* aborts, with a message, where an invariant of the frame is broken */
#endif
#endif
