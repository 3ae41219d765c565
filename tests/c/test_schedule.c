/* Schedules: exact arithmetic or a broken frame, malformed programs, and steps of bounded length. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mpi/schedule.h"
#include "networks/network_dimemas.h"
#include "small_worlds.h"

/* ---- arithmetic at the ends of its range, against 128 bits: a result that does not fit breaks the frame ---- */

typedef __int128 wide;

static const int64_t numbers[] = {
    INT64_MIN, INT64_MIN + 1, -((int64_t)1 << 62), -((int64_t)1 << 32) - 1, INT_MIN, -65, -64, -7, -3, -2, -1, 0, 1, 2, 3, 7,
    31, 32, 61, 62, 63, 64, 65, INT_MAX, (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)3037000500, (int64_t)1 << 62,
    INT64_MAX - 1, INT64_MAX};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static wide floor_of(wide a, wide b)
{
    wide q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

/* 1, with the exact result, or 0 when there is none. */
static int is_defined(int term, int64_t a, int64_t b, wide *result)
{
    switch (term) {
    case TERM_ADD: *result = (wide)a + b; break;
    case TERM_SUB: *result = (wide)a - b; break;
    case TERM_MUL: *result = (wide)a * b; break;
    case TERM_DIV: *result = b ? floor_of(a, b) : 0; break;
    case TERM_MOD: *result = b ? a - floor_of(a, b) * b : a; break;
    case TERM_AND: *result = a & b; break;
    case TERM_OR: *result = a | b; break;
    case TERM_XOR: *result = a ^ b; break;
    case TERM_SHL:
        if (a && (b < 0 || b > 62)) return 0;
        *result = a ? (wide)a * ((wide)1 << b) : 0;
        break;
    case TERM_SHR:
        if (b < 0) return 0;
        *result = b > 63 ? (a < 0 ? -1 : 0) : floor_of(a, (wide)1 << b);
        break;
    case TERM_LT: *result = a < b; break;
    case TERM_LE: *result = a <= b; break;
    case TERM_EQ: *result = a == b; break;
    case TERM_NE: *result = a != b; break;
    case TERM_MIN: *result = a < b ? a : b; break;
    default: *result = a > b ? a : b;
    }
    return *result >= INT64_MIN && *result <= INT64_MAX;
}

/* The first call of a program. */
static schedule_call first_call(int n, const int64_t *words, int *is_broken)
{
    schedule *made = schedule_new(n, words);
    assert(made);
    schedule_frame f;
    schedule_start(&f, made, 1, 4, 0, 100, NULL);
    schedule_call call = schedule_step(&f);
    *is_broken = f.is_broken;
    for (int i = 0; i < 3; i++) schedule_step(&f); /* a broken frame may be asked, too */
    schedule_free(made);
    return call;
}

static void results_are_exact_or_break_the_frame(void)
{
    for (int term = TERM_ADD; term <= TERM_MAX; term++)
        for (int i = 0; i < N_NUMBERS; i++)
            for (int j = 0; j < N_NUMBERS; j++) {
                wide exact = 0;
                const int64_t a = numbers[i], b = numbers[j];
                const int is_exact = is_defined(term, a, b, &exact);
                const int64_t words[] = {CALL_SEND, TERM_RANK, TERM_END, TERM_CONSTANT, a, TERM_CONSTANT, b, term,
                                         TERM_CONSTANT, is_exact ? (int64_t)exact : 0, TERM_EQ, TERM_END, CALL_HALT};
                int is_broken;
                const schedule_call call = first_call(13, words, &is_broken);
                assert(is_broken == !is_exact && (is_broken || call.bytes_out == 1));
            }
}

static void peers_and_sizes_do_not_wrap(void)
{
    static const int64_t codes[] = {CALL_SEND, CALL_ISEND, CALL_RECV, CALL_IRECV};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < N_NUMBERS; i++) {
            const int64_t x = numbers[i];
            int is_broken;
            const int64_t peer[] = {codes[c], TERM_CONSTANT, x, TERM_END, TERM_CONSTANT, 8, TERM_END, CALL_HALT};
            schedule_call call = first_call(8, peer, &is_broken);
            assert(is_broken == (x < 0 || x > INT_MAX) && (is_broken || (c < 2 ? call.to : call.from) == x));
            const int64_t size[] = {codes[c], TERM_CONSTANT, 8, TERM_END, TERM_CONSTANT, x, TERM_END, CALL_HALT};
            call = first_call(8, size, &is_broken);
            assert(is_broken == (x < 0) && (is_broken || (c < 2 ? call.bytes_out : call.bytes_in) == x));
            for (int at = 0; at < 4; at++) {
                int64_t exchange[] = {CALL_EXCHANGE, TERM_CONSTANT, 1, TERM_END, TERM_CONSTANT, 1, TERM_END,
                                      TERM_CONSTANT, 1, TERM_END, TERM_CONSTANT, 1, TERM_END, CALL_HALT};
                exchange[2 + 3 * at] = x;
                call = first_call(14, exchange, &is_broken);
                assert(is_broken == (x < 0 || (at % 2 == 0 && x > INT_MAX)));
            }
        }
}

