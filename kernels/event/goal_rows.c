#include <stdlib.h>
#include <string.h>

#include "basics/reserve.h"
#include "goal_rank.h"

/* Rows of a rank whose operations are ordered by what they require. */

enum { NONE = -1 };

static const int64_t ROOM_BYTES = (int64_t)1 << 62; /* a receive takes a message of any size */

/* Arrays over operations, and over what they require. */
typedef struct {
    int *first_need, *n_ends;         /* [n + 1], [n]: what each requires, ends before starts */
    int *needed;                      /* [n_needs] operations */
    int *first_follower, *follower;   /* [n + 1], [n_needs] */
    int *n_missing;                   /* of what it requires: not in order yet */
    int *order;                       /* so that each follows what it requires, else as in the file */
    int *timeline, *behind;           /* behind: the operation on whose timeline it goes on, or NONE */
    int *is_last;                     /* nothing follows it on its timeline yet */
    int *start_point, *end_point;     /* numbers, or 0 */
} order;

static int order_new(order *o, goal_builder *g, const goal_rank *of)
{
    const size_t n = (size_t)of->n, n_needs = (size_t)of->n_needs, room = 11 * n + 2 * n_needs + 2;
    void *list = g->scratch;
    const int error = room > INT32_MAX ? SIM_OUT_OF_MEMORY : reserve(&list, &g->scratch_room, (int)room, sizeof(int));
    int *next = g->scratch = list;
    if (error) return error;
    memset(next, 0, room * sizeof *next);
    int **const per_operation[] = {&o->n_ends, &o->n_missing, &o->order, &o->timeline, &o->behind, &o->is_last, &o->start_point,
                                   &o->end_point};
    for (size_t i = 0; i < sizeof per_operation / sizeof *per_operation; i++, next += n) *per_operation[i] = next;
    o->first_need = next;
    o->first_follower = next += n + 1;
    o->needed = next += n + 1;
    o->follower = next + n_needs;
    return 0;
}

/* Turns numbers of entries into places of the first ones: list[i] becomes the sum of those before i. */
static void sum_up(int *list, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        const int own = list[i];
        list[i] = sum;
        sum += own;
    }
    list[n] = sum;
}

/* Lists what each operation requires. n_missing and order serve as places of the next entries. */
static void list_needs(const order *o, const goal_rank *of)
{
    for (int i = 0; i < of->n_needs; i++) {
        o->first_need[of->need[i].later]++;
        o->n_ends[of->need[i].later] += of->need[i].is_end;
        o->first_follower[of->need[i].earlier]++;
    }
    sum_up(o->first_need, of->n);
    sum_up(o->first_follower, of->n);
    for (int i = 0; i < of->n; i++) {
        o->n_missing[i] = o->first_need[i];
        o->order[i] = o->first_need[i] + o->n_ends[i];
    }
    for (int i = 0; i < of->n_needs; i++) {
        const goal_need *need = &of->need[i];
        o->needed[need->is_end ? o->n_missing[need->later]++ : o->order[need->later]++] = need->earlier;
    }
}

/* Lists what requires each operation: its end first, then its start; each as the file first says what an operation requires. */
static void list_followers(const order *o, const goal_rank *of)
{
    int *next = o->n_missing, *is_seen = o->order;
    for (int i = 0; i < of->n; i++) next[i] = o->first_follower[i];
    for (int ends = 1; ends >= 0; ends--) {
        memset(is_seen, 0, (size_t)of->n * sizeof *is_seen);
        for (int i = 0; i < of->n_needs; i++) {
            const int later = of->need[i].later, middle = o->first_need[later] + o->n_ends[later];
            if (of->need[i].is_end != ends || is_seen[later]) continue;
            is_seen[later] = 1;
            for (int k = ends ? o->first_need[later] : middle; k < (ends ? middle : o->first_need[later + 1]); k++)
                o->follower[next[o->needed[k]]++] = later;
        }
    }
}

/* Puts operations in an order in which each follows what it requires; of those that become ready together, sends are before
 * receives, and these before work. Their number: fewer than there are, if some are in a cycle. */
static int put_in_order(const order *o, const goal_rank *of)
{
    const int n = of->n;
    int n_ordered = 0;
    for (int i = 0; i < n; i++) {
        o->n_missing[i] = o->first_need[i + 1] - o->first_need[i];
        if (!o->n_missing[i]) o->order[n_ordered++] = i;
    }
    for (int i = 0; i < n_ordered; i++) {
        const int done = o->order[i];
        for (goal_kind kind = GOAL_SEND; kind <= GOAL_CALC; kind++)
            for (int k = o->first_follower[done]; k < o->first_follower[done + 1]; k++)
                if (of->operation[o->follower[k]].kind == kind && !--o->n_missing[o->follower[k]])
                    o->order[n_ordered++] = o->follower[k];
    }
    return n_ordered;
}

