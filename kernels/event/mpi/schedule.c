/* schedule.c -- evaluates expressions, performs instructions up to the next call, and checks programs before they are used. */
#include "mpi/schedule.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Floor division and modulo, as Python computes them: partner formulas use (rank - 1) % size. */

/* Is a / b out of range? Otherwise the result is in `to`. */
static inline int division_overflows(int64_t a, int64_t b, int64_t *to)
{
    *to = 0;
    if (b == 0) return 0;
    if (b == -1) return __builtin_sub_overflow((int64_t)0, a, to);
    const int64_t q = a / b;
    *to = q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;
    return 0;
}

static inline int64_t floor_mod(int64_t a, int64_t b)
{
    if (b == 0) return a;
    if (b == -1) return 0; /* INT64_MIN % -1 is undefined */
    int64_t r = a % b;
    return r && ((r < 0) != (b < 0)) ? r + b : r;
}

/* Is a << b out of range? Otherwise the result is in `to`. */
static inline int shift_overflows(int64_t a, int64_t b, int64_t *to)
{
    *to = 0;
    if (b < 0 || b > 62) return a != 0;
    return __builtin_mul_overflow(a, (int64_t)1 << b, to);
}

static int64_t look_up(schedule_frame *f, int k, int64_t index)
{
    const schedule_tables *t = f->tables;
    int first = t && k > 0 ? t->end[k - 1] : 0;
    if (t && index >= 0 && index < t->end[k] - first) return t->entry[first + index];
    f->is_broken = 1;
    return 0;
}

/* The last value is not on the stack: most expressions have few, and then no memory is written. */
static int64_t evaluate(schedule_frame *f)
{
    int64_t stack[SCHEDULE_STACK], last = 0, *top = stack;
    const int64_t *word = f->program->word + f->at;
    for (;;) {
        const int64_t term = *word++;
        switch (term) {
        case TERM_END: f->at = (int)(word - f->program->word); return last;
        case TERM_CONSTANT: *top++ = last; last = *word++; break;
        case TERM_RANK: *top++ = last; last = f->rank; break;
        case TERM_SIZE: *top++ = last; last = f->size; break;
        case TERM_ROOT: *top++ = last; last = f->root; break;
        case TERM_BYTES: *top++ = last; last = f->bytes; break;
        case TERM_LOOP: *top++ = last; last = f->loop[*word++]; break;
        case TERM_TABLE: last = look_up(f, (int)*word++, last); break;
        case TERM_ADD: f->is_broken |= __builtin_add_overflow(*--top, last, &last); break;
        case TERM_SUB: f->is_broken |= __builtin_sub_overflow(*--top, last, &last); break;
        case TERM_MUL: f->is_broken |= __builtin_mul_overflow(*--top, last, &last); break;
        case TERM_DIV: f->is_broken |= division_overflows(*--top, last, &last); break;
        case TERM_MOD: last = floor_mod(*--top, last); break;
        case TERM_AND: last &= *--top; break;
        case TERM_OR: last |= *--top; break;
        case TERM_XOR: last ^= *--top; break;
        case TERM_SHL: f->is_broken |= shift_overflows(*--top, last, &last); break;
        case TERM_SHR:
            f->is_broken |= last < 0;
            last = *--top >> (last < 0 ? 0 : last > 63 ? 63 : last);
            break;
        case TERM_LT: last = *--top < last; break;
        case TERM_LE: last = *--top <= last; break;
        case TERM_EQ: last = *--top == last; break;
        case TERM_NE: last = *--top != last; break;
        case TERM_MIN:
            top--;
            last = *top < last ? *top : last;
            break;
        default: /* TERM_MAX: schedule_new() accepts no other term */
            top--;
            last = *top > last ? *top : last;
        }
    }
}

static int evaluate_index(schedule_frame *f)
{
    int64_t peer = evaluate(f);
    if (peer >= 0 && peer <= INT_MAX) return (int)peer;
    f->is_broken = 1;
    return -1;
}

