#include "goal.h"

#include <stdlib.h>
#include <string.h>

#include "basics/reserve.h"
#include "goal_rank.h"
#include "goal_words.h"

/* Reads the text of a program, statement by statement. */

enum { RANKS_MAX = 1 << 24, NONE = -1, READ = 1, OTHER = 0 }; /* a statement is read; it is another one; else an error < 0 */

typedef struct {
    uint32_t hash;
    int serial;                       /* of the rank whose label it is: of another one, the place is free */
    int operation;
} label_place;

/* Labels of a need that were not there yet. */
typedef struct {
    int need, line;
    const char *later, *earlier;
} open_need;

typedef struct {
    goal_words words;
    const char *text;
    int line;                         /* where the statement begins */
    goal_error *error;
    goal_builder building;
    goal_rank rank;
    label_place *label;               /* open addressing: at least two places for each */
    int n_labels, label_room, serial;
    open_need *open;
    int n_open, open_room;
} reader;

static int fail(const reader *r, int why)
{
    r->error->why = why;
    r->error->line = r->line;
    return NONE;
}

static int fail_at(const reader *r, int why, const char *at, const char *end)
{
    r->error->at = at - r->text;
    r->error->n_bytes = end - at;
    return fail(r, why);
}

/* Fails for the word that comes next: Python shows as much of it as there is room for. */
static int fail_here(const reader *r, int why)
{
    return fail_at(r, why, r->words.at, r->words.end);
}

/* ---- labels ---- */

/* Neighbours in a numbering have neighbouring hashes: they are needed at one time. */
static uint32_t hash_of(const char *label)
{
    uint32_t hash = 0;
    for (; is_in_word(*label); label++) hash = 31 * hash + (unsigned char)*label;
    return hash;
}

static label_place *place_of(const reader *r, const char *label, uint32_t hash)
{
    const uint32_t mask = (uint32_t)r->label_room - 1;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        label_place *place = &r->label[at];
        if (place->serial != r->serial) return place;
        if (place->hash == hash && same_word(r->text + r->rank.operation[place->operation].label_at, label)) return place;
    }
}

static int grow_labels(reader *r)
{
    const int room = r->label_room ? 2 * r->label_room : 64, before_room = r->label_room;
    label_place *before = r->label, *grown = calloc((size_t)room, sizeof *grown);
    if (!grown) return SIM_OUT_OF_MEMORY;
    r->label = grown;
    r->label_room = room;
    for (int i = 0; i < before_room; i++)
        if (before[i].serial == r->serial)
            *place_of(r, r->text + r->rank.operation[before[i].operation].label_at, before[i].hash) = before[i];
    free(before);
    return 0;
}

/* Gives the newest operation its label: READ, or an error. */
static int add_label(reader *r, const char *label)
{
    if (2 * (r->n_labels + 1) > r->label_room && grow_labels(r) < 0) return SIM_OUT_OF_MEMORY;
    const uint32_t hash = hash_of(label);
    label_place *place = place_of(r, label, hash);
    if (place->serial == r->serial) {
        r->error->other_line = r->rank.operation[place->operation].line;
        return fail_at(r, GOAL_LABEL_TWICE, label, word_end(label));
    }
    *place = (label_place){hash, r->serial, r->rank.n - 1};
    r->n_labels++;
    return READ;
}

/* The operation with a label, or NONE. Most are among the last two. */
static int labelled(const reader *r, const char *label)
{
    const goal_rank *of = &r->rank;
    for (int i = of->n - 1; i >= 0 && i >= of->n - 2; i--)
        if (of->operation[i].label_bytes && same_word(r->text + of->operation[i].label_at, label)) return i;
    if (!r->n_labels) return NONE;
    const label_place *place = place_of(r, label, hash_of(label));
    return place->serial == r->serial ? place->operation : NONE;
}

/* ---- statements ---- */

/* `LATER requires EARLIER`, behind the first label. */
static int read_need(reader *r, const char *later)
{
    goal_rank *of = &r->rank;
    const int is_end = take_word(&r->words, "requires");
    if (!is_end && !take_word(&r->words, "irequires")) return OTHER;
    skip(&r->words);
    const char *earlier = r->words.at;
    if (!begins_word(*earlier)) return OTHER;
    r->words.at = word_end(earlier);
    void *list = of->need;
    int error = reserve(&list, &of->need_room, of->n_needs + 1, sizeof *of->need);
    of->need = list;
    if (error) return error;
    const goal_need need = {labelled(r, later), labelled(r, earlier), is_end};
    of->need[of->n_needs++] = need;
    if (need.later != NONE && need.earlier != NONE) return READ;
    list = r->open;
    error = reserve(&list, &r->open_room, r->n_open + 1, sizeof *r->open);
    r->open = list;
    if (error) return error;
    r->open[r->n_open++] = (open_need){of->n_needs - 1, r->line, later, earlier};
    return READ;
}

