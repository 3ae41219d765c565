/* Text of templates and numbers, against the C library's. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics/number_text.h"

enum { ROWS = 1000, WIDTH = 3 };

static void numbers_are_written_as_the_library_writes_them(void)
{
    static const char templates[] = "a\1:\1\nnone\n\1\1,\1\n";
    static const char *const formats[] = {"a%" PRId64 ":%" PRId64 "\n", "none\n", "%" PRId64 "%" PRId64 ",%" PRId64 "\n"};
    static const int first[] = {0, 5, 10, 15};
    static const int64_t edges[] = {INT64_MIN, INT64_MAX, 0, -1, 9, 10};
    static int64_t numbers[ROWS][WIDTH];
    static int8_t template_of_row[ROWS];
    static char expected[ROWS * (WIDTH * (NUMBER_TEXT_DIGITS + 2) + 8)];
    unsigned state = 1;
    char *at = expected;
    for (int row = 0; row < ROWS; row++) {
        int64_t *const number = numbers[row];
        for (int i = 0; i < WIDTH; i++) {
            state = state * 1664525u + 1013904223u;
            number[i] = row < 18 ? edges[row / 3] : (int64_t)((uint64_t)state * state) >> (state >> 26);
        }
        template_of_row[row] = (int8_t)(row % 3);
        const int n = row % 3 == 0 ? sprintf(at, formats[0], number[0], number[1])
                    : row % 3 == 1 ? sprintf(at, "%s", formats[1])
                                   : sprintf(at, formats[2], number[0], number[1], number[2]);
        at += n;
    }
    char *const text = malloc((size_t)(at - expected)); /* the exact size, which the sanitizer guards */
    const int64_t n = number_text_fill(templates, first, ROWS, template_of_row, numbers[0], WIDTH, text);
    assert(n == at - expected);
    assert(memcmp(text, expected, (size_t)n) == 0);
    free(text);
}

int main(void)
{
    numbers_are_written_as_the_library_writes_them();
    puts("number_text: all checks passed");
    return 0;
}