/* Evaluates a peer, or takes the one that the words from `begin` to `end` gave if the words are the same: most exchanges have one
 * partner. */
static int evaluate_index_again(schedule_frame *f, int begin, int end, int peer)
{
    const int64_t *word = f->program->word;
    const int n = end - begin;
    if (n > f->program->n - f->at || memcmp(word + begin, word + f->at, (size_t)n * sizeof *word) != 0) return evaluate_index(f);
    f->at += n;
    return peer;
}

static int64_t evaluate_bytes(schedule_frame *f)
{
    int64_t bytes = evaluate(f);
    if (bytes < 0) f->is_broken = 1;
    return bytes;
}

enum { STEP_WORDS = 1 << 14 }; /* some 20 us */

schedule_call schedule_step(schedule_frame *f)
{
#ifdef SMPY_CHECK
    schedule_check(f);
#endif
    schedule_call call = {0};
    for (int n_words = 0; n_words < STEP_WORDS;) {
        const int before = f->at;
        call.code = (int)f->program->word[f->at++];
        switch (call.code) {
        case CALL_SEND:
        case CALL_ISEND:
            call.to = evaluate_index(f);
            call.bytes_out = evaluate_bytes(f);
            return call;
        case CALL_RECV:
        case CALL_IRECV:
            call.from = evaluate_index(f);
            call.bytes_in = evaluate_bytes(f);
            return call;
        case CALL_EXCHANGE: {
            const int begin = f->at;
            call.to = evaluate_index(f);
            const int end = f->at;
            call.bytes_out = evaluate_bytes(f);
            call.from = evaluate_index_again(f, begin, end, call.to);
            call.bytes_in = evaluate_bytes(f);
            return call;
        }
        case CALL_MEET:
            call.bytes_out = evaluate_bytes(f);
            call.bytes_in = evaluate_bytes(f);
            return call;
        case CALL_IF: {
            int64_t condition = evaluate(f);
            int length = (int)f->program->word[f->at++];
            if (f->is_broken) return call;
            n_words += f->at - before;
            if (!condition) f->at += length;
            break;
        }
        case CALL_LOOP: {
            int64_t first = evaluate(f), bound = evaluate(f);
            int length = (int)f->program->word[f->at++];
            n_words += f->at - before;
            if (first < bound && !f->is_broken) {
                f->loop[f->n_loops] = first;
                f->bound[f->n_loops++] = bound;
            } else {
                f->at += length;
            }
            if (f->is_broken) return call;
            break;
        }
        case CALL_AGAIN: {
            int length = (int)f->program->word[f->at++];
            n_words += f->at - before;
            if (++f->loop[f->n_loops - 1] < f->bound[f->n_loops - 1]) /* no overflow: it was below its bound */
                f->at -= length;
            else
                f->n_loops--;
            break;
        }
        case CALL_WAIT_FOR: call.number = evaluate_index(f); return call;
        case CALL_COMBINE: call.bytes_in = evaluate_bytes(f); return call;
        case CALL_FORK: call.number = (int)f->program->word[f->at]; f->at += 2; return call;
        case CALL_WAIT_ALL:
        case CALL_WAIT_OLDEST:
        case CALL_JOIN: return call;
        default: f->at--; return call; /* CALL_HALT, however often it is asked */
        }
    }
    call.code = CALL_NOT_YET;
    return call;
}

schedule_frame schedule_fork(schedule_frame *f)
{
    const schedule_frame strand = *f;
    f->at += (int)f->program->word[f->at - 1];
    return strand;
}

schedule_tables *schedule_tables_new(int n_tables, const int64_t *const *table, const int *n_entries)
{
    int64_t n = 0;
    for (int k = 0; k < n_tables; k++) n += n_entries[k];
    if (n > INT_MAX) return NULL;
    schedule_tables *t = malloc(sizeof *t + (size_t)n * sizeof *t->entry);
    if (!t) return NULL;
    int end = 0;
    for (int k = 0; k < SCHEDULE_TABLES; k++) {
        int n_mine = k < n_tables ? n_entries[k] : 0;
        if (n_mine) memcpy(t->entry + end, table[k], (size_t)n_mine * sizeof *t->entry);
        t->end[k] = end += n_mine;
    }
    return t;
}