static void a_loop_runs_to_the_last_number(void)
{
    static const int64_t words[] = {CALL_LOOP, TERM_CONSTANT, INT64_MAX - 2, TERM_END, TERM_CONSTANT, INT64_MAX, TERM_END, 8,
                                    CALL_SEND, TERM_RANK, TERM_END, TERM_LOOP, 0, TERM_END, CALL_AGAIN, 8, CALL_HALT};
    schedule *made = schedule_new(17, words);
    assert(made);
    schedule_frame f;
    schedule_start(&f, made, 1, 4, 0, 100, NULL);
    for (int i = 0; i < 2; i++) assert(schedule_step(&f).bytes_out == INT64_MAX - 2 + i);
    assert(schedule_step(&f).code == CALL_HALT && !f.is_broken);
    schedule_free(made);
}

static void a_broken_condition_or_bound_is_noticed_at_once(void)
{
    static const int64_t unless[] = {CALL_IF, TERM_CONSTANT, INT64_MAX, TERM_RANK, TERM_ADD, TERM_END, 0, CALL_HALT};
    static const int64_t loop[] = {CALL_LOOP, TERM_CONSTANT, 0, TERM_END, TERM_CONSTANT, INT64_MAX, TERM_RANK, TERM_SHL, TERM_END,
                                   2, CALL_AGAIN, 2, CALL_HALT};
    int is_broken;
    first_call(8, unless, &is_broken);
    assert(is_broken);
    first_call(13, loop, &is_broken);
    assert(is_broken);
}

static void a_code_is_the_whole_word(void)
{
    assert(!schedule_new(2, (int64_t[]){((int64_t)1 << 32) + CALL_WAIT_ALL, CALL_HALT}));
    assert(!schedule_is_sound(0, NULL) && schedule_is_sound(2, (int64_t[]){CALL_WAIT_ALL, CALL_HALT}));
}

/* A rank that wraps to that of a neighbour, one outside the communicator, and sizes whose product does not fit. */
static void a_world_says_that_the_schedule_is_bad(void)
{
    static const int64_t bad[][10] = {
        {CALL_ISEND, TERM_CONSTANT, ((int64_t)1 << 32) + 1, TERM_END, TERM_CONSTANT, 8, TERM_END, CALL_HALT},
        {CALL_ISEND, TERM_CONSTANT, 2, TERM_END, TERM_CONSTANT, 8, TERM_END, CALL_HALT},
        {CALL_RECV, TERM_CONSTANT, -1, TERM_END, TERM_CONSTANT, 8, TERM_END, CALL_HALT},
        {CALL_ISEND, TERM_CONSTANT, 1, TERM_END, TERM_BYTES, TERM_BYTES, TERM_MUL, TERM_END, CALL_HALT},
    };
    platform *p = machine();
    model m = plain();
    for (int i = 0; i < 4; i++) {
        sim *s = world(p, &m, 2);
        const int schedule = sim_schedule_new(s, i == 3 ? 9 : 8, bad[i]);
        assert(schedule >= 0 && sim_next(s) == 0);
        assert(sim_append_collective(s, 0, 0, schedule, 0, (int64_t)1 << 32, NULL) == 0);
        assert(sim_next(s) == SIM_BROKEN && sim_error(s) == SIM_BAD_SCHEDULE);
        assert(sim_next(s) == SIM_BROKEN && sim_error(s) == SIM_BAD_SCHEDULE);
        sim_free(s);
    }
    platform_free(p);
}

/* ---- programs that are refused ---- */

