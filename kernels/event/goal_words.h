/* goal_words.h -- words and numbers of a text in GOAL, with space and comments between them. */
#ifndef SMPY_GOAL_WORDS_H
#define SMPY_GOAL_WORDS_H
#include <stdint.h>
#include <string.h>

static const int64_t GOAL_NUMBER_MAX = (int64_t)1 << 53;

typedef struct {
    const char *at, *end;             /* *end is 0 */
    int line;                         /* of `at` */
} goal_words;

typedef struct {
    int64_t value;                    /* GOAL_NUMBER_MAX + 1: it is larger */
    const char *at, *end;
} goal_number;

static inline int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline int begins_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Letters beyond ASCII may be within a word. */
static inline int is_in_word(char c)
{
    return begins_word(c) || is_digit(c) || (unsigned char)c >= 0x80;
}

static inline const char *word_end(const char *at)
{
    while (is_in_word(*at)) at++;
    return at;
}

static inline int same_word(const char *a, const char *b)
{
    while (*a == *b && is_in_word(*a)) a++, b++;
    return !is_in_word(*a) && !is_in_word(*b);
}

/* The place behind a comment that begins here; the same place: there is none. */
static inline const char *behind_comment(const goal_words *w)
{
    const char *at = w->at;
    if (at[1] == '/') {
        const char *newline = memchr(at, '\n', (size_t)(w->end - at));
        return newline ? newline : w->end;
    }
    if (at[1] != '*') return at;
    for (const char *star = at + 2; (star = memchr(star, '*', (size_t)(w->end - star))); star++)
        if (star[1] == '/') return star + 2;
    return at;
}

static inline void skip(goal_words *w)
{
    for (;;) {
        while (is_space(*w->at)) w->line += *w->at++ == '\n';
        if (*w->at != '/') return;
        const char *behind = behind_comment(w);
        if (behind == w->at) return;
        while (w->at < behind) w->line += *w->at++ == '\n';
    }
}

/* Takes the next thing, if it is this word. */
static inline int take_word(goal_words *w, const char *word)
{
    skip(w);
    if (!begins_word(*w->at) || !same_word(w->at, word)) return 0;
    w->at += strlen(word);
    return 1;
}

/* Takes the next thing, if it is this sign. */
static inline int take_sign(goal_words *w, char sign)
{
    skip(w);
    if (*w->at != sign) return 0;
    w->at++;
    return 1;
}

/* Takes the next thing, if it is a number. */
static inline int take_number(goal_words *w, int may_be_negative, goal_number *out)
{
    skip(w);
    const int is_negative = may_be_negative && *w->at == '-';
    const char *const digits = w->at + is_negative, *at = digits;
    int64_t value = 0;
    for (; is_digit(*at); at++)
        if (value <= GOAL_NUMBER_MAX) value = 10 * value + (*at - '0');
    if (at == digits) return 0;
    if (value > GOAL_NUMBER_MAX) value = GOAL_NUMBER_MAX + 1;
    *out = (goal_number){is_negative ? -value : value, w->at, at};
    w->at = at;
    return 1;
}
#endif
