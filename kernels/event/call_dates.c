#include <math.h>

#include "call_dates.h"

/* Place of the walk. */
typedef struct {
    dated_actions *of;
    int interval, n_over;
    int next_post; /* the next action that posts a message, or is of another site; -1: it is to be looked for */
    double now_s;
} walk;

static void go_on(walk *w)
{
    w->now_s = w->of->interval_end_s[w->interval++];
}

static int is_at_site(const walk *w, int site)
{
    return w->interval < w->of->n_intervals && w->of->interval_site[w->interval] == site;
}

/* The first side of a message with the tag of an action that no action before it has posted. */
static int find_message(const dated_actions *a, int action)
{
    const int queue = a->queue[action];
    if (queue == DATED_NO_QUEUE) return DATED_NO_MESSAGE;
    int *next = &a->next_of_queue[queue];
    const int end = a->first_of_queue[queue + 1];
    while (*next < end && a->is_posted[*next]) ++*next;
    for (int i = *next; i < end; i++) {
        if (!a->is_posted[i] && (a->tag[action] == DATED_ANY_TAG || a->tag[action] == a->message_tag[i])) return i;
    }
    return DATED_NO_MESSAGE;
}

/* Date at which the next message of a site is posted, by actions of the site that follow one another; INFINITY: there is none. */
static double next_post_s(walk *w, int site, int following)
{
    const dated_actions *a = w->of;
    if (following > w->next_post) {
        for (w->next_post = following; w->next_post < a->n_actions && a->site[w->next_post] == site; w->next_post++)
            if (find_message(a, w->next_post) != DATED_NO_MESSAGE) break;
    }
    const int is_there = w->next_post < a->n_actions && a->site[w->next_post] == site;
    const int message = is_there ? find_message(a, w->next_post) : DATED_NO_MESSAGE;
    return message == DATED_NO_MESSAGE ? INFINITY : a->posted_s[message];
}

/* Goes to the end of the intervals of a site that end until a date, and of so many overheads behind them; but not beyond the
 * date at which the actions that follow there post a message. */
static void pass(walk *w, int site, int following, double until_s, int n_overheads)
{
    const dated_actions *a = w->of;
    const double post_s = next_post_s(w, site, following);
    until_s = fmin(until_s, post_s);
    while (is_at_site(w, site) && a->interval_end_s[w->interval] <= until_s) go_on(w);
    for (; n_overheads && is_at_site(w, site) && a->interval_kind[w->interval] == a->overhead; n_overheads--) {
        if (a->interval_end_s[w->interval] > post_s) return;
        go_on(w);
    }
}

/* Goes to the date at which a message was posted. Intervals of other sites until there are of the calls before. */
static void post(walk *w, int action)
{
    dated_actions *a = w->of;
    const int message = find_message(a, action), site = a->site[action];
    if (message == DATED_NO_MESSAGE) return;
    a->message[action] = message;
    a->is_posted[message] = 1;
    while (w->interval < a->n_intervals && a->interval_end_s[w->interval] <= a->posted_s[message]) {
        const int is_before = !is_at_site(w, site);
        go_on(w);
        if (is_before) a->begin_s[action] = w->now_s;
    }
    if (a->kind[action] == DATED_POST) {
        a->open[a->request[action]] = action;
        return;
    }
    a->over[w->n_over++] = action;
    if (a->kind[action] == DATED_POST_AND_WAIT) pass(w, site, action + 1, a->ended_s[message], 1);
}

/* Goes to the end of a wait for the requests of some actions. */
static void complete(walk *w, int site, int following, int first, int end, int is_poll)
{
    const dated_actions *a = w->of;
    int n_messages = 0, is_known = !is_poll;
    double ended_s = -INFINITY;
    for (int i = first; i < end; i++) {
        int *const open = &a->open[a->request[i]];
        is_known &= a->started[a->request[i]] == DATED_NO_ACTION;
        if (*open == DATED_NO_ACTION) continue;
        ended_s = fmax(ended_s, a->ended_s[a->message[*open]]);
        a->over[w->n_over++] = *open;
        *open = DATED_NO_ACTION;
        n_messages++;
    }
    pass(w, site, following, is_known && n_messages ? ended_s : INFINITY, n_messages);
    for (int i = first; i < end; i++) {
        int *const started = &a->started[a->request[i]];
        if (*started == DATED_NO_ACTION) continue;
        a->over[w->n_over++] = *started;
        *started = DATED_NO_ACTION;
    }
}

/* Goes to the end of a collective, unless another one of its site follows. */
static void end_collective(walk *w, int site, int following)
{
    const dated_actions *a = w->of;
    const int is_same = following < a->n_actions && a->site[following] == site;
    if (is_same && (a->kind[following] == DATED_COLLECTIVE || a->kind[following] == DATED_START)) return;
    pass(w, site, following, INFINITY, 0);
}

/* The first action behind one that is not of a kind. */
static int end_of(const dated_actions *a, int action, int kind)
{
    do action++;
    while (action < a->n_actions && a->kind[action] == kind);
    return action;
}

/* Performs an action; returns the number of the next one. */
static int perform(walk *w, int action)
{
    const dated_actions *a = w->of;
    const int site = a->site[action];
    int next = action + 1;
    switch (a->kind[action]) {
    case DATED_INSTANT:
        break;
    case DATED_ALONE:
        if (w->interval < a->n_intervals && a->interval_kind[w->interval] == a->alone_kind[action]) go_on(w);
        break;
    case DATED_SKIPPED:
        while (w->interval < a->n_intervals && a->interval_kind[w->interval] == a->alone_kind[action]) go_on(w);
        break;
    case DATED_POST:
    case DATED_POST_BUFFERED:
    case DATED_POST_AND_WAIT:
        post(w, action);
        break;
    case DATED_WAIT:
    case DATED_TEST:
        complete(w, site, next, action, next, a->kind[action] == DATED_TEST);
        break;
    case DATED_WAIT_ALL:
        next = end_of(a, action, DATED_AND);
        complete(w, site, next, action, next, 0);
        break;
    case DATED_WAIT_ANY:
    case DATED_TEST_ANY: {
        next = end_of(a, action, DATED_AND);
        const int chosen = a->chosen[action], is_one = chosen >= 1 && chosen <= next - action;
        const int first = is_one ? action + chosen - 1 : action;
        complete(w, site, next, first, first + is_one, a->kind[action] == DATED_TEST_ANY);
        break;
    }
    case DATED_COLLECTIVE:
    case DATED_START:
        next = end_of(a, action, DATED_ENTRY);
        end_collective(w, site, next);
        if (a->kind[action] == DATED_START) a->started[a->request[action]] = action;
        break;
    default:
        pass(w, site, next, INFINITY, 0);
    }
    return next;
}

int call_dates_find(dated_actions *actions)
{
    walk w = {.of = actions, .next_post = -1, .now_s = actions->start_s};
    for (int action = 0, next; action < actions->n_actions; action = next) {
        next = action + 1;
        if (actions->kind[action] != DATED_NONE) {
            actions->is_call[action] = 1;
            actions->begin_s[action] = w.now_s;
            next = perform(&w, action);
            actions->end_s[action] = w.now_s;
        }
        for (int i = action + 1; i <= next; i++) actions->first_over[i] = w.n_over;
    }
    return w.interval;
}
