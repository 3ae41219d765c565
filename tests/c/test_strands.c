/* Strands of a collective: what a rank does while one of them waits, whose messages match, and programs that are refused. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "mpi/schedule.h"
#include "small_worlds.h"

static void a_strand_is_a_block_that_ends_in_a_halt_and_has_no_strands(void)
{
    for (int64_t strand = 0; strand <= SCHEDULE_STRANDS + 1; strand++)
        for (int64_t length = -1; length < 8; length++) {
            const int64_t words[] = {CALL_FORK, strand, length, CALL_WAIT_ALL, CALL_HALT, CALL_JOIN, CALL_HALT};
            assert(schedule_is_sound(7, words) == (strand >= 1 && strand <= SCHEDULE_STRANDS && length == 2));
        }
    assert(!schedule_is_sound(6, (int64_t[]){CALL_FORK, 1, 2, CALL_JOIN, CALL_HALT, CALL_HALT}));
    assert(!schedule_is_sound(9, (int64_t[]){CALL_FORK, 1, 5, CALL_FORK, 2, 1, CALL_HALT, CALL_HALT, CALL_HALT}));
    assert(!schedule_is_sound(2, (int64_t[]){CALL_FORK, CALL_HALT}) && !schedule_is_sound(3, (int64_t[]){CALL_FORK, 1, CALL_HALT}));
}

/* In each round of a loop, a send of as many bytes as the loop has come to. */
static void a_strand_knows_the_loops_around_it(void)
{
    static const int64_t words[] = {CALL_LOOP, TERM_CONSTANT, 0, TERM_END, TERM_CONSTANT, 3, TERM_END, 14,
                                    CALL_FORK, 2, 7, CALL_ISEND, TERM_RANK, TERM_END, TERM_LOOP, 0, TERM_END, CALL_HALT,
                                    CALL_WAIT_ALL, CALL_JOIN, CALL_AGAIN, 14, CALL_HALT};
    schedule_call call[20];
    assert(schedule_list(23, words, 1, 4, 0, 0, NULL, 20, call) == 15);
    for (int round = 0; round < 3; round++) {
        const schedule_call *mine = call + 5 * round;
        assert(mine[0].code == CALL_FORK && mine[0].number == 2 && mine[1].code == CALL_ISEND && mine[1].bytes_out == round);
        assert(mine[2].code == CALL_HALT && mine[3].code == CALL_WAIT_ALL && mine[4].code == CALL_JOIN);
    }
}

/* Rank 0 receives a message from rank 1 in a strand, reduces it and sends it to rank 2; it hears from rank 2 only when that has
 * come. */
static const int64_t hands_on[] = {
    CALL_IF, TERM_RANK, TERM_CONSTANT, 0, TERM_EQ, TERM_END, 26,
    CALL_FORK, 1, 16, CALL_RECV, TERM_CONSTANT, 1, TERM_END, TERM_BYTES, TERM_END,
    CALL_COMBINE, TERM_BYTES, TERM_END,
    CALL_SEND, TERM_CONSTANT, 2, TERM_END, TERM_BYTES, TERM_END, CALL_HALT,
    CALL_RECV, TERM_CONSTANT, 2, TERM_END, TERM_CONSTANT, 8, TERM_END,
    CALL_IF, TERM_RANK, TERM_CONSTANT, 1, TERM_EQ, TERM_END, 10,
    CALL_FORK, 1, 7, CALL_SEND, TERM_CONSTANT, 0, TERM_END, TERM_BYTES, TERM_END, CALL_HALT,
    CALL_IF, TERM_RANK, TERM_CONSTANT, 2, TERM_EQ, TERM_END, 18,
    CALL_FORK, 1, 7, CALL_RECV, TERM_CONSTANT, 0, TERM_END, TERM_BYTES, TERM_END, CALL_HALT,
    CALL_JOIN, CALL_SEND, TERM_CONSTANT, 0, TERM_END, TERM_CONSTANT, 8, TERM_END,
    CALL_HALT};

