#include <math.h>

#include "call_dates.h"

/* Place of the walk. */
typedef struct {
    dated_actions *of;
    int interval, n_over;
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

/* Goes to the end of the intervals of a site that end until a date, and of so many overheads behind them. */
static void pass(walk *w, int site, double until_s, int n_overheads)
{
    const dated_actions *a = w->of;
    while (is_at_site(w, site) && a->interval_end_s[w->interval] <= until_s) go_on(w);
    for (; n_overheads && is_at_site(w, site) && a->interval_kind[w->interval] == a->overhead; n_overheads--) go_on(w);
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
    if (a->kind[action] == DATED_POST_AND_WAIT) pass(w, site, a->ended_s[message], 1);
}

/* Goes to the end of a wait for the requests of some actions. */
static void complete(walk *w, int site, int first, int end, int is_poll)
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
    pass(w, site, is_known && n_messages ? ended_s : INFINITY, n_messages);
    for (int i = first; i < end; i++) {
        int *const started = &a->started[a->request[i]];
        if (*started == DATED_NO_ACTION) continue;
        a->over[w->n_over++] = *started;
        *started = DATED_NO_ACTION;
    }
}

/* Goes to the end of the intervals of a site: where an action of the same site follows that posts a message, to its date. */
static void pass_until(walk *w, int site, int following)
{
    const dated_actions *a = w->of;
    const int is_same = following < a->n_actions && a->site[following] == site;
    const int message = is_same ? find_message(a, following) : DATED_NO_MESSAGE;
    pass(w, site, message == DATED_NO_MESSAGE ? INFINITY : a->posted_s[message], 0);
}

/* Goes to the end of a collective, unless another one of its site follows. */
static void end_collective(walk *w, int site, int following)
{
    const dated_actions *a = w->of;
    const int is_same = following < a->n_actions && a->site[following] == site;
    if (is_same && (a->kind[following] == DATED_COLLECTIVE || a->kind[following] == DATED_START)) return;
    pass_until(w, site, following);
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
        complete(w, site, action, next, a->kind[action] == DATED_TEST);
        break;
    case DATED_WAIT_ALL:
        next = end_of(a, action, DATED_AND);
        complete(w, site, action, next, 0);
        break;
    case DATED_WAIT_ANY:
    case DATED_TEST_ANY: {
        next = end_of(a, action, DATED_AND);
        const int chosen = a->chosen[action], is_one = chosen >= 1 && chosen <= next - action;
        const int first = is_one ? action + chosen - 1 : action;
        complete(w, site, first, first + is_one, a->kind[action] == DATED_TEST_ANY);
        break;
    }
    case DATED_COLLECTIVE:
    case DATED_START:
        next = end_of(a, action, DATED_ENTRY);
        end_collective(w, site, next);
        if (a->kind[action] == DATED_START) a->started[a->request[action]] = action;
        break;
    default:
        pass_until(w, site, next);
    }
    return next;
}

int call_dates_find(dated_actions *actions)
{
    walk w = {.of = actions, .now_s = actions->start_s};
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
