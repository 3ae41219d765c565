#include <math.h>
#include <stdlib.h>

#include "perform.h"

/* Polling: a poll takes time, then a call, and the rank learns the answer in its next turn. A failed one makes the next one
 * longer, for all ranks, as the peer has it: so that a wait of many polls is few events.
 *
 * Where polls notice, a wait of many polls is few events, too, and ends as if all were made. What a rank asks for in turn, with
 * nothing else in between and in vain, is a round. In the k-th round each poll stands for k * k of the first one's length, for
 * nothing has changed. It ends with the first of them after a message has come to its rank, or a request of the rank's is
 * complete; then the rounds begin anew. (So a program that counts its polls sees other dates than one that looks at the clock.) */

enum { ASK = 0, LOOK = 1, LEARN = 2, PAID = 3 };

enum { ROUNDS_MAX = 1000, ROUND_MAX = 256 };

static question asked(timeline *t)
{
    const action *a = first_action(t);
    if (a->what == DO_TEST_ANY) return (question){.what = a->what, .id = a->id, .comm = a->id > 0 ? a->with.list[0] : 0};
    if (a->what < DO_IPROBE || a->what > DO_MPROBE) return (question){.what = a->what, .id = a->id};
    return (question){.what = a->what, .comm = t->probed.comm, .peer = t->probed.peer, .tag = t->probed.tag};
}

static int is_same(const question *a, const question *b)
{
    return a->what == b->what && a->id == b->id && a->comm == b->comm && a->peer == b->peer && a->tag == b->tag;
}

/* How many polls the next one stands for. One that is asked only once does not hold up the rounds of those that follow it. */
static double stands_for(timeline *t)
{
    const question now = asked(t);
    if (t->first_asked.what == DO_COMPUTE || ++t->n_in_round > ROUND_MAX) {
        t->first_asked = now;
        t->n_rounds = t->n_in_round = 0;
    } else if (is_same(&now, &t->first_asked)) {
        t->n_rounds += t->n_rounds < ROUNDS_MAX;
        t->n_in_round = 0;
    }
    return (1.0 + t->n_rounds) * (1.0 + t->n_rounds);
}

/* What the poll that begins is: a blocking probe that has found nothing goes on looking. */
static int kind_of_poll(timeline *t)
{
    return probes_on(t) && t->news >= 0 ? SPENT_PROBING : SPENT_POLLING;
}

int poll_begins(sim *s, int line, double poll_s, int in_a_row)
{
    timeline *t = &s->line[line];
    if (!s->model.polls_notice) return sleep_until(s, line, s->now_s + in_a_row * poll_s, kind_of_poll(t));
    t->poll_s = poll_s;
    t->polls_since_s = s->now_s;
    return sleep_until(s, line, s->now_s + poll_s * stands_for(t), kind_of_poll(t));
}

void poll_ends(sim *s, int line, int *in_a_row, int is_success, int grows)
{
    *in_a_row = is_success ? 1 : *in_a_row + grows;
    timeline *t = &s->line[line];
    t->in_vain = is_success ? (question){.what = DO_COMPUTE} : asked(t);
    if (is_success) t->first_asked.what = DO_COMPUTE;
}

void polls_notice(sim *s, int line)
{
    timeline *t = &s->line[line];
    t->first_asked.what = DO_COMPUTE;
    if (t->poll_s <= 0 || !heap_has(&s->sleeps, line)) return;
    const double n_over = ceil((s->now_s - t->polls_since_s) / t->poll_s - 1e-9); /* one that ends now sees it */
    const double end_s = t->polls_since_s + fmax(n_over, 1) * t->poll_s;
    if (end_s < s->sleeps.item[s->sleeps.place[line]].date_s) heap_move(&s->sleeps, line, end_s);
}

static int test_starts(sim *s, int line, int in_a_row)
{
    s->line[line].stage = LOOK;
    return poll_begins(s, line, s->model.test_s, in_a_row);
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
    poll_ends(s, line, in_a_row, is_success, grows);
    if (first_action(t)->what == DO_TEST_ANY) free(first_action(t)->with.list);
    timeline_drop_first(t);
    return FREE_OF_CHARGE;
}

int test_one(sim *s, int line, int id)
{
    timeline *t = &s->line[line];
    if (t->stage == ASK && s->model.test_s > 0) return test_starts(s, line, s->tests_in_a_row);
    t->poll_s = 0;
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
    t->poll_s = 0;
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
    s->n_probes_up_to_date += (!t->answer) - (t->news == s->news);
    t->news = t->answer ? -1 : s->news;
}

/* What a look finds is the answer: 1, the send of a matched probe, or 0; or an error. */
static int find(sim *s, timeline *t, const action *a)
{
    if (a->what == DO_GET_STATUS) return a->id <= 0 || s->requests.at[a->id].is.is_done;
    const request *wanted = &t->probed;
    int found = match_probe(&s->match, &s->requests, 2 * wanted->comm, t->rank, wanted->peer, wanted->tag);
    if (found <= 0) return found;
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
    if (s->model.polls_notice && t->stage == MADE) {
        t->stage = LOOKED;
        return poll_begins(s, line, s->model.iprobe_s, 0);
    }
    t->poll_s = 0;
    switch (t->stage++) {
    case MADE: a->with.amount = s->iprobes_in_a_row * s->model.iprobe_s * s->host[t->host].speed_flop_per_s; return MADE_A_CALL;
    case BOUND: return MADE_A_CALL;
    case STARTED: return a->with.amount > 0 ? compute(s, line, a->with.amount, kind_of_poll(t)) : MADE_A_CALL;
    case LOOKED: {
        int found = find(s, t, a);
        t->answer = found;
        return found < 0 ? found : MADE_A_CALL;
    }
    default: /* KNOWN */
        poll_ends(s, line, &s->iprobes_in_a_row, t->answer != 0, s->model.polls_grow);
        if (probes_on(t)) inform(s, t);
        if (t->answer || !probes_on(t))
            timeline_drop_first(t);
        else
            t->stage = MADE;
        return FREE_OF_CHARGE;
    }
}
