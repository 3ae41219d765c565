/* number_text.h -- lines of text, of templates and whole numbers.
 *
 * A template is bytes in which each NUMBER_TEXT_BLANK is to be filled with the next number of its row.
 * Invariant: a row has a number for each blank of its template. */
#ifndef SMPY_NUMBER_TEXT_H
#define SMPY_NUMBER_TEXT_H
#include <stdint.h>

/* cdef */
enum { NUMBER_TEXT_BLANK = 1, NUMBER_TEXT_DIGITS = 20 }; /* bytes of the longest number, with its sign */

/* Writes n rows, each with its template and `width` numbers, of which it takes the first ones; returns the number of bytes.
 * Templates follow each other, and template t begins at first_of_template[t]. `text` has room for NUMBER_TEXT_DIGITS bytes for
 * each blank, and for the others. */
int64_t number_text_fill(const char *templates, const int *first_of_template, int64_t n, const int8_t *template_of_row,
                         const int64_t *numbers, int width, char *text);
/* end cdef */
#endif