/* `n` blocks within one another, the outermost of them loops. */
static schedule *nest(int n, int n_loops)
{
    int64_t *words = malloc((size_t)(12 * n + 1) * sizeof *words);
    int *body = malloc((size_t)n * sizeof *body), at = 0;
    assert(words && body);
    for (int i = 0; i < n; i++) {
        words[at++] = i < n_loops ? CALL_LOOP : CALL_IF;
        for (int k = 0; k < (i < n_loops ? 2 : 1); k++) {
            words[at++] = TERM_RANK;
            words[at++] = TERM_END;
        }
        body[i] = ++at;
    }
    for (int i = n - 1; i >= 0; i--) {
        if (i < n_loops) {
            words[at] = CALL_AGAIN;
            words[at + 1] = at + 2 - body[i];
            at += 2;
        }
        words[body[i] - 1] = at - body[i];
    }
    words[at++] = CALL_HALT;
    schedule *made = schedule_new(at, words);
    free(words);
    free(body);
    return made;
}

static void blocks_nest_so_deep_and_no_deeper(void)
{
    for (int n_loops = 0; n_loops <= SCHEDULE_LOOPS + 1; n_loops++)
        for (int n = n_loops; n <= SCHEDULE_BLOCKS + 1; n++) {
            schedule *made = nest(n, n_loops);
            assert(!made == (n > SCHEDULE_BLOCKS || n_loops > SCHEDULE_LOOPS));
            schedule_free(made);
        }
    assert(!nest(1000000, 0)); /* the C stack is not what bounds it */
}

static void a_block_ends_where_an_instruction_of_its_own_block_ends(void)
{
    /* an inner block of 1 to 6 words, in an outer one of 6 words that both end before CALL_WAIT_ALL */
    for (int64_t length = -1; length < 12; length++) {
        const int64_t words[] = {CALL_IF, TERM_RANK, TERM_END, 6, CALL_IF, TERM_RANK, TERM_END, length,
                                 CALL_WAIT_ALL, CALL_WAIT_ALL, CALL_WAIT_ALL, CALL_HALT};
        assert(schedule_is_sound(12, words) == (length >= 0 && length <= 2));
    }
    for (int64_t length = 0; length < 12; length++) {
        const int64_t words[] = {CALL_LOOP, TERM_RANK, TERM_END, TERM_SIZE, TERM_END, length, CALL_WAIT_ALL, CALL_WAIT_ALL,
                                 CALL_AGAIN, 4, CALL_HALT};
        assert(schedule_is_sound(11, words) == (length == 4));
    }
}

/* ---- many instructions without a call: the kernel returns to its caller, and goes on where it was ---- */

