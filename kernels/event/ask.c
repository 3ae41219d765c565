#include <stddef.h>

#include "world.h"

/* What the outside may ask of a world. */

int sim_running(const sim *s)
{
    return s->running;
}

double sim_now_s(const sim *s)
{
    return s->now_s;
}

int64_t sim_answer(const sim *s, int rank)
{
    return s->line[rank].answer;
}

const request *sim_request(const sim *s, int id)
{
    static const request nobody = {.rank = -1, .is_done = 1};
    return is_request(s, id) ? &s->requests.at[id].is : &nobody;
}

void sim_post_line(sim *s, int id, int line)
{
    if (is_request(s, id)) s->requests.at[id].is.line = line;
}

void sim_release(sim *s, int id)
{
    if (!is_request(s, id)) return;
    s->requests.at[id].is_released = 1;
    request_let_go(s, id);
}

const request *sim_probed(const sim *s, int rank)
{
    return &s->line[rank].probed;
}

int sim_notes(const sim *s, const int64_t **ids)
{
    *ids = s->note;
    return s->n_notes;
}

void sim_notes_done(sim *s)
{
    s->n_notes = 0;
}

int64_t sim_stop_id(const sim *s)
{
    return s->stop_id;
}

int sim_error(const sim *s)
{
    return s->error;
}

int sim_unreached_host(const sim *s, int end)
{
    return s->unreached_host[end];
}

void sim_statistics(const sim *s, statistics *out)
{
    *out = s->stats;
}

/* The first request of a wait for several that has not ended. */
static const slot *first_pending(const sim *s, const action *a)
{
    for (int i = 0; i < a->id; i++) {
        int id = a->with.list[i];
        if (id > 0 && !s->requests.at[id].is.is_done) return &s->requests.at[id];
    }
    return NULL;
}

static waiting wait_of(const slot *x, int n_requests)
{
    return (waiting){x->is.is_send ? WAIT_SEND : WAIT_RECV, x->is.comm, x->is.peer, x->is.tag, x->is.bytes, n_requests};
}

void sim_waiting(const sim *s, int rank, waiting *out)
{
    const timeline *t = &s->line[rank];
    *out = (waiting){.kind = WAIT_NOTHING};
    if (t->state == ENDED) return;
    if (!t->n || t->state == ASLEEP || t->state == COMPUTING) out->kind = WAIT_TIME;
    if (!t->n) return;
    const action *a = &t->queue[t->first];
    const slot *x = NULL;
    switch (a->what) {
    case DO_WAIT: *out = wait_of(&s->requests.at[a->id], t->n_pending); break;
    case DO_WAIT_ALL:
        x = first_pending(s, a);
        if (x) *out = wait_of(x, t->n_pending);
        break;
    case DO_WAIT_ANY: *out = (waiting){.kind = WAIT_SEVERAL, .n_requests = t->n_pending}; break;
    case DO_WAIT_GROUP:
        x = &s->requests.at[a->id];
        *out = (waiting){.kind = WAIT_COLLECTIVE, .comm = x->is.comm, .n_requests = x->show->n_background};
        break;
    case DO_PROBE:
    case DO_MPROBE: *out = (waiting){WAIT_PROBE, t->probed.comm, t->probed.peer, t->probed.tag, 0, 0}; break;
    case DO_COLLECTIVE: *out = (waiting){.kind = WAIT_COLLECTIVE, .comm = a->with.show->comm}; break;
    default: break;
    }
}

void sim_polling(const sim *s, int rank, waiting *out)
{
    const question *q = &s->line[rank].in_vain;
    *out = (waiting){.kind = WAIT_NOTHING};
    if (s->line[rank].state == ENDED) return;
    switch (q->what) {
    case DO_TEST:
    case DO_GET_STATUS:
        if (is_request(s, q->id)) *out = wait_of(&s->requests.at[q->id], 1);
        break;
    case DO_TEST_ANY: *out = (waiting){.kind = WAIT_SEVERAL, .n_requests = q->id}; break;
    case DO_TEST_GROUP:
        if (is_request(s, q->id)) *out = (waiting){.kind = WAIT_COLLECTIVE, .comm = s->requests.at[q->id].is.comm};
        break;
    case DO_COMPUTE: break;
    default: *out = (waiting){.kind = WAIT_PROBE, .comm = q->comm, .peer = q->peer, .tag = q->tag};
    }
}

const double *sim_finish_s(const sim *s)
{
    return s->finish_s;
}

const void *sim_kernel_calls(void)
{
    static const kernel_calls calls = {
        sim_append_send, sim_append_recv, sim_append_wait, sim_append_wait_all, sim_append_test, sim_append_iprobe, sim_append_compute,
        sim_append_collective, sim_is_far_ahead, sim_clock_s, sim_speed_flop_per_s, sim_next, sim_now_s, sim_answer, sim_request,
        sim_probed, sim_post_line, sim_payload, sim_release, payload_copy, strided_lies_within, sim_deliveries, sim_deliveries_done, sim_notes, sim_comm_size, sim_comm_peers,
        sim_comm_other, sim_comm_rank,
    };
    return &calls;
}
