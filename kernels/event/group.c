#include <stdlib.h>

#include "perform.h"

/* Groups: collectives that a rank has started and goes on beside.
 *
 * A group is a request. It is done when its calls are made, every request of theirs is done, and its latch is open. As the peer
 * has it, waiting for a group is waiting for all of its requests, and testing it is testing each of them, again and again. */

static performance *show_of(const sim *s, int id)
{
    return s->requests.at[id].show;
}

/* ---- latches ---- */

int sim_latch_new(sim *s, int n_ranks)
{
    int id = s->free_latch;
    if (id) {
        s->free_latch = s->latch[id].next;
    } else {
        if (s->n_latches + 1 >= s->latch_room) {
            int room = s->latch_room ? 2 * s->latch_room : 8;
            latch *grown = realloc(s->latch, (size_t)room * sizeof *grown);
            if (!grown) return SIM_OUT_OF_MEMORY;
            s->latch = grown;
            s->latch_room = room;
        }
        id = ++s->n_latches;
    }
    s->latch[id] = (latch){.n_to_come = n_ranks, .n_missing = n_ranks, .n_users = n_ranks};
    return id;
}

static void leave_latch(sim *s, int id)
{
    latch *g = &s->latch[id];
    if (--g->n_users > 0) return;
    g->next = s->free_latch;
    s->free_latch = id;
}

static void goes_on(sim *s, int id)
{
    performance *p = show_of(s, id);
    if (!p->is_halted || p->n_background || (p->latch && s->latch[p->latch].n_missing)) return;
    if (p->latch) leave_latch(s, p->latch);
    p->latch = 0;
    request_done(s, id);
}

static void open_latch(sim *s, int first)
{
    for (int id = first, next; id; id = next) {
        next = show_of(s, id)->next_at_latch;
        goes_on(s, id);
    }
}

static void enter_latch(sim *s, performance *p)
{
    latch *g = &s->latch[p->latch];
    if (g->last)
        show_of(s, g->last)->next_at_latch = p->group;
    else
        g->first = p->group;
    g->last = p->group;
    if (--g->n_missing == 0) open_latch(s, g->first);
}

/* ---- its calls ---- */

void group_halts(sim *s, performance *p)
{
    p->is_halted = 1;
    if (p->latch)
        enter_latch(s, p);
    else
        goes_on(s, p->group);
}

static int make_room(const sim *s, performance *p)
{
    int room = p->made_room ? 2 * p->made_room : 16;
    uint8_t *made = realloc(p->made, (size_t)room * sizeof *made);
    if (!made) return SIM_OUT_OF_MEMORY;
    p->made = made;
    if (s->model.n_recv_overhead) {
        double *owed_of_s = realloc(p->owed_of_s, (size_t)room * sizeof *owed_of_s);
        if (!owed_of_s) return SIM_OUT_OF_MEMORY;
        p->owed_of_s = owed_of_s;
    }
    p->made_room = room;
    return 0;
}

int group_made(const sim *s, performance *p, int is_detached)
{
    if (p->n_made == p->made_room && make_room(s, p) < 0) return SIM_OUT_OF_MEMORY;
    p->made[p->n_made] = is_detached ? DETACHED : UNDER_WAY;
    return p->n_made++;
}

void group_told(sim *s, const slot *x)
{
    int line = x->is.rank;
    timeline *t = &s->line[line];
    performance *p = show_of(s, x->group);
    p->n_background--;
    if (t->state == WAITING && first_action(t)->what == DO_WAIT_GROUP && first_action(t)->id == x->group) {
        p->made[x->waiter_index] = LEARNT;
        pay_overhead(s, t, x);
        wake(s, line);
    } else {
        p->made[x->waiter_index] = OVER;
        p->n_ended++;
        if (x->waiter_index < p->first_over) p->first_over = x->waiter_index;
        if (p->owed_of_s) p->owed_of_s[x->waiter_index] = receive_overhead_s(s, x);
    }
    goes_on(s, x->group);
}

/* ---- completion ---- */

/* The rank learns of a request that was over. */
static int learn(sim *s, int line, performance *p, int index)
{
    p->n_ended--;
    p->made[index] = LEARNT;
    if (p->owed_of_s) pay(s, &s->line[line], p->owed_of_s[index]);
    return after_overheads(s, line);
}

static int learn_first(sim *s, int line, performance *p)
{
    while (p->made[p->first_over] != OVER) p->first_over++;
    return learn(s, line, p, p->first_over);
}

int wait_for_group(sim *s, int line, int id)
{
    timeline *t = &s->line[line];
    performance *p = show_of(s, id);
    slot *x = &s->requests.at[id];
    if (t->stage++ == 0) t->busy_until_s = 0;
    if (p->n_ended > 0) return learn_first(s, line, p);
    if (x->is.is_done) {
        timeline_drop_first(t);
        return FREE_OF_CHARGE;
    }
    if (!p->n_background) x->waiter = line; /* the latch is shut */
    wait_begins(s, t, 0);
    return BLOCKED;
}

/* A Test is a poll, then one of each request in turn; those it has learnt of before cost their sleep again. */
enum { ASK, NEXT, LOOK, LEARN, PAID };

static int test_ends(sim *s, int line, int is_done)
{
    timeline *t = &s->line[line];
    t->answer &= is_done; /* or the latch is shut */
    poll_ends(s, line, &s->tests_in_a_row, t->answer != 0, s->model.polls_grow);
    timeline_drop_first(t);
    return FREE_OF_CHARGE;
}

static int poll_after(sim *s, int line, int stage)
{
    int is_free = s->model.test_s <= 0 || (s->model.polls_notice && stage != NEXT); /* one that notices looks at all of them */
    s->line[line].stage = stage;
    return is_free ? FREE_OF_CHARGE : poll_begins(s, line, s->model.test_s, s->tests_in_a_row);
}

int test_group(sim *s, int line, int id)
{
    timeline *t = &s->line[line];
    performance *p = show_of(s, id);
    t->poll_s = 0;
    switch (t->stage) {
    case ASK:
        p->under_test = 0;
        t->answer = 1;
        return poll_after(s, line, NEXT);
    case NEXT:
        if (p->under_test == p->n_made) return test_ends(s, line, s->requests.at[id].is.is_done);
        return poll_after(s, line, LOOK);
    case LOOK:
        p->is_found = p->made[p->under_test] == OVER;
        if (p->made[p->under_test] == LEARNT) {
            p->under_test++;
            t->stage = NEXT;
            return FREE_OF_CHARGE;
        }
        t->stage = p->made[p->under_test] == DETACHED ? PAID : LEARN;
        return t->stage == PAID ? FREE_OF_CHARGE : MADE_A_CALL;
    case LEARN:
        if (p->is_found) {
            t->stage = PAID;
            t->busy_until_s = 0;
            int result = learn(s, line, p, p->under_test);
            return result == MADE_A_CALL ? FREE_OF_CHARGE : result;
        }
        s->tests_in_a_row += s->model.polls_grow;
        t->answer = 0;
        p->under_test++;
        t->stage = NEXT;
        return FREE_OF_CHARGE;
    default: /* PAID */
        s->tests_in_a_row = 1;
        p->made[p->under_test++] = LEARNT; /* a detached one, too */
        t->stage = NEXT;
        return FREE_OF_CHARGE;
    }
}