static int add_timeline(goal_builder *g, int rank)
{
    void *list = g->rank_of_added;
    const int error = reserve(&list, &g->added_room, g->is.n_added + 1, sizeof *g->rank_of_added);
    g->rank_of_added = list;
    if (error) return error;
    g->rank_of_added[g->is.n_added] = rank;
    return g->is.n_ranks + g->is.n_added++;
}

/* Puts each operation on a timeline: behind one whose end it requires, if that is a last one yet. 0, or an error. */
static int choose_timelines(goal_builder *g, const order *o, int rank, int n)
{
    for (int i = 0; i < n; i++) {
        const int own = o->order[i];
        o->behind[own] = NONE;
        for (int k = o->first_need[own]; k < o->first_need[own] + o->n_ends[own]; k++) {
            if (!o->is_last[o->needed[k]]) continue;
            o->behind[own] = o->needed[k];
            break;
        }
        if (o->behind[own] != NONE) o->is_last[o->behind[own]] = 0;
        o->is_last[own] = 1;
        const int timeline = o->behind[own] != NONE ? o->timeline[o->behind[own]] : i ? add_timeline(g, rank) : rank;
        if (timeline < 0) return timeline;
        o->timeline[own] = timeline;
    }
    return 0;
}

/* The point that an operation waits for, by the number of a need; NULL: it is behind that on its timeline. */
static int *point_of(const order *o, int own, int need)
{
    const int is_end = need < o->first_need[own] + o->n_ends[own], earlier = o->needed[need];
    if (is_end && o->behind[own] == earlier) return NULL;
    return is_end ? &o->end_point[earlier] : &o->start_point[earlier];
}

static void number_points(goal_builder *g, const order *o, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = o->first_need[o->order[i]]; k < o->first_need[o->order[i] + 1]; k++) {
            int *point = point_of(o, o->order[i], k);
            if (point && !*point) *point = ++g->n_points;
        }
}

static int append(goal_builder *g, const trace_action *row)
{
    void *list = g->row;
    const int error = reserve(&list, &g->row_room, g->n_rows + 1, sizeof *g->row);
    g->row = list;
    if (!error) g->row[g->n_rows++] = *row;
    return error;
}

static int append_point(goal_builder *g, int timeline, int action, int point)
{
    return append(g, &(trace_action){.rank = timeline, .action = action, .peer = GOAL_ANY, .detail = point});
}

/* Appends a send or a receive up to its end. */
static int append_message(goal_builder *g, const goal_operation *of, int timeline, int request, int start_point)
{
    const int is_send = of->kind == GOAL_SEND, is_one_row = !is_send && !start_point;
    g->is.has_wildcards |= !is_send && (of->peer == GOAL_ANY || of->tag == GOAL_ANY);
    const trace_action row = {.bytes = is_send ? of->amount : ROOM_BYTES, .rank = timeline, .line = of->line, .peer = of->peer,
                              .tag = of->tag, .request = request,
                              .action = is_send ? g->isend : is_one_row ? g->recv : g->irecv};
    int error = append(g, &row);
    if (!error && start_point) error = append_point(g, timeline, g->reach, start_point);
    if (!error && !is_one_row)
        error = append(g, &(trace_action){.rank = timeline, .action = g->wait, .peer = GOAL_ANY, .request = request});
    return error;
}

static int append_work(goal_builder *g, const goal_operation *of, int timeline, int start_point)
{
    const int error = start_point ? append_point(g, timeline, g->reach, start_point) : 0;
    return error ? error : append(g, &(trace_action){.amount = (double)of->amount, .rank = timeline, .action = g->work,
                                                     .line = of->line, .peer = GOAL_ANY});
}

static int append_operation(goal_builder *g, const order *o, const goal_operation *of, int own)
{
    const int timeline = o->timeline[own];
    int error = 0;
    for (int k = o->first_need[own]; k < o->first_need[own + 1] && !error; k++) {
        const int *point = point_of(o, own, k);
        if (point) error = append_point(g, timeline, g->after, *point);
    }
    if (error) return error;
    error = of->kind == GOAL_CALC ? append_work(g, of, timeline, o->start_point[own])
                                  : append_message(g, of, timeline, own + 1, o->start_point[own]);
    if (!error && o->end_point[own]) error = append_point(g, timeline, g->reach, o->end_point[own]);
    return error;
}

