#include <stddef.h>

#include "protocol.h"
#include "world.h"

/* Queries from outside about a world as a whole. */

int sim_running(const sim *s)
{
    return s->running;
}

int sim_running_rank(const sim *s)
{
    return s->running < 0 ? -1 : s->timelines.at[s->running].rank;
}

double sim_now_s(const sim *s)
{
    return clock_outside_s(&s->clock, s->clock.now_s);
}

int sim_error(const sim *s)
{
    return s->error;
}

int sim_unreached_host(const sim *s, int end)
{
    return s->unreached_host[end];
}

void sim_lost(const sim *s, loss_report *out)
{
    const loss *lost = &s->changes.lost;
    *out = (loss_report){.host = lost->host, .rank = lost->rank, .link = lost->link, .source_host = -1, .target_host = -1};
    if (lost->transfer < 0) return;
    const transfer *t = transfer_at(s, lost->transfer);
    out->source_host = t->source_host;
    out->target_host = t->target_host;
    out->bytes = t->bytes;
    out->request = protocol_send_of(t);
}

const char *sim_network_name(const sim *s)
{
    return s->network.kind->name;
}

void sim_statistics(const sim *s, statistics *out)
{
    *out = s->stats;
    out->copied_bytes = s->payloads.copied_bytes;
}

void sim_waiting(const sim *s, int id, waiting *out)
{
    const timeline *t = &s->timelines.at[id];
    *out = (waiting){.kind = WAIT_NOTHING};
    if (t->state == ENDED) return;
    if (!t->n || t->state == ASLEEP || t->state == EXECUTING) out->kind = WAIT_TIME;
    if (!t->n) return;
    const action *a = &t->queue[t->first];
    if (a->kind->describe) a->kind->describe(s, a, out);
    if (a->kind->nature == ACTION_REPEATED_POLL)
        *out = (waiting){.kind = WAIT_PROBE, .comm = t->wanted.comm, .peer = t->wanted.source, .tag = t->wanted.tag};
}

void sim_polling(const sim *s, int id, waiting *out)
{
    const timeline *t = &s->timelines.at[id];
    const poll_question *q = &t->poll.in_vain;
    *out = (waiting){.kind = WAIT_NOTHING};
    if (t->state == ENDED || !q->kind) return;
    if (q->request < 0)
        *out = (waiting){.kind = WAIT_SEVERAL, .n_requests = q->n_requests};
    else if (!q->request)
        *out = (waiting){.kind = WAIT_PROBE, .comm = q->comm, .peer = q->source, .tag = q->tag};
    else if (is_request(&s->requests, q->request))
        *out = request_describe(&s->requests, q->request, 1);
}

void sim_count_links(sim *s)
{
    s->counts_links = 1;
}

int sim_link_loads(const sim *s, link_load *list)
{
    return s->network.kind->link_loads ? s->network.kind->link_loads(s, s->network.state, list) : 0;
}

int sim_polls_in_vain(const sim *s, int id)
{
    const timeline *t = &s->timelines.at[id];
    if (!t->poll.in_vain.kind) return 0;
    for (int i = 0; i < t->n; i++)
        if (t->queue[(t->first + i) & (t->room - 1)].kind->nature == ACTION_PROGRESS) return 0;
    return 1;
}

const void *sim_kernel_calls(void)
{
    static const kernel_calls calls = {
        sim_append_send, sim_append_recv, sim_append_wait, sim_append_wait_all, sim_append_test, sim_append_iprobe,
        sim_append_iprobe_until, sim_append_compute, sim_append_compute_of, sim_append_collective, sim_is_far_ahead,
        sim_sends_at_once, sim_clock_s, sim_speed_flop_per_s, sim_next, sim_now_s, sim_answer, sim_begin_call, sim_end_call,
        sim_request, sim_probed, sim_payload, sim_release, payload_fill, payload_folded_share, strided_lies_within, sim_deliveries,
        sim_deliveries_done, sim_notes,
        sim_comm_size, sim_comm_peers, sim_comm_other, sim_comm_rank, sim_comm_self, sim_rank_of, sim_polls_in_vain,
    };
    return &calls;
}
