#include <math.h>
#include <stdlib.h>

#include "world.h"

/* One call of one timeline at the present date.
 *
 * An action that takes several calls or waits for time keeps its place at the head of the queue and counts its stages; a
 * blocked timeline is woken by request_done or by time, in the order the events fire. Costs of polling and overheads are
 * the peer's (SMPI): a failed poll makes the next one longer, for all ranks. So is the number of calls each MPI call takes,
 * which decides who comes first at one date: an execution takes three (made, bound, started), a wait for several one each. */

enum { AWAITED = -1, BACKGROUND = -2 }; /* waiter_index of a collective's own requests */

static action *first(timeline *t)
{
    return &t->queue[t->first];
}

static void runs_next(sim *s, int line)
{
    s->line[line].state = AWAKE;
    s->next_turn[s->n_next_turn++] = line;
}

/* ---- time ---- */

static int until(sim *s, int line, double date_s, int64_t order)
{
    timeline *t = &s->line[line];
    t->state = ASLEEP;
    s->n_timed++;
    s->n_probing += t->n && first(t)->what == DO_PROBE;
    return heap_push(&s->sleeps, date_s, order, line) < 0 ? SIM_OUT_OF_MEMORY : BLOCKED;
}

/* Among what ends at one date, what began at an earlier date comes first; of what began at one date, sleeps before
 * executions, the newest sleep and the oldest execution first. */
int64_t order_of_end(sim *s, int is_sleep)
{
    const int64_t most = 1 << 20;
    int64_t age = s->order++ - s->date_order;
    if (age >= most) age = most - 1;
    return (s->date_order << 21) + (is_sleep ? most - 1 - age : most + age);
}

static int sleep_until(sim *s, int line, double date_s)
{
    return until(s, line, date_s, order_of_end(s, 1));
}

static int compute(sim *s, int line, double flop)
{
    timeline *t = &s->line[line];
    const processor *h = &s->host[t->host];
    if (h->n_ranks <= h->cores) return until(s, line, s->now_s + flop / h->speed_flop_per_s, order_of_end(s, 0));
    t->state = COMPUTING;
    s->n_timed++;
    s->n_probing += t->n && first(t)->what == DO_PROBE;
    cpu_start(s, t->host, line, flop);
    return BLOCKED;
}

void timeline_woken(sim *s, int line)
{
    timeline *t = &s->line[line];
    s->n_timed--;
    s->n_probing -= t->n && first(t)->what == DO_PROBE;
    if (!isnan(t->computing_since_s)) {
        s->compute_s[line] += s->now_s - t->computing_since_s;
        t->computing_since_s = NAN;
    }
    runs_next(s, line);
}

/* ---- requests ---- */

static int post(sim *s, int id)
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

static void pay(const sim *s, timeline *t, double seconds)
{
    if (seconds > 0) t->busy_until_s = fmax(t->busy_until_s, s->now_s) + seconds;
}

static void pay_overhead(const sim *s, timeline *t, const slot *x)
{
    pay(s, t, overhead_s(s, x));
}

static int after_overheads(sim *s, int line)
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
    action *a = first(t);
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
        performance *p = first(t)->with.show;
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
        if (--t->n_pending > 0 && first(t)->what != DO_WAIT_ANY) return;
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

static int wait_for(sim *s, int line, const int *list, int n, int is_any)
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
            free(first(t)->with.list);
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
        t->state = WAITING;
        return BLOCKED;
    }
    finish_wait(s, t);
    return n_live ? after_overheads(s, line) : FREE_OF_CHARGE;
}

/* ---- polling: a poll takes time, then a call, and the rank learns the answer in its next turn ---- */

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
    if (first(t)->what == DO_TEST_ANY) free(first(t)->with.list);
    timeline_drop_first(t);
    return FREE_OF_CHARGE;
}