/* Takes a number with a name, such as `tag 7`, if that comes next. */
static int take_option(reader *r, const char *name, int may_be_negative, goal_number *out)
{
    skip(&r->words);
    if (*r->words.at != *name) return 0;
    const goal_words before = r->words;
    if (take_word(&r->words, name) && take_number(&r->words, may_be_negative, out) && !is_in_word(*r->words.at)) return 1;
    r->words = before;
    return 0;
}

/* Checks the numbers of a message: 0, or an error. */
static int check_message(const reader *r, const goal_operation *of, const goal_number *peer, const goal_number *tag)
{
    const int is_recv = of->kind == GOAL_RECV;
    if (!(peer->value >= 0 && peer->value < r->building.is.n_ranks) && !(is_recv && peer->value == GOAL_ANY))
        return fail_at(r, GOAL_BAD_PEER, peer->at, peer->end);
    if (!(tag->value >= 0 && tag->value <= INT32_MAX) && !(is_recv && tag->value == GOAL_ANY))
        return fail_at(r, GOAL_BAD_TAG, tag->at, tag->end);
    return 0;
}

/* An operation, from its name on. */
static int read_operation(reader *r, goal_operation *of)
{
    goal_words *w = &r->words;
    goal_number amount, peer = {.value = GOAL_ANY}, tag = {.value = 0}, unit;
    int is_to = 0;
    of->kind = take_word(w, "calc") ? GOAL_CALC : take_word(w, "send") ? GOAL_SEND : GOAL_RECV;
    if (of->kind == GOAL_RECV && !take_word(w, "recv")) return OTHER;
    if (!take_number(w, 0, &amount)) return OTHER;
    if (of->kind != GOAL_CALC) {
        if (!take_word(w, "b")) return OTHER;
        is_to = take_word(w, "to");
        if ((!is_to && !take_word(w, "from")) || !take_number(w, 1, &peer)) return OTHER;
    }
    if (is_in_word(*w->at)) return OTHER;
    take_option(r, "tag", 1, &tag);
    for (int i = 0; i < 2; i++)
        if (take_option(r, i ? "nic" : "cpu", 0, &unit) && unit.value) {
            r->error->is_nic = i;
            return fail_at(r, GOAL_OTHER_UNIT, unit.at, unit.end);
        }
    r->error->is_send = of->kind == GOAL_SEND;
    if (of->kind != GOAL_CALC) {
        const int error = is_to == r->error->is_send ? check_message(r, of, &peer, &tag) : fail(r, GOAL_WAY);
        if (error) return error;
    }
    if (amount.value > GOAL_NUMBER_MAX) return fail_at(r, GOAL_TOO_LARGE, amount.at, amount.end);
    of->amount = amount.value;
    of->peer = (int)peer.value;
    of->tag = of->kind == GOAL_CALC ? 0 : (int)tag.value;
    return READ;
}

/* An operation, with its label if it has one. */
static int read_labelled(reader *r, const char *label)
{
    goal_rank *of = &r->rank;
    goal_operation operation = {.line = r->line};
    int result = read_operation(r, &operation);
    if (result != READ) return result;
    if (label) {
        operation.label_at = label - r->text;
        operation.label_bytes = (int)(word_end(label) - label);
    }
    void *list = of->operation;
    result = reserve(&list, &of->room, of->n + 1, sizeof *of->operation);
    of->operation = list;
    if (result) return result;
    of->operation[of->n++] = operation;
    return label ? add_label(r, label) : READ;
}

static int read_statement(reader *r)
{
    goal_words *w = &r->words;
    const goal_words before = *w;
    const char *word = w->at;
    int result = OTHER;
    if (begins_word(*word)) {
        w->at = word_end(word);
        if (take_sign(w, ':')) {
            result = read_labelled(r, word);
        } else {
            result = read_need(r, word);
            if (result == OTHER) {
                *w = before;
                result = read_labelled(r, NULL);
            }
        }
    }
    if (result != OTHER) return result;
    *w = before;
    return fail_here(r, GOAL_NO_STATEMENT);
}

/* ---- ranks ---- */

/* Finds the labels that were not there when they were required: 0, or an error. */
static int close_needs(reader *r)
{
    for (int i = 0; i < r->n_open; i++) {
        const open_need *open = &r->open[i];
        goal_need *need = &r->rank.need[open->need];
        need->later = labelled(r, open->later);
        need->earlier = labelled(r, open->earlier);
        if (need->later != NONE && need->earlier != NONE) continue;
        const char *label = need->later == NONE ? open->later : open->earlier;
        r->line = open->line;
        return fail_at(r, GOAL_NO_LABEL, label, word_end(label));
    }
    return 0;
}