static double now_s(void)
{
    struct timespec t;
    assert(timespec_get(&t, TIME_UTC) == TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Words are written one after the other; a block's length is known at its end. */
typedef struct {
    int64_t word[400];
    int n;
} words;

static void add(words *w, int64_t word)
{
    w->word[w->n++] = word;
}

static void number(words *w, int64_t value)
{
    add(w, TERM_CONSTANT);
    add(w, value);
    add(w, TERM_END);
}

static int begin(words *w, int code, int64_t bound)
{
    add(w, code);
    number(w, 0);
    if (code == CALL_LOOP) number(w, bound);
    add(w, 0);
    return w->n;
}

static void end(words *w, int body, int code)
{
    if (code == CALL_LOOP) {
        add(w, CALL_AGAIN);
        add(w, w->n + 1 - body);
    }
    w->word[body - 1] = w->n - body;
}

/* Each rank goes three times to and fro; before each, loops of n rounds within one another, in which a condition never holds. */
static int long_way(sim *s, int64_t n)
{
    words w = {.n = 0};
    int rounds = begin(&w, CALL_LOOP, 3), outer = begin(&w, CALL_LOOP, n), inner = begin(&w, CALL_LOOP, n);
    int never = begin(&w, CALL_IF, 0);
    add(&w, CALL_SEND);
    number(&w, 77);
    number(&w, 8);
    end(&w, never, CALL_IF);
    end(&w, inner, CALL_LOOP);
    end(&w, outer, CALL_LOOP);
    add(&w, CALL_EXCHANGE);
    for (int i = 0; i < 2; i++) {
        for (int64_t term[] = {TERM_CONSTANT, 1, TERM_RANK, TERM_SUB, TERM_END}, k = 0; k < 5; k++) add(&w, term[k]);
        number(&w, 100);
    }
    end(&w, rounds, CALL_LOOP);
    add(&w, CALL_HALT);
    int schedule = sim_schedule_new(s, w.n, w.word);
    assert(schedule >= 0);
    return schedule;
}

static int64_t rounds;

static void performs_it(sim *s, int rank, int stage)
{
    if (stage == 0)
        assert(sim_append_collective(s, rank, 0, long_way(s, rounds), 0, 0, NULL) == 0);
    else
        sim_append_end(s, rank);
}

static double finish_s(const platform *p, const model *m, int64_t n)
{
    rounds = n;
    sim *s = world(p, m, 2);
    assert(run(s, 2, performs_it) == SIM_DONE);
    statistics stats;
    sim_statistics(s, &stats);
    assert(stats.messages == 6);
    double dates_s[MOST_RANKS];
    sim_finish_s(s, dates_s);
    const double date_s = dates_s[0];
    sim_free(s);
    return date_s;
}

static void instructions_that_call_nothing_take_no_time(const platform *p, const model *m)
{
    const double date_s = finish_s(p, m, 0);
    assert(date_s > 0);
    for (int64_t n = 1; n < 500; n = 3 * n + 1) assert(finish_s(p, m, n) == date_s);
}

static void a_schedule_without_end_can_be_interrupted(const platform *p, const model *m)
{
    sim *s = world(p, m, 2);
    assert(sim_next(s) == 0);
    assert(sim_append_collective(s, 0, 0, long_way(s, INT64_MAX), 0, 0, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        double before_s = now_s();
        assert(sim_next(s) == SIM_YIELD);
        assert(now_s() - before_s < 2); /* 0.05 on a machine of its own, as shipped */
        sim_interrupt(s);
        assert(sim_next(s) == SIM_YIELD);
    }
    sim_free(s);
}

static void a_step_reads_so_many_words_and_goes_on_where_it_was(void)
{
    words w = {.n = 0};
    int loop = begin(&w, CALL_LOOP, 100000);
    end(&w, loop, CALL_LOOP);
    add(&w, CALL_WAIT_ALL);
    add(&w, CALL_HALT);
    schedule *made = schedule_new(w.n, w.word);
    schedule_frame f;
    schedule_start(&f, made, 0, 1, 0, 0, NULL);
    int n = 0, code;
    while ((code = schedule_step(&f).code) == CALL_NOT_YET) n++;
    assert(code == CALL_WAIT_ALL && n > 1 && n < 100);
    assert(schedule_step(&f).code == CALL_HALT && schedule_step(&f).code == CALL_HALT);
    schedule_free(made);
}

/* ---- waits for the oldest outstanding operation ---- */

static void add_call(words *w, int64_t code, int64_t peer, int64_t bytes)
{
    add(w, code);
    number(w, peer);
    number(w, bytes);
}

static int only_rank(words *w, int64_t rank)
{
    add(w, CALL_IF);
    for (int64_t term[] = {TERM_RANK, TERM_CONSTANT, rank, TERM_EQ, TERM_END, 0}, k = 0; k < 6; k++) add(w, term[k]);
    return w->n;
}

/* Rank 1 sends to rank 0 at once, rank 2 when it has heard from rank 0, which waits for its receives one by one. */
static int one_by_one(sim *s, int64_t first, int64_t second, int64_t bytes)
{
    words w = {.n = 0};
    int block = only_rank(&w, 0);
    add_call(&w, CALL_IRECV, first, bytes);
    add_call(&w, CALL_ISEND, 3, 8); /* detached: an operation that has ended */
    add_call(&w, CALL_IRECV, second, bytes);
    for (int i = 0; i < 2; i++) add(&w, CALL_WAIT_OLDEST);
    add_call(&w, CALL_SEND, 2, 8);
    for (int i = 0; i < 3; i++) add(&w, CALL_WAIT_OLDEST); /* the last two have nothing to wait for */
    add_call(&w, CALL_IRECV, 1, bytes);
    add_call(&w, CALL_IRECV, 1, bytes);
    add(&w, CALL_WAIT_OLDEST);
    add(&w, CALL_WAIT_ALL);
    end(&w, block, CALL_IF);
    block = only_rank(&w, 1);
    for (int i = 0; i < 3; i++) add_call(&w, CALL_SEND, 0, bytes);
    end(&w, block, CALL_IF);
    block = only_rank(&w, 2);
    add_call(&w, CALL_RECV, 0, 8);
    add_call(&w, CALL_SEND, 0, bytes);
    end(&w, block, CALL_IF);
    block = only_rank(&w, 3);
    add_call(&w, CALL_RECV, 0, 8);
    end(&w, block, CALL_IF);
    add(&w, CALL_HALT);
    const int schedule = sim_schedule_new(s, w.n, w.word);
    assert(schedule >= 0);
    return schedule;
}

static int64_t peers[2], message_bytes;

static void performs_one_by_one(sim *s, int rank, int stage)
{
    const int schedule = stage == 0 ? one_by_one(s, peers[0], peers[1], message_bytes) : -1;
    if (stage == 0)
        assert(sim_append_collective(s, rank, 0, schedule, 0, 0, NULL) == 0);
    else
        sim_append_end(s, rank);
}

static double one_by_one_s(const platform *p, const model *m, int64_t first, int64_t second, int64_t bytes, int end)
{
    peers[0] = first;
    peers[1] = second;
    message_bytes = bytes;
    sim *s = world(p, m, 4);
    assert(run(s, 4, performs_one_by_one) == end);
    double dates_s[MOST_RANKS];
    sim_finish_s(s, dates_s);
    sim_free(s);
    return dates_s[0];
}

static void a_wait_for_the_oldest_waits_for_no_younger_one(const platform *p, const model *m)
{
    static const int64_t sizes[] = {8, 5000};
    for (int i = 0; i < 2; i++) {
        one_by_one_s(p, m, 1, 2, sizes[i], SIM_DONE);
        one_by_one_s(p, m, 2, 1, sizes[i], SIM_STUCK); /* rank 2 waits for rank 0 */
    }
}

/* Each receive is paid once, whether it had ended before its wait or not. */
static void waits_one_by_one_pay_each_receive_once(const platform *p)
{
    model m = plain();
    const double free_s = one_by_one_s(p, &m, 1, 2, 8, SIM_DONE);
    m.calls.recv_overhead[1] = 1;
    m.calls.n_recv_overhead = 1;
    const double paid_s = one_by_one_s(p, &m, 1, 2, 8, SIM_DONE);
    assert(fabs(paid_s - free_s - 5) < 1e-9); /* four of its own; rank 2's, which it waits for */
}

/* Rank 1 sends at once, rank 2 when it has heard from rank 0, which waits for two receives under their numbers. */
static void waits_under_numbers(sim *s, int rank, int stage)
{
    if (stage) {
        sim_append_end(s, rank);
        return;
    }
    words w = {.n = 0};
    int block = only_rank(&w, 0);
    add_call(&w, CALL_IRECV, 2, message_bytes);
    add_call(&w, CALL_IRECV, 1, message_bytes);
    add(&w, CALL_WAIT_FOR);
    number(&w, peers[0]);
    add_call(&w, CALL_SEND, 2, 8);
    add(&w, CALL_WAIT_FOR);
    number(&w, peers[1]);
    end(&w, block, CALL_IF);
    block = only_rank(&w, 1);
    add_call(&w, CALL_SEND, 0, message_bytes);
    end(&w, block, CALL_IF);
    block = only_rank(&w, 2);
    add_call(&w, CALL_RECV, 0, 8);
    add_call(&w, CALL_SEND, 0, message_bytes);
    end(&w, block, CALL_IF);
    add(&w, CALL_HALT);
    const int schedule = sim_schedule_new(s, w.n, w.word);
    assert(schedule >= 0 && sim_append_collective(s, rank, 0, schedule, 0, 0, NULL) == 0);
}

static double under_numbers_s(const platform *p, const model *m, int64_t first, int64_t second, int end)
{
    peers[0] = first;
    peers[1] = second;
    sim *s = world(p, m, 3);
    assert(run(s, 3, waits_under_numbers) == end);
    double dates_s[MOST_RANKS];
    sim_finish_s(s, dates_s);
    sim_free(s);
    return dates_s[0];
}

static void a_wait_under_a_number_waits_for_that_one_alone(const platform *p)
{
    model m = plain();
    message_bytes = 8;
    under_numbers_s(p, &m, 0, 1, SIM_STUCK); /* rank 2 waits for rank 0 */
    under_numbers_s(p, &m, 1, 2, SIM_BROKEN);
    const double free_s = under_numbers_s(p, &m, 1, 0, SIM_DONE);
    assert(under_numbers_s(p, &m, 1, 1, SIM_DONE) == free_s); /* the other one is waited for at the end */
    m.calls.recv_overhead[1] = 1;
    m.calls.n_recv_overhead = 1;
    assert(fabs(under_numbers_s(p, &m, 1, 0, SIM_DONE) - free_s - 3) < 1e-9); /* two of its own, and rank 2's */
}

/* ---- meetings ---- */

static int meeting(sim *s, int n)
{
    words w = {.n = 0};
    while (n-- > 0) add_call(&w, CALL_MEET, 3000, 1000);
    add(&w, CALL_HALT);
    return sim_schedule_new(s, w.n, w.word);
}

static void meet(sim *s, int rank, int n)
{
    assert(sim_append_sleep(s, rank, 1e-3 * rank) == 0 && sim_append_collective(s, rank, 0, meeting(s, n), 0, 0, NULL) == 0);
}

static void meets(sim *s, int rank, int stage)
{
    if (stage < 2)
        meet(s, rank, 1);
    else
        sim_append_end(s, rank);
}

static void meets_twice_at_once(sim *s, int rank, int stage)
{
    if (stage == 0) meet(s, rank, 2);
    sim_append_end(s, rank);
}

static void starts_a_meeting(sim *s, int rank, int stage)
{
    if (stage == 0) {
        assert(sim_append_sleep(s, rank, 1e-3 * rank) == 0);
        const int request = sim_append_start(s, rank, 0, meeting(s, 1), 0, 0, NULL, 0);
        assert(request > 0 && sim_append_wait(s, rank, request) == 0);
    } else {
        sim_append_end(s, rank);
    }
}

static void leaves_out_a_meeting(sim *s, int rank, int stage)
{
    if (stage == 0 && rank > 0)
        meet(s, rank, 1);
    else
        sim_append_end(s, rank);
}

static double met_s(const platform *p, const model *m, int n_ranks, program *what, int end)
{
    double dates_s[MOST_RANKS];
    sim *s = world(p, m, n_ranks);
    assert(run(s, n_ranks, what) == end);
    sim_finish_s(s, dates_s);
    for (int rank = 1; end == SIM_DONE && rank < n_ranks; rank++) assert(dates_s[rank] == dates_s[0]);
    sim_free(s);
    return dates_s[0];
}

static void ranks_that_meet_wait_for_the_last_and_for_the_network(const platform *p)
{
    const dimemas_parameters network = {.between = {.latency_s = 1e-5, .bandwidth_bytes_per_s = 1e8, .buses = 2},
                                        .collective_model = COLLECTIVE_LOG};
    model m = plain();
    met_s(p, &m, 2, meets, SIM_BROKEN); /* on a network that times messages alone */
    m.network = (network_model){&network_dimemas, &network};
    const double rounds = 2 + 1 + 1; /* 4 messages on two buses, then 2, then 1 */
    assert(fabs(met_s(p, &m, 8, meets, SIM_DONE) - 2 * (7e-3 + rounds * 6e-5)) < 1e-12);
    assert(fabs(met_s(p, &m, 8, starts_a_meeting, SIM_DONE) - (7e-3 + rounds * 6e-5)) < 1e-12);
    met_s(p, &m, 3, meets_twice_at_once, SIM_BROKEN);
    met_s(p, &m, 3, leaves_out_a_meeting, SIM_STUCK);
}

int main(void)
{
    results_are_exact_or_break_the_frame();
    peers_and_sizes_do_not_wrap();
    a_loop_runs_to_the_last_number();
    a_broken_condition_or_bound_is_noticed_at_once();
    a_code_is_the_whole_word();
    blocks_nest_so_deep_and_no_deeper();
    a_block_ends_where_an_instruction_of_its_own_block_ends();
    a_world_says_that_the_schedule_is_bad();
    platform *p = machine();
    model m = plain();
    a_step_reads_so_many_words_and_goes_on_where_it_was();
    instructions_that_call_nothing_take_no_time(p, &m);
    a_schedule_without_end_can_be_interrupted(p, &m);
    a_wait_for_the_oldest_waits_for_no_younger_one(p, &m);
    waits_one_by_one_pay_each_receive_once(p);
    a_wait_under_a_number_waits_for_that_one_alone(p);
    ranks_that_meet_wait_for_the_last_and_for_the_network(p);
    platform_free(p);
    puts("schedule: all well");
    return 0;
}