/* Rank 1 sends in a strand, and then waits for rank 0, which waits for a message that is in no strand. */
static const int64_t mistakes[] = {
    CALL_IF, TERM_RANK, TERM_CONSTANT, 0, TERM_EQ, TERM_END, 14,
    CALL_RECV, TERM_CONSTANT, 1, TERM_END, TERM_CONSTANT, 8, TERM_END,
    CALL_SEND, TERM_CONSTANT, 1, TERM_END, TERM_CONSTANT, 8, TERM_END,
    CALL_IF, TERM_RANK, TERM_CONSTANT, 1, TERM_EQ, TERM_END, 18,
    CALL_FORK, 1, 8, CALL_ISEND, TERM_CONSTANT, 0, TERM_END, TERM_CONSTANT, 8, TERM_END, CALL_HALT,
    CALL_RECV, TERM_CONSTANT, 0, TERM_END, TERM_CONSTANT, 8, TERM_END,
    CALL_HALT};

static const int64_t *performed;
static int n_words, is_started;
static int64_t message_bytes;

static void performs_it(sim *s, int rank, int stage)
{
    if (stage) {
        sim_append_end(s, rank);
        return;
    }
    const int number = sim_schedule_new(s, n_words, performed);
    assert(number >= 0);
    if (is_started)
        assert(sim_append_start(s, rank, 0, number, 0, message_bytes, NULL, 0) > 0);
    else
        assert(sim_append_collective(s, rank, 0, number, 0, message_bytes, NULL) == 0);
}

static double finish_s(const platform *p, const model *m, const int64_t *words, int n, int end)
{
    performed = words;
    n_words = n;
    sim *s = world(p, m, 3);
    assert(run(s, 3, performs_it) == end);
    double dates_s[MOST_RANKS];
    sim_finish_s(s, dates_s);
    sim_free(s);
    return dates_s[0];
}

enum { HANDS_ON = sizeof hands_on / sizeof *hands_on, MISTAKES = sizeof mistakes / sizeof *mistakes };

static void a_strand_goes_on_while_another_one_waits(const platform *p)
{
    model m = plain();
    for (int i = 0; i < 2; i++) {
        message_bytes = i ? 5000 : 8;
        const double free_s = finish_s(p, &m, hands_on, HANDS_ON, SIM_DONE);
        m.calls.recv_overhead[1] = 1;
        m.calls.n_recv_overhead = 1;
        assert(fabs(finish_s(p, &m, hands_on, HANDS_ON, SIM_DONE) - free_s - (i ? 1 : 3)) < 1e-9); /* each eager one is paid once */
        m.calls.n_recv_overhead = 0;
    }
}

static void a_reduction_in_a_strand_takes_the_time_of_its_rank(const platform *p)
{
    model m = plain();
    message_bytes = 5000;
    const double free_s = finish_s(p, &m, hands_on, HANDS_ON, SIM_DONE);
    m.calls.reduction_byte_s = 1e-6;
    assert(fabs(finish_s(p, &m, hands_on, HANDS_ON, SIM_DONE) - free_s - 5e-3) < 1e-12);
}

static void messages_of_a_strand_match_in_strands_of_its_number(const platform *p)
{
    const model m = plain();
    finish_s(p, &m, mistakes, MISTAKES, SIM_STUCK);
}

static void a_started_collective_has_no_strands(const platform *p)
{
    const model m = plain();
    is_started = 1;
    finish_s(p, &m, hands_on, HANDS_ON, SIM_BROKEN);
    is_started = 0;
}

int main(void)
{
    a_strand_is_a_block_that_ends_in_a_halt_and_has_no_strands();
    a_strand_knows_the_loops_around_it();
    platform *p = machine();
    a_strand_goes_on_while_another_one_waits(p);
    a_reduction_in_a_strand_takes_the_time_of_its_rank(p);
    messages_of_a_strand_match_in_strands_of_its_number(p);
    a_started_collective_has_no_strands(p);
    platform_free(p);
    puts("strands: all well");
    return 0;
}