/* `rank N {`: 0, or an error. */
static int read_rank_head(reader *r, int rank)
{
    goal_words *w = &r->words;
    const goal_words before = *w;
    goal_number own;
    r->line = w->line;
    r->error->rank = rank;
    r->error->rank_at = w->at - r->text;
    if (!take_word(w, "rank") || !take_number(w, 0, &own) || !take_sign(w, '{')) {
        *w = before;
        return fail_here(r, GOAL_NO_RANK);
    }
    return own.value == rank && rank < r->building.is.n_ranks ? 0 : fail_at(r, GOAL_OTHER_RANK, own.at, own.end);
}

/* A rank, and its rows: 0, or an error. */
static int read_rank(reader *r, int rank)
{
    int error = read_rank_head(r, rank);
    if (error) return error;
    r->rank.n = r->rank.n_needs = r->n_open = r->n_labels = 0;
    r->serial++;
    for (;;) {
        skip(&r->words);
        r->line = r->words.line;
        if (r->words.at == r->words.end) return fail(r, GOAL_UNCLOSED);
        if (take_sign(&r->words, '}')) break;
        const int result = read_statement(r);
        if (result < 0) return result;
    }
    error = close_needs(r);
    if (error) return error;
    const int n_ordered = goal_append_rank(&r->building, rank, &r->rank);
    if (n_ordered < 0) return n_ordered;
    if (n_ordered == r->rank.n) return 0;
    r->line = r->rank.operation[n_ordered].line;
    return fail(r, GOAL_CYCLE);
}

/* `num_ranks N`: 0, or an error. */
static int read_head(reader *r)
{
    goal_number n_ranks;
    skip(&r->words);
    r->line = r->words.line;
    if (!take_word(&r->words, "num_ranks") || !take_number(&r->words, 0, &n_ranks) || is_in_word(*r->words.at))
        return fail(r, GOAL_NO_HEAD);
    if (n_ranks.value < 1 || n_ranks.value > RANKS_MAX) return fail_at(r, GOAL_BAD_RANKS, n_ranks.at, n_ranks.end);
    r->building.is.n_ranks = r->error->n_ranks = (int)n_ranks.value;
    return 0;
}

/* Appends the number of the first row of a rank, or of the end: 0, or an error. */
static int begin_rows(goal_builder *g, int rank)
{
    void *list = g->first_row;
    const int error = reserve(&list, &g->first_room, rank + 1, sizeof *g->first_row);
    g->first_row = list;
    if (!error) g->first_row[rank] = g->n_rows;
    return error;
}

static int check_receives(const reader *r)
{
    const int unfed = goal_unfed_receive(&r->building);
    if (unfed < 0) return unfed == NONE ? 0 : unfed;
    const trace_action *row = &r->building.row[unfed];
    int rank = 0;
    while (r->building.first_row[rank + 1] <= unfed) rank++;
    *r->error = (goal_error){.why = GOAL_UNFED, .rank = rank, .line = row->line, .peer = row->peer, .tag = row->tag};
    return NONE;
}

static int read_program(reader *r)
{
    goal_builder *g = &r->building;
    int rank = 0, error = goal_know_actions(g);
    if (!error) error = read_head(r);
    while (!error) {
        error = begin_rows(g, rank);
        skip(&r->words);
        if (error || r->words.at == r->words.end) break;
        error = read_rank(r, rank++);
    }
    if (error) return error;
    r->line = r->words.line;
    r->error->rank = rank;
    return rank < g->is.n_ranks ? fail(r, GOAL_FEW_RANKS) : check_receives(r);
}

/* ---- the outside ---- */

static void free_rows(goal_builder *g)
{
    free(g->row);
    free(g->first_row);
    free(g->rank_of_added);
}

goal_program *goal_read(const char *text, int64_t n_bytes, goal_error *error)
{
    reader r = {.words = {.at = text, .end = text + n_bytes, .line = 1}, .text = text, .error = error};
    goal_builder *program = calloc(1, sizeof *program);
    *error = (goal_error){0};
    const int result = program ? read_program(&r) : SIM_OUT_OF_MEMORY;
    free(r.rank.operation);
    free(r.rank.need);
    free(r.label);
    free(r.open);
    free(r.building.scratch);
    r.building.scratch = NULL;
    if (result) {
        if (result == SIM_OUT_OF_MEMORY) error->why = 0;
        free_rows(&r.building);
        free(program);
        return NULL;
    }
    *program = r.building;
    program->is.row = program->row;
    program->is.first_row = program->first_row;
    program->is.rank_of_added = program->rank_of_added;
    return &program->is;
}

void goal_free(goal_program *program)
{
    if (!program) return;
    free_rows((goal_builder *)program); /* `is` is its first member */
    free(program);
}
