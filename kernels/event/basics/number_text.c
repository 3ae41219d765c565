#include <string.h>

#include "basics/number_text.h"

static char *put_number(char *at, int64_t number)
{
    char digits[NUMBER_TEXT_DIGITS];
    char *first = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) *--first = '-';
    const size_t n = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, n);
    return at + n;
}

int64_t number_text_fill(const char *templates, const int *first_of_template, int64_t n, const int8_t *template_of_row,
                         const int64_t *numbers, int width, char *text)
{
    char *at = text;
    for (int64_t row = 0; row < n; row++) {
        const int *const bounds = &first_of_template[template_of_row[row]];
        const int64_t *number = numbers + row * width;
        for (int i = bounds[0]; i < bounds[1]; i++) {
            if (templates[i] == NUMBER_TEXT_BLANK) at = put_number(at, *number++);
            else *at++ = templates[i];
        }
    }
    return at - text;
}
