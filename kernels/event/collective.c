#include <stdlib.h>

#include "perform.h"

/* Collectives: the calls of a schedule, as if the rank made them. */

static int post_inner(sim *s, int line, performance *p, int peer, int64_t bytes, uint8_t is_send, int index)
{
    int other = sim_comm_other(s, p->comm);
    if (peer < 0 || peer >= sim_comm_size(s, other) || bytes < 0) return SIM_BAD_SCHEDULE;
    uint8_t is_detached = is_send && bytes < s->model.detached_below_bytes;
    int id = request_new(s, (request){.rank = line, .comm = p->comm, .peer = peer, .bytes = bytes, .is_send = is_send,
                                      .is_detached = is_detached});
    if (id < 0) return id;
    slot *x = &s->requests.at[id];
    x->context = 2 * (is_send ? other : p->comm) + 1;
    x->target = is_send ? sim_comm_world_rank(s, other, peer) : line;
    x->is.matched_source = (int)p->frame.rank;
    x->is_released = 1;
    if (p->group && index == BACKGROUND) {
        x->group = p->group;
        if ((index = group_made(s, p, is_detached)) < 0) return index;
    }
    if (!is_detached) {
        x->waiter = line;
        x->waiter_index = index;
        ++*(index == AWAITED ? &p->n_awaited : &p->n_background);
    }
    return post(s, id);
}

enum { FETCH, SEND, RECEIVE, AWAIT };

static double inner_overhead_s(const sim *s, const schedule_call *c)
{
    const model *m = &s->model;
    if (c->code == CALL_ISEND || c->code == CALL_EXCHANGE) return piecewise(m->isend_overhead, m->n_isend_overhead, c->bytes_out);
    if (c->code == CALL_SEND && (c->bytes_out < m->detached_below_bytes || m->rendezvous_overheads))
        return piecewise(m->send_overhead, m->n_send_overhead, c->bytes_out);
    return 0;
}

static int show_ends(sim *s, timeline *t)
{
    performance *p = first_action(t)->with.show;
    timeline_drop_first(t);
    if (p->group)
        group_halts(s, p);
    else
        performance_free(s, p);
    return FREE_OF_CHARGE;
}

static int await(sim *s, int line, performance *p)
{
    timeline *t = &s->line[line];
    int is_all = p->call.code == CALL_WAIT_ALL;
    if (is_all) {
        p->n_ended += p->n_background_ended;
        p->n_background_ended = 0;
    }
    if (p->n_ended > 0) {
        p->n_ended--;
        pay(s, t, p->owed_s);
        p->owed_s = 0;
        return after_overheads(s, line);
    }
    if (p->n_awaited || (is_all && p->n_background)) {
        wait_begins(s, t, p->call.code == CALL_SEND || p->call.code == CALL_RECV);
        return BLOCKED;
    }
    t->stage = FETCH;
    return FREE_OF_CHARGE;
}

int show(sim *s, int line)
{
    timeline *t = &s->line[line];
    performance *p = first_action(t)->with.show;
    schedule_call *c = &p->call;
    int error = 0;
    if (t->stage == FETCH) {
        t->busy_until_s = 0;
        if (p->frame.at == 0) {
            int instance = instance_enter(s, p->comm, (int)p->frame.rank);
            if (instance < 0) return instance;
            p->instance = instance;
        }
        *c = schedule_step(&p->frame);
        if (p->frame.is_broken) return SIM_BAD_SCHEDULE;
        if (c->code == CALL_NOT_YET) return FREE_OF_CHARGE; /* sim_next looks at the clock, then comes back */
        if (c->code == CALL_HALT && !p->group && (p->n_background || p->n_background_ended)) c->code = CALL_WAIT_ALL;
        if (c->code == CALL_HALT) return show_ends(s, t);
        int sends = c->code == CALL_SEND || c->code == CALL_ISEND || c->code == CALL_EXCHANGE;
        t->stage = sends ? SEND : c->code == CALL_WAIT_ALL ? AWAIT : RECEIVE;
        double first_s = inner_overhead_s(s, c);
        if (first_s > 0) return sleep_until(s, line, s->now_s + first_s, SPENT_OVERHEAD);
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

int sim_schedule_new(sim *s, int n_words, const int64_t *words)
{
    if (s->n_schedules == s->schedule_room) {
        int room = s->schedule_room ? 2 * s->schedule_room : 16;
        schedule **grown = realloc(s->schedule, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        s->schedule = grown;
        s->schedule_room = room;
    }
    schedule *made = schedule_new(n_words, words);
    if (!made) return schedule_is_sound(n_words, words) ? SIM_OUT_OF_MEMORY : SIM_BAD_SCHEDULE;
    s->schedule[s->n_schedules] = made;
    return s->n_schedules++;
}