void schedule_start(schedule_frame *f, const schedule *s, int rank, int size, int root, int64_t bytes,
                    const schedule_tables *tables)
{
    *f = (schedule_frame){.program = s, .tables = tables, .rank = rank, .size = size, .root = root, .bytes = bytes};
}

/* Index of the word behind the expression at `at`; -1: it is malformed, or does not end within n words. */
static int expression_end(int n, const int64_t *word, int at, int n_loops)
{
    int top = 0;
    while (at < n) {
        int64_t term = word[at++];
        if (term == TERM_END) return top == 1 ? at : -1;
        if (term == TERM_CONSTANT || term == TERM_LOOP) {
            if (at >= n) return -1;
            if (term == TERM_LOOP && (word[at] < 0 || word[at] >= n_loops)) return -1;
            at++;
            top++;
        } else if (term >= TERM_RANK && term <= TERM_BYTES) {
            top++;
        } else if (term == TERM_TABLE) {
            if (top < 1 || at >= n || word[at] < 0 || word[at] >= SCHEDULE_TABLES) return -1;
            at++;
        } else if (term >= TERM_ADD && term <= TERM_MAX) {
            if (--top < 1) return -1;
        } else {
            return -1;
        }
        if (top > SCHEDULE_STACK) return -1;
    }
    return -1;
}

/* Number of expressions that follow a code; -1: CALL_AGAIN, CALL_FORK, CALL_HALT, or no code at all. */
static int n_expressions_of(int64_t code)
{
    switch (code) {
    case CALL_SEND: case CALL_RECV: case CALL_ISEND: case CALL_IRECV: case CALL_MEET: case CALL_LOOP: return 2;
    case CALL_EXCHANGE: return 4;
    case CALL_IF: case CALL_WAIT_FOR: case CALL_COMBINE: return 1;
    case CALL_WAIT_ALL: case CALL_WAIT_OLDEST: case CALL_JOIN: return 0;
    default: return -1;
    }
}

/* A block that the check is inside: index of the word behind its last instruction, CALL_AGAIN and CALL_HALT excluded. */
typedef struct {
    int end, is_loop, is_strand;
} open_block;

static int is_sound(int n, const int64_t *word, int *waits_for_one)
{
    *waits_for_one = 0;
    if (n < 1 || word[n - 1] != CALL_HALT) return 0;
    open_block open[SCHEDULE_BLOCKS + 1] = {{.end = n - 1}}; /* the first one is the program */
    int depth = 0, n_loops = 0, n_strands = 0, at = 0;
    while (at < n - 1) {
        const int end = open[depth].end;
        if (at == end) {
            const open_block over = open[depth--];
            at += 2 * over.is_loop + over.is_strand; /* CALL_AGAIN and CALL_HALT were checked at the block's begin */
            n_loops -= over.is_loop;
            n_strands -= over.is_strand;
            continue;
        }
        const int64_t code = word[at++];
        const int n_expressions = n_expressions_of(code), is_strand = code == CALL_FORK;
        if (n_expressions < 0 && !is_strand) return 0;
        if (n_strands && (is_strand || code == CALL_JOIN)) return 0;
        if (is_strand && (at >= end || word[at] < 1 || word[at++] > SCHEDULE_STRANDS)) return 0;
        *waits_for_one |= code == CALL_WAIT_OLDEST || code == CALL_WAIT_FOR;
        for (int i = 0; i < n_expressions; i++)
            if ((at = expression_end(end, word, at, n_loops)) < 0) return 0;
        if (code != CALL_IF && code != CALL_LOOP && !is_strand) continue;
        if (depth == SCHEDULE_BLOCKS || at >= end || word[at] < 0 || word[at] > end - at - 1) return 0;
        const int length = (int)word[at++], is_loop = code == CALL_LOOP;
        if (is_loop) {
            if (n_loops == SCHEDULE_LOOPS || length < 2) return 0;
            if (word[at + length - 2] != CALL_AGAIN || word[at + length - 1] != length) return 0;
            n_loops++;
        }
        if (is_strand && (length < 1 || word[at + length - 1] != CALL_HALT)) return 0;
        n_strands += is_strand;
        open[++depth] = (open_block){at + length - 2 * is_loop - is_strand, is_loop, is_strand};
    }
    return 1;
}

