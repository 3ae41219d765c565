#include <math.h>
#include <stdlib.h>

#include "perform.h"

/* Posting requests, waiting for them, and who is told when they are done. */

int post(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    int is_send = x->is.is_send;
    if (is_send && x->is.is_detached && !(x->context & 1)) s->line[x->is.rank].ahead_bytes -= x->is.bytes;
    int other = is_send ? match_send(&s->match, &s->requests, id) : match_recv(&s->match, &s->requests, id);
    if (is_send && !other) {
        s->news++;
        s->n_informed = 0;
    }
    if (other <= 0) return other;
    int send = is_send ? id : other, recv = is_send ? other : id;
    slot *from = &s->requests.at[send], *to = &s->requests.at[recv];
    to->is.matched_source = from->source;
    to->is.matched_tag = from->is.tag;
    to->is.matched_bytes = from->is.bytes;
    to->has_overhead = from->is.is_detached && s->model.n_recv_overhead;
    return flow_start(s, send, recv);
}

/* A receive of a detached message costs the receiver its overhead once it learns of it, one message after the other. */
static double overhead_s(const sim *s, const slot *x)
{
    int64_t bytes = x->is.matched_bytes < x->is.bytes ? x->is.matched_bytes : x->is.bytes;
    return x->has_overhead ? piecewise(s->model.recv_overhead, s->model.n_recv_overhead, bytes) : 0;
}

void pay(const sim *s, timeline *t, double seconds)
{
    if (seconds > 0) t->busy_until_s = fmax(t->busy_until_s, s->now_s) + seconds;
}

void pay_overhead(const sim *s, timeline *t, const slot *x)
{
    pay(s, t, overhead_s(s, x));
}

int after_overheads(sim *s, int line)
{
    timeline *t = &s->line[line];
    if (t->busy_until_s <= s->now_s) return MADE_A_CALL;
    double until_s = t->busy_until_s;
    t->busy_until_s = 0;
    return sleep_until(s, line, until_s);
}

/* The rank learns of each request in a call of its own. */
static void count_end(const sim *s, timeline *t)
{
    if (t->last_end_s != s->now_s) t->n_at_once = 0;
    t->last_end_s = s->now_s;
    t->n_at_once++;
}

static void finish_wait(sim *s, timeline *t)
{
    action *a = first_action(t);
    int n_turns = a->what == DO_WAIT_ALL ? t->n_at_once - 1 : 0;
    if (a->what == DO_WAIT_ANY)
        for (int i = 0; i < a->id; i++)
            if (a->with.list[i] > 0) s->requests.at[a->with.list[i]].waiter = -1;
    if (a->what != DO_WAIT) free(a->with.list);
    if (n_turns > 0)
        *a = (action){.what = DO_TURNS, .id = n_turns};
    else
        timeline_drop_first(t);
}

static void wake(sim *s, int line)
{
    if (after_overheads(s, line) == MADE_A_CALL) runs_next(s, line);
}

static void tell(sim *s, slot *x)
{
    int line = x->waiter;
    timeline *t = &s->line[line];
    x->waiter = -1;
    t->waits_since = s->order++;
    if (x->waiter_index < 0) {
        performance *p = first_action(t)->with.show;
        int is_waited_for = x->waiter_index == AWAITED || (t->state == WAITING && p->call.code == CALL_WAIT_ALL);
        if (is_waited_for)
            pay_overhead(s, t, x);
        else
            p->owed_s += overhead_s(s, x);
        if (x->waiter_index == AWAITED)
            p->n_awaited--;
        else
            p->n_background--;
        int is_over = p->n_awaited == 0 && (p->call.code != CALL_WAIT_ALL || p->n_background == 0);
        if (t->state != WAITING || !is_over) return;
        t->stage = 0;
    } else {
        pay_overhead(s, t, x);
        t->answer = x->waiter_index;
        count_end(s, t);
        if (--t->n_pending > 0 && first_action(t)->what != DO_WAIT_ANY) return;
        finish_wait(s, t);
    }
    wake(s, line);
}

void request_done(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    x->is.is_done = 1;
    if (x->waiter >= 0) tell(s, x);
    if (x->is_released) slot_free(&s->requests, id);
}

int wait_for(sim *s, int line, const int *list, int n, int is_any)
{
    timeline *t = &s->line[line];
    t->n_pending = t->n_at_once = 0;
    t->busy_until_s = 0;
    t->waits_since = s->order++;
    if (is_any) {
        t->answer = -1;
        for (int i = 0; i < n; i++) {
            if (list[i] != 0 && !(list[i] > 0 && s->requests.at[list[i]].is.is_done)) continue;
            if (list[i]) pay_overhead(s, t, &s->requests.at[list[i]]);
            int is_detached = !list[i];
            t->answer = i;
            free(first_action(t)->with.list);
            timeline_drop_first(t);
            return is_detached ? FREE_OF_CHARGE : after_overheads(s, line);
        }
    }
    int n_live = 0;
    for (int i = 0; i < n; i++) {
        if (list[i] <= 0) continue;
        slot *x = &s->requests.at[list[i]];
        n_live++;
        if (x->is.is_done) {
            pay_overhead(s, t, x);
            count_end(s, t);
        } else {
            x->waiter = line;
            x->waiter_index = i;
            t->n_pending++;
        }
    }
    if (t->n_pending) {
        if (first_action(t)->what == DO_WAIT) host_touched(s, t->host);
        t->state = WAITING;
        return BLOCKED;
    }
    finish_wait(s, t);
    return n_live ? after_overheads(s, line) : FREE_OF_CHARGE;
}
