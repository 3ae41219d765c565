#include <math.h>
#include <stdlib.h>

#include "perform.h"

/* Posting requests, waiting for them, and who is told when they are done. */

int post(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    int is_send = x->is.is_send;
    if (is_send && x->is.is_detached && !(x->context & 1)) s->line[x->is.rank].ahead_bytes -= x->is.bytes;
    int other = x->partner ? x->partner : is_send ? match_send(&s->match, &s->requests, id) : match_recv(&s->match, &s->requests, id);
    if (is_send && !other) {
        s->news++;
        s->n_probes_up_to_date = 0;
        polls_notice(s, x->target);
    }
    if (other <= 0) return other;
    int send = is_send ? id : other, recv = is_send ? other : id;
    slot *from = &s->requests.at[send], *to = &s->requests.at[recv];
    to->is.matched_source = from->is.matched_source;
    to->is.matched_tag = from->is.tag;
    to->is.matched_bytes = from->is.bytes;
    from->has_matched = to->has_matched = 1;
    from->matched_s = to->matched_s = s->now_s;
    to->has_overhead = (from->is.is_detached || s->model.rendezvous_overheads) && s->model.n_recv_overhead > 0;
    return flow_start(s, send, recv);
}

/* A receive of a detached message, or of any where the model says so, costs the receiver its overhead once it learns of it, one
 * message after the other. */
double receive_overhead_s(const sim *s, const slot *x)
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
    pay(s, t, receive_overhead_s(s, x));
}

int after_overheads(sim *s, int line)
{
    timeline *t = &s->line[line];
    if (t->busy_until_s <= s->now_s) return MADE_A_CALL;
    double until_s = t->busy_until_s;
    t->busy_until_s = 0;
    return sleep_until(s, line, until_s, SPENT_OVERHEAD);
}

enum { LEARNT_OF = -1 }; /* in the list of a wait for several */

/* A wait for several is a call for each: it learns of a request that has ended, or blocks until one does. */

void wake(sim *s, int line)
{
    timeline *t = &s->line[line];
    if (t->waits_for_one) host_left(s, t->host, 0);
    t->waits_for_one = 0;
    int result = after_overheads(s, line);
    if (result == MADE_A_CALL) runs_next(s, line);
    keep_error(s, result);
}

static void tell_performer(sim *s, timeline *t, const slot *x)
{
    performance *p = first_action(t)->with.show;
    int is_awaited = x->waiter_index == AWAITED;
    --*(is_awaited ? &p->n_awaited : &p->n_background);
    if (t->state == WAITING && (is_awaited || p->call.code == CALL_WAIT_ALL)) {
        pay_overhead(s, t, x);
        wake(s, t->rank);
    } else {
        ++*(is_awaited ? &p->n_ended : &p->n_background_ended);
        p->owed_s += receive_overhead_s(s, x);
    }
}

static int is_group(const sim *s, int id)
{
    return id > 0 && s->requests.at[id].is_group;
}

/* A wait for any has its answer. When that is a group, what is left of it is a wait for the group. */
static void choose(sim *s, timeline *t, int index)
{
    action *a = first_action(t);
    int id = a->with.list[index];
    t->answer = index;
    free(a->with.list);
    if (is_group(s, id)) {
        *a = (action){.what = DO_WAIT_GROUP, .id = id};
        t->stage = 0;
    } else {
        timeline_drop_first(t);
    }
}

static void tell_waiter(sim *s, timeline *t, const slot *x)
{
    const action *a = first_action(t);
    t->n_pending--;
    if (t->state != WAITING) {
        t->n_ended++;
        return;
    }
    pay_overhead(s, t, x);
    if (a->what == DO_WAIT_ALL) a->with.list[x->waiter_index] = LEARNT_OF;
    if (a->what == DO_WAIT_ANY) {
        for (int i = 0; i < a->id; i++)
            if (a->with.list[i] > 0) s->requests.at[a->with.list[i]].waiter = -1;
        choose(s, t, x->waiter_index);
    }
    wake(s, t->rank);
}

