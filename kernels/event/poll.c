#include <stdlib.h>

#include "perform.h"

/* Polling: a poll takes time, then a call, and the rank learns the answer in its next turn. A failed one makes the next one
 * longer, for all ranks. */

enum { ASK = 0, LOOK = 1, LEARN = 2, PAID = 3 };

static int test_starts(sim *s, int line, int in_a_row)
{
    s->line[line].stage = LOOK;
    return sleep_until(s, line, s->now_s + in_a_row * s->model.test_s);
}

static int test_ends(sim *s, int line, int id, int *in_a_row, int grows)
{
    timeline *t = &s->line[line];
    int is_success = id >= 0;
    if (t->stage == LEARN && id > 0) {
        t->busy_until_s = 0;
        t->stage = PAID;
        pay_overhead(s, t, &s->requests.at[id]);
        int result = after_overheads(s, line);
        if (result != MADE_A_CALL) return result;
    }
    *in_a_row = is_success ? 1 : *in_a_row + grows;
    if (first_action(t)->what == DO_TEST_ANY) free(first_action(t)->with.list);
    timeline_drop_first(t);
    return FREE_OF_CHARGE;
}

int test_one(sim *s, int line, int id)
{
    timeline *t = &s->line[line];
    if (t->stage == ASK && s->model.test_s > 0) return test_starts(s, line, s->tests_in_a_row);
    if (t->stage >= LEARN) return test_ends(s, line, t->answer ? id : -1, &s->tests_in_a_row, s->model.polls_grow);
    t->answer = id <= 0 || s->requests.at[id].is.is_done;
    t->stage = LEARN;
    return id > 0 ? MADE_A_CALL : FREE_OF_CHARGE;
}

int test_any(sim *s, int line, const action *a)
{
    timeline *t = &s->line[line];
    const int *list = a->with.list;
    if (t->stage == ASK && s->model.test_s > 0) return test_starts(s, line, s->test_anys_in_a_row);
    if (t->stage >= LEARN) {
        int id = t->answer < 0 ? -1 : list[t->answer];
        return test_ends(s, line, id, &s->test_anys_in_a_row, 1); /* whatever the model says, as the peer has it */
    }
    t->answer = -1;
    for (int i = 0; i < a->id && t->answer < 0; i++)
        if (list[i] == 0 || (list[i] > 0 && s->requests.at[list[i]].is.is_done)) t->answer = i;
    t->stage = LEARN;
    return MADE_A_CALL;
}

enum { LOOKED = STARTED + 1, KNOWN = STARTED + 2 }; /* a probe is an execution, then a look */

/* A blocking probe has looked: keeps count of those that know all there is. */
static void inform(sim *s, timeline *t)
{
    s->n_informed += (!t->answer) - (t->news == s->news);
    t->news = t->answer ? -1 : s->news;
}

/* What a look finds is the answer: 1, the send of a matched probe, or 0. */
static int find(sim *s, timeline *t, const action *a)
{
    if (a->what == DO_PEEK) return a->id <= 0 || s->requests.at[a->id].is.is_done;
    const request *wanted = &t->probed;
    int found = match_probe(&s->match, &s->requests, 2 * wanted->comm, t->rank, wanted->peer, wanted->tag);
    if (found <= 0) return 0;
    const slot *x = &s->requests.at[found];
    t->probed.peer = x->is.matched_source;
    t->probed.tag = x->is.tag;
    t->probed.bytes = x->is.bytes;
    if (a->what != DO_IMPROBE && a->what != DO_MPROBE) return 1;
    match_take_send(&s->match, &s->requests, found);
    return found;
}

int look(sim *s, int line)
{
    timeline *t = &s->line[line];
    action *a = first_action(t);
    switch (t->stage++) {
    case MADE: a->with.amount = s->iprobes_in_a_row * s->model.iprobe_s * s->host[t->host].speed_flop_per_s; return MADE_A_CALL;
    case BOUND: return MADE_A_CALL;
    case STARTED: return a->with.amount > 0 ? compute(s, line, a->with.amount) : MADE_A_CALL;
    case LOOKED: t->answer = find(s, t, a); return MADE_A_CALL;
    default: /* KNOWN */
        s->iprobes_in_a_row = t->answer ? 1 : s->iprobes_in_a_row + s->model.polls_grow;
        if (probes_on(t)) inform(s, t);
        if (t->answer || !probes_on(t))
            timeline_drop_first(t);
        else
            t->stage = MADE;
        return FREE_OF_CHARGE;
    }
}