static int test_one(sim *s, int line, int id)
{
    timeline *t = &s->line[line];
    if (t->stage == ASK && s->model.test_s > 0) return test_starts(s, line, s->tests_in_a_row);
    if (t->stage >= LEARN) return test_ends(s, line, t->answer ? id : -1, &s->tests_in_a_row, s->model.polls_grow);
    t->answer = id <= 0 || s->requests.at[id].is.is_done;
    t->stage = LEARN;
    return id > 0 ? MADE_A_CALL : FREE_OF_CHARGE;
}

static int test_any(sim *s, int line, const action *a)
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

enum { MADE = 0, BOUND = 1, STARTED = 2, LOOKED = 3, LEARNT = 4 }; /* the stages of a probe */

/* A blocking probe has looked: keeps count of those that know all there is. */
static void inform(sim *s, timeline *t)
{
    s->n_informed += (!t->answer) - (t->news == s->news);
    t->news = t->answer ? -1 : s->news;
}

static int look(sim *s, int line, int until_found)
{
    timeline *t = &s->line[line];
    action *a = first(t);
    switch (t->stage++) {
    case MADE: a->with.amount = s->iprobes_in_a_row * s->model.iprobe_s * s->host[t->host].speed_flop_per_s; return MADE_A_CALL;
    case BOUND: return MADE_A_CALL;
    case STARTED: return a->with.amount > 0 ? compute(s, line, a->with.amount) : MADE_A_CALL;
    case LOOKED: {
        const request *wanted = &t->probed;
        int found = match_probe(&s->match, &s->requests, 2 * wanted->comm, t->rank, wanted->peer, wanted->tag);
        t->answer = found > 0;
        if (found) {
            const slot *x = &s->requests.at[found];
            t->probed.peer = x->source;
            t->probed.tag = x->is.tag;
            t->probed.bytes = x->is.bytes;
        }
        return MADE_A_CALL;
    }
    default: /* LEARNT */
        s->iprobes_in_a_row = t->answer ? 1 : s->iprobes_in_a_row + s->model.polls_grow;
        if (t->answer || !until_found)
            timeline_drop_first(t);
        else
            t->stage = MADE;
        if (until_found) inform(s, t);
        return FREE_OF_CHARGE;
    }
}

/* ---- collectives: the calls of a schedule, as if the rank made them ---- */

static int post_inner(sim *s, int line, performance *p, int peer, int64_t bytes, int is_send, int index)
{
    int id = slot_new(&s->requests);
    if (id < 0) return id;
    slot *x = &s->requests.at[id];
    int is_detached = is_send && bytes < s->model.detached_below_bytes;
    x->is = (request){.rank = line, .comm = p->comm, .peer = peer, .bytes = bytes, .is_send = is_send,
                      .is_detached = is_detached};
    x->context = 2 * p->comm + 1;
    x->target = is_send ? sim_comm_world_rank(s, p->comm, peer) : line;
    x->source = (int)p->frame.rank;
    x->is_released = 1;
    if (!is_detached) {
        x->waiter = line;
        x->waiter_index = index;
        if (index == AWAITED)
            p->n_awaited++;
        else
            p->n_background++;
    }
    return post(s, id);
}

enum { FETCH, SEND, RECEIVE, AWAIT };

static double inner_overhead_s(const sim *s, const schedule_call *c)
{
    const model *m = &s->model;
    if (c->code == CALL_ISEND || c->code == CALL_EXCHANGE) return piecewise(m->isend_overhead, m->n_isend_overhead, c->bytes_out);
    if (c->code == CALL_SEND && c->bytes_out < m->detached_below_bytes)
        return piecewise(m->send_overhead, m->n_send_overhead, c->bytes_out);
    return 0;
}

static int show_ends(sim *s, timeline *t)
{
    performance *p = first(t)->with.show;
    p->next = s->free_show;
    s->free_show = p;
    timeline_drop_first(t);
    return FREE_OF_CHARGE;
}