int schedule_is_sound(int n, const int64_t *words)
{
    int waits_for_one;
    return is_sound(n, words, &waits_for_one);
}

schedule *schedule_new(int n, const int64_t *words)
{
    int waits_for_one;
    if (!is_sound(n, words, &waits_for_one)) return NULL;
    schedule *s = malloc(sizeof *s);
    int64_t *copy = malloc((size_t)n * sizeof *copy);
    if (!s || !copy) {
        free(s);
        free(copy);
        return NULL;
    }
    memcpy(copy, words, (size_t)n * sizeof *copy);
    *s = (schedule){n, waits_for_one, copy};
    return s;
}

void schedule_free(schedule *s)
{
    if (!s) return;
    free(s->word);
    free(s);
}

int schedule_list(int n, const int64_t *words, int rank, int size, int root, int64_t bytes, const rank_tables *tables, int room,
                  schedule_call *calls)
{
    schedule *made = schedule_new(n, words);
    schedule_tables *own = made && tables && tables->n ? schedule_tables_new(tables->n, tables->table, tables->n_entries) : NULL;
    schedule_frame frame, strand = {0};
    int n_calls = made ? 0 : schedule_is_sound(n, words) ? SIM_OUT_OF_MEMORY : SIM_BAD_SCHEDULE;
    if (made && tables && tables->n && !own) n_calls = SIM_OUT_OF_MEMORY;
    if (made) schedule_start(&frame, made, rank, size, root, bytes, own);
    while (n_calls >= 0) {
        schedule_frame *f = strand.program ? &strand : &frame;
        const schedule_call call = schedule_step(f);
        if (call.code == CALL_HALT && f == &frame) break;
        if (call.code == CALL_NOT_YET) continue;
        if (n_calls < room) calls[n_calls] = call;
        n_calls = f->is_broken || n_calls == INT_MAX ? SIM_BAD_SCHEDULE : n_calls + 1;
        if (call.code == CALL_FORK) strand = schedule_fork(&frame);
        if (call.code == CALL_HALT) strand.program = NULL;
    }
    schedule_free(made);
    free(own);
    return n_calls;
}

#ifdef SMPY_CHECK
static void require(int is_true, const char *what, int at)
{
    if (is_true) return;
    fprintf(stderr, "schedule_check: %s at word %d\n", what, at);
    abort();
}

void schedule_check(const schedule_frame *f)
{
    const schedule *s = f->program;
    int at = 0, n_loops = 0;
    require(f->at >= 0 && f->at < s->n, "next instruction outside the program", f->at);
    while (at < f->at) {
        const int64_t code = s->word[at++];
        n_loops += (code == CALL_LOOP) - (code == CALL_AGAIN);
        for (int i = 0; i < n_expressions_of(code); i++) at = expression_end(s->n, s->word, at, n_loops);
        at += code == CALL_IF || code == CALL_LOOP || code == CALL_AGAIN ? 1 : code == CALL_FORK ? 2 : 0;
    }
    require(at == f->at, "no instruction", f->at);
    require(f->n_loops == n_loops, "wrong number of loops", f->at);
    for (int i = 0; i < n_loops; i++) require(f->loop[i] < f->bound[i], "variable of a loop not below its bound", f->at);
}
#endif