int goal_append_rank(goal_builder *g, int rank, const goal_rank *of)
{
    const int first_added = g->is.n_ranks + g->is.n_added;
    order o;
    int error = order_new(&o, g, of);
    if (error) return error;
    list_needs(&o, of);
    list_followers(&o, of);
    if (put_in_order(&o, of) < of->n) {
        int first = 0;
        while (!o.n_missing[first]) first++;
        return first;
    }
    error = choose_timelines(g, &o, rank, of->n);
    if (error) return error;
    number_points(g, &o, of->n);
    /* Work of no time, so that the timelines are of ordered operations from the start. */
    error = append(g, &(trace_action){.rank = rank, .action = g->work, .peer = GOAL_ANY});
    for (int i = 0; i < of->n && !error; i++) error = append_operation(g, &o, &of->operation[o.order[i]], o.order[i]);
    if (!error) error = append_point(g, rank, g->end, 0);
    for (int added = first_added; added < g->is.n_ranks + g->is.n_added && !error; added++)
        error = append_point(g, added, g->end, 0);
    return error ? error : of->n;
}

int goal_know_actions(goal_builder *g)
{
    int *const number[] = {&g->work, &g->isend, &g->irecv, &g->recv, &g->wait, &g->reach, &g->after, &g->end};
    const char *const name[] = {"work", "isend", "irecv", "recv", "wait", "reach", "after", "end"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const row_words *words;
        for (*number[i] = 0; (words = sim_row_words(*number[i])) && strcmp(words->name, name[i]); ++*number[i]) continue;
        if (!words) return SIM_BAD_REQUEST;
    }
    return 0;
}

void goal_time(const trace_action *rows, int n, double speed, trace_action *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = rows[i];
        out[i].amount = rows[i].amount * 1e-9 / speed; /* `work` alone has an amount */
    }
}

/* ---- receives ---- */

/* Messages of a source, target and tag that are sent and not received; open addressing. */
typedef struct {
    int is_used, source, target, tag, n;
} unreceived;

typedef struct {
    unreceived *at;
    uint32_t mask;
    int *n_to;                        /* [n_ranks]: in all */
} count_of_sends;

static unreceived *find(const count_of_sends *c, int source, int target, int tag)
{
    const uint64_t key = ((uint64_t)(uint32_t)source << 32 | (uint32_t)target) * 0x9E3779B97F4A7C15u + (uint32_t)tag;
    uint32_t at = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & c->mask;
    for (;; at = (at + 1) & c->mask) {
        unreceived *u = &c->at[at];
        if (!u->is_used) *u = (unreceived){1, source, target, tag, 0};
        if (u->source == source && u->target == target && u->tag == tag) return u;
    }
}

static int rank_of(const goal_builder *g, int timeline)
{
    return timeline < g->is.n_ranks ? timeline : g->rank_of_added[timeline - g->is.n_ranks];
}

static int first_unfed(const goal_builder *g, const count_of_sends *c)
{
    for (int i = 0; i < g->n_rows; i++) {
        const trace_action *row = &g->row[i];
        if (row->action != g->isend) continue;
        find(c, rank_of(g, row->rank), row->peer, row->tag)->n++;
        c->n_to[row->peer]++;
    }
    for (int i = 0; i < g->n_rows; i++) {
        const trace_action *row = &g->row[i];
        if (row->action != g->recv && row->action != g->irecv) continue;
        const int target = rank_of(g, row->rank), is_any = row->peer == GOAL_ANY || row->tag == GOAL_ANY;
        if (--c->n_to[target] < 0 || (!is_any && --find(c, row->peer, target, row->tag)->n < 0)) return i;
    }
    return NONE;
}

int goal_unfed_receive(const goal_builder *g)
{
    int n_messages = 0;
    for (int i = 0; i < g->n_rows; i++) n_messages += g->row[i].bytes || g->row[i].request; /* rows of messages, and more */
    uint32_t room = 16;
    while (room < 2 * (uint32_t)n_messages) room *= 2;
    count_of_sends c = {calloc(room, sizeof *c.at), room - 1, calloc((size_t)g->is.n_ranks, sizeof *c.n_to)};
    const int found = c.at && c.n_to ? first_unfed(g, &c) : SIM_OUT_OF_MEMORY;
    free(c.at);
    free(c.n_to);
    return found;
}
