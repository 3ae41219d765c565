/* Schedules that go on for long without a call: the kernel lets its caller breathe, and goes on where it was. */
#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "schedule.h"
#include "small_worlds.h"

static double now_s(void)
{
    struct timespec t;
    assert(timespec_get(&t, TIME_UTC) == TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Words are written one after the other; a block's length is known at its end. */
typedef struct {
    int64_t word[200];
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
    int never = begin(&w, CALL_UNLESS, 0);
    add(&w, CALL_SEND);
    number(&w, 77);
    number(&w, 8);
    end(&w, never, CALL_UNLESS);
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

int main(void)
{
    platform *p = machine();
    model m = plain();
    a_step_reads_so_many_words_and_goes_on_where_it_was();
    instructions_that_call_nothing_take_no_time(p, &m);
    a_schedule_without_end_can_be_interrupted(p, &m);
    platform_free(p);
    puts("schedules: all well");
    return 0;
}