/* From when on the timeline that waits for a request waits for its transfer, and for nobody. */
static double met_s(const sim *s, timeline *t, const slot *x)
{
    const performance *p = x->is_group          ? x->show
                           : x->group           ? s->requests.at[x->group].show
                           : x->waiter_index < 0 ? first_action(t)->with.show
                                                 : NULL;
    const double matched_s = x->has_matched ? x->matched_s : INFINITY;
    return p && p->instance ? fmin(matched_s, s->instance[p->instance].complete_s) : matched_s;
}

static void tell(sim *s, slot *x)
{
    timeline *t = &s->line[x->waiter];
    if (t->state == WAITING) t->met_s = met_s(s, t, x);
    x->waiter = -1;
    if (x->group)
        group_told(s, x);
    else if (x->waiter_index < 0)
        tell_performer(s, t, x);
    else
        tell_waiter(s, t, x);
}

void request_done(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    x->is.is_done = 1;
    polls_notice(s, x->is.rank);
    if (x->waiter >= 0) tell(s, x);
    request_let_go(s, id);
}

void wait_begins(sim *s, timeline *t, int is_for_one)
{
    timeline_enters(s, t, WAITING, SPENT_WAITING);
    t->waits_for_one = is_for_one;
    if (is_for_one) host_entered(s, t->host);
    t->waits_since = s->order++;
}

static void register_at(sim *s, int line, const int *list, int n)
{
    timeline *t = &s->line[line];
    t->n_pending = t->n_ended = 0;
    t->busy_until_s = 0;
    for (int i = 0; i < n; i++) {
        if (list[i] <= 0) continue;
        slot *x = &s->requests.at[list[i]];
        if (x->is.is_done) {
            t->n_ended++;
        } else if (x->waiter != line) { /* else it is in the list twice */
            x->waiter = line;
            x->waiter_index = i;
            t->n_pending++;
        }
    }
}

/* Learns of one that has ended: the first, where it matters which. */
static int learn(sim *s, int line, int *list, int n)
{
    timeline *t = &s->line[line];
    t->n_ended--;
    for (int i = 0; i < n && s->model.n_recv_overhead; i++) {
        if (list[i] <= 0 || !s->requests.at[list[i]].is.is_done) continue;
        pay_overhead(s, t, &s->requests.at[list[i]]);
        list[i] = LEARNT_OF;
        break;
    }
    return after_overheads(s, line);
}

int wait_for(sim *s, int line, int *list, int n)
{
    timeline *t = &s->line[line];
    const action *a = first_action(t);
    if (t->stage++ == 0) register_at(s, line, list, n);
    if (t->n_ended > 0) return learn(s, line, list, n);
    if (t->n_pending == 0) {
        if (a->what == DO_WAIT_ALL) free(a->with.list);
        timeline_drop_first(t);
        return FREE_OF_CHARGE;
    }
    wait_begins(s, t, a->what == DO_WAIT);
    return BLOCKED;
}

/* Index of the first that is complete: as the peer has it, of those that cost no call of their own (detached sends, groups),
 * wherever they stand, then of the others; or -1. */
static int first_complete(const sim *s, const int *list, int n)
{
    int first = -1;
    for (int i = 0; i < n; i++) {
        int is_done = list[i] == 0 || (list[i] > 0 && s->requests.at[list[i]].is.is_done);
        if (is_done && (list[i] == 0 || is_group(s, list[i]))) return i;
        if (is_done && first < 0) first = i;
    }
    return first;
}

int wait_for_any(sim *s, int line, const int *list, int n)
{
    timeline *t = &s->line[line];
    t->busy_until_s = 0;
    t->answer = -1;
    int index = first_complete(s, list, n);
    if (index >= 0) {
        int is_call = list[index] && !is_group(s, list[index]);
        if (is_call) pay_overhead(s, t, &s->requests.at[list[index]]);
        choose(s, t, index);
        return is_call ? after_overheads(s, line) : FREE_OF_CHARGE;
    }
    register_at(s, line, list, n);
    if (t->n_pending == 0) {
        free(first_action(t)->with.list);
        timeline_drop_first(t);
        return FREE_OF_CHARGE;
    }
    wait_begins(s, t, 0);
    return BLOCKED;
}
