#include <stdlib.h>

#include "world.h"

/* The pool of requests, and of what collectives under way remember. */

int request_new(sim *s, request is)
{
    slot_pool *pool = &s->requests;
    int id = pool->free;
    if (id) {
        pool->free = pool->at[id].next;
    } else {
        if (pool->n + 1 >= pool->room) {
            int room = pool->room ? 2 * pool->room : 256;
            slot *at = realloc(pool->at, (size_t)room * sizeof *at);
            if (!at) return SIM_OUT_OF_MEMORY;
            pool->at = at;
            pool->room = room;
        }
        id = ++pool->n;
    }
    pool->at[id] = (slot){.is = is, .waiter = -1};
    comm_use(s, is.comm);
    return id;
}

int is_request(const sim *s, int id)
{
    return id > 0 && id <= s->requests.n && !s->requests.at[id].is_free;
}

void request_free(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    if (x->is_group && x->show) performance_free(s, x->show);
    if (x->payload) {
        s->payloads.at[x->payload].kind = s->payloads.free;
        s->payloads.free = x->payload;
    }
    x->is_group = 0;
    x->is_free = 1;
    x->payload = 0;
    x->next = s->requests.free;
    s->requests.free = id;
    comm_leave(s, x->is.comm);
}

void request_let_go(sim *s, int id)
{
    const slot *x = &s->requests.at[id];
    if (x->is.is_done && x->is_released && !x->n_cancels) request_free(s, id);
}

/* What a live request is that its program has not completed; 0: nothing to speak of. */
static int kind_left(const slot *x)
{
    if (x->is_group) return x->is_released ? 0 : LEFT_COLLECTIVE;
    if (x->context & 1) return 0;
    if (!x->has_matched && !x->is.is_done) return x->is.is_send ? LEFT_SEND : LEFT_RECV;
    return x->is_released || x->is.is_detached ? 0 : LEFT_REQUEST;
}

int sim_left_over(const sim *s, int after, int *kind)
{
    for (int id = after + 1; id <= s->requests.n; id++) {
        const slot *x = &s->requests.at[id];
        *kind = x->is_free ? 0 : kind_left(x);
        if (*kind) return id;
    }
    return 0;
}

payload *sim_payload(sim *s, int id)
{
    if (!is_request(s, id)) return NULL;
    payload_pool *pool = &s->payloads;
    slot *x = &s->requests.at[id];
    if (x->payload) return &pool->at[x->payload];
    int at = pool->free;
    if (at) {
        pool->free = pool->at[at].kind;
    } else {
        if (pool->n + 1 >= pool->room) {
            int room = pool->room ? 2 * pool->room : 64;
            payload *grown = realloc(pool->at, (size_t)room * sizeof *grown);
            if (!grown) return NULL;
            pool->at = grown;
            pool->room = room;
        }
        at = ++pool->n;
    }
    pool->at[at] = (payload){.kind = PAYLOAD_NONE};
    x->payload = at;
    return &pool->at[at];
}

payload *payload_of(sim *s, const slot *x)
{
    if (x->payload) return &s->payloads.at[x->payload];
    s->no_payload = (payload){.kind = PAYLOAD_NONE};
    return &s->no_payload;
}

void performance_free(sim *s, performance *p)
{
    instance_leave(s, p->instance);
    comm_leave(s, p->comm);
    free((void *)p->frame.tables);
    free(p->made);
    free(p->owed_of_s);
    p->next = s->free_show;
    s->free_show = p;
}