static int await(sim *s, int line, performance *p)
{
    timeline *t = &s->line[line];
    if (p->call.code == CALL_WAIT_ALL) {
        pay(s, t, p->owed_s);
        p->owed_s = 0;
    }
    if (p->n_awaited || (p->call.code == CALL_WAIT_ALL && p->n_background)) {
        t->state = WAITING;
        t->waits_since = s->order++;
        return BLOCKED;
    }
    t->stage = FETCH;
    return after_overheads(s, line);
}

static int show(sim *s, int line)
{
    timeline *t = &s->line[line];
    performance *p = first(t)->with.show;
    schedule_call *c = &p->call;
    int error = 0;
    if (t->stage == FETCH) {
        t->busy_until_s = 0;
        *c = schedule_step(&p->frame);
        if (c->code == CALL_HALT) return show_ends(s, t);
        int sends = c->code == CALL_SEND || c->code == CALL_ISEND || c->code == CALL_EXCHANGE;
        t->stage = sends ? SEND : c->code == CALL_WAIT_ALL ? AWAIT : RECEIVE;
        double first_s = inner_overhead_s(s, c);
        if (first_s > 0) return sleep_until(s, line, s->now_s + first_s);
    }
    if (t->stage == SEND) {
        error = post_inner(s, line, p, c->to, c->bytes_out, 1, c->code == CALL_ISEND ? BACKGROUND : AWAITED);
        t->stage = c->code == CALL_EXCHANGE ? RECEIVE : c->code == CALL_SEND && p->n_awaited ? AWAIT : FETCH;
    } else if (t->stage == RECEIVE) {
        error = post_inner(s, line, p, c->from, c->bytes_in, 0, c->code == CALL_IRECV ? BACKGROUND : AWAITED);
        t->stage = c->code == CALL_IRECV ? FETCH : AWAIT;
    } else {
        return await(s, line, p);
    }
    return error < 0 ? error : MADE_A_CALL;
}

/* ---- marks ---- */

static int leave_note(sim *s, int64_t id)
{
    if (s->n_notes == s->note_room) {
        int room = s->note_room ? 2 * s->note_room : 64;
        int64_t *note = realloc(s->note, (size_t)room * sizeof *note);
        if (!note) return SIM_OUT_OF_MEMORY;
        s->note = note;
        s->note_room = room;
    }
    s->note[s->n_notes++] = id;
    return FREE_OF_CHARGE;
}

int perform(sim *s, int line)
{
    timeline *t = &s->line[line];
    action a = *first(t);
    switch (a.what) {
    case DO_COMPUTE:
        if (t->stage++ < STARTED) return MADE_A_CALL;
        timeline_drop_first(t);
        t->computing_since_s = s->now_s;
        return compute(s, line, a.with.amount);
    case DO_SLEEP: timeline_drop_first(t); return sleep_until(s, line, s->now_s + a.with.amount);
    case DO_TURNS:
        if (++t->stage == a.id) timeline_drop_first(t);
        return MADE_A_CALL;
    case DO_POST: {
        timeline_drop_first(t);
        int error = post(s, a.id);
        return error < 0 ? error : MADE_A_CALL;
    }
    case DO_WAIT: return wait_for(s, line, &a.id, 1, 0);
    case DO_WAIT_ALL: return wait_for(s, line, a.with.list, a.id, 0);
    case DO_WAIT_ANY: return wait_for(s, line, a.with.list, a.id, 1);
    case DO_TEST: return test_one(s, line, a.id);
    case DO_TEST_ANY: return test_any(s, line, &a);
    case DO_IPROBE: return look(s, line, 0);
    case DO_PROBE: return look(s, line, 1);
    case DO_COLLECTIVE: return show(s, line);
    case DO_NOTE: timeline_drop_first(t); return leave_note(s, a.with.note);
    case DO_STOP:
        timeline_drop_first(t);
        s->is_stopped = 1;
        s->stop_id = a.with.note;
        return BLOCKED;
    default: /* DO_END */
        timeline_drop_first(t);
        t->state = ENDED;
        s->finish_s[line] = s->now_s;
        s->n_ended++;
        return BLOCKED;
    }
}
