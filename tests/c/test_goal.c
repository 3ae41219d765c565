/* Programs in GOAL: rows of a text; texts that are cut or damaged are read without harm. */
#include "goal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char TEXT[] = "num_ranks 2\n// one\nrank 0 {\na: calc 5\nb: send 7b to 1 tag 3 cpu 0 nic 0\nb requires a /* so */\n"
                           "c: calc 1\nd: recv 1b from -1 tag -1\nd irequires c d requires b\n}\n"
                           "rank 1 { x: recv 7b from 0 tag 3 y: send 1b to 0 y requires x }\n";

/* Reads a copy that ends where its memory ends, so that the sanitizer sees each look beyond it. */
static int why_not(const char *text, size_t n, goal_error *error)
{
    char *copy = malloc(n + 1);
    assert(copy);
    memcpy(copy, text, n);
    copy[n] = 0;
    goal_program *program = goal_read(copy, (int64_t)n, error);
    free(copy);
    if (program) assert(program->first_row[program->n_ranks] > 0);
    goal_free(program);
    return program ? 0 : error->why;
}

static void operations_go_on_the_timeline_of_one_that_they_require(void)
{
    goal_error error;
    goal_program *program = goal_read(TEXT, (int64_t)strlen(TEXT), &error);
    assert(program && program->n_ranks == 2 && program->n_added == 1 && program->rank_of_added[0] == 0);
    assert(program->has_wildcards);
    int n_of_timeline[3] = {0}, last_line = 0;
    for (int64_t i = 0; i < program->first_row[2]; i++) {
        n_of_timeline[program->row[i].rank]++;
        if (program->row[i].line > last_line) last_line = program->row[i].line;
    }
    assert(n_of_timeline[0] == 7);    /* begin, a, b and its wait, after the start of c, d, end */
    assert(n_of_timeline[1] == 5);    /* begin, x, y and its wait, end */
    assert(n_of_timeline[2] == 3);    /* the start of c, c, end */
    assert(last_line == 11);
    trace_action timed[1];
    goal_time(&program->row[1], 1, 2.0, timed);
    assert(timed[0].amount == 5 * 1e-9 / 2.0 && timed[0].line == 4);
    goal_free(program);
}

static void a_text_that_is_cut_anywhere_is_refused(void)
{
    goal_error error;
    const size_t n = strlen(TEXT);
    assert(!why_not(TEXT, n, &error));
    for (size_t cut = 0; cut + 3 < n; cut++) assert(why_not(TEXT, cut, &error) && error.line >= 1 && error.line <= 11);
}

static void a_damaged_text_does_no_harm(void)
{
    char text[sizeof TEXT];
    goal_error error;
    int n_refused = 0;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        memcpy(text, TEXT, sizeof TEXT);
        for (int k = 0; k <= i % 3; k++)
            text[rand() % (int)(sizeof TEXT - 1)] = (char)(i % 2 ? rand() : " \n{}:/*ab0129-"[rand() % 14]);
        n_refused += why_not(text, sizeof TEXT - 1, &error) != 0;
    }
    assert(n_refused > 10000);
}

int main(void)
{
    operations_go_on_the_timeline_of_one_that_they_require();
    a_text_that_is_cut_anywhere_is_refused();
    a_damaged_text_does_no_harm();
    return 0;
}
