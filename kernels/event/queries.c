#include <stddef.h>

#include "kernel_calls.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"

/* Queries from outside about a world as a whole. */

int sim_running(const sim *s)
{
    return s->running;
}

int sim_idle_timeline(const sim *s)
{
    const int id = sim_running(s);
    return id >= 0 && sim_is_idle(s, id) ? id : -1;
}

int sim_running_rank(const sim *s)
{
    return s->running < 0 ? -1 : s->timelines.at[s->running].rank;
}

double sim_now_s(const sim *s)
{
    return s->clock.now_s;
}

int sim_error(const sim *s)
{
    return s->error;
}

int sim_unreached_host(const sim *s, int end)
{
    return s->network.unreached_host[end];
}

void sim_lost(const sim *s, loss_report *out)
{
    const loss *lost = &s->network.lost;
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
    const network_counts *carried = &s->network.counts;
    *out = s->stats;
    out->messages = carried->messages;
    out->bytes = carried->bytes;
    out->solves = carried->solves;
    out->progress += carried->ended;
    out->copied_bytes = mpi_of(s)->payloads.copied_bytes;
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
    else if (is_request(&mpi_of(s)->requests, q->request))
        *out = request_describe(&mpi_of(s)->requests, q->request, 1);
}

int sim_polls_in_vain(const sim *s, int id)
{
    const timeline *t = &s->timelines.at[id];
    if (!t->poll.in_vain.kind) return 0;
    for (int i = 0; i < t->n; i++)
        if (t->queue[(t->first + i) & (t->room - 1)].kind->nature == ACTION_PROGRESS) return 0;
    return 1;
}

enum { ACTIONS_AHEAD_MAX = 256 };
static const int64_t BYTES_AHEAD_MAX = 4 << 20, BYTES_COPIED_MAX = 256 << 20;

int sim_is_far_ahead(const sim *s, int id)
{
    const timeline *t = &s->timelines.at[id];
    return t->n >= ACTIONS_AHEAD_MAX || t->ahead_bytes > BYTES_AHEAD_MAX ||
           (t->n > 0 && mpi_of(s)->payloads.copied_bytes > BYTES_COPIED_MAX);
}

const void *sim_kernel_calls(void)
{
    static const kernel_calls calls = {
        .append_send = sim_append_send,
        .append_recv = sim_append_recv,
        .append_wait = sim_append_wait,
        .append_wait_all = sim_append_wait_all,
        .append_test = sim_append_test,
        .append_iprobe = sim_append_iprobe,
        .append_iprobe_until = sim_append_iprobe_until,
        .append_compute = sim_append_compute,
        .append_compute_of = sim_append_compute_of,
        .append_collective = sim_append_collective,
        .append_access = sim_append_access,
        .append_complete = sim_append_complete,
        .append_lock = sim_append_lock,
        .append_unlock = sim_append_unlock,
        .is_far_ahead = sim_is_far_ahead,
        .sends_at_once = sim_sends_at_once,
        .clock_s = sim_clock_s,
        .speed_flop_per_s = sim_speed_flop_per_s,
        .rank_has_one_core = sim_rank_has_one_core,
        .next = sim_next,
        .now_s = sim_now_s,
        .answer = sim_answer,
        .begin_call = sim_begin_call,
        .end_call = sim_end_call,
        .request_of = sim_request,
        .probed = sim_probed,
        .payload_of = sim_payload,
        .release = sim_release,
        .work_of_request_s = sim_work_of_request_s,
        .data_work_s = sim_data_work_s,
        .own_copy_s = sim_own_copy_s,
        .append_overhead = sim_append_overhead,
        .fill = payload_fill,
        .folded_share = payload_folded_share,
        .lies_within = strided_lies_within,
        .deliveries = sim_deliveries,
        .deliveries_done = sim_deliveries_done,
        .notes = sim_notes,
        .comm_size = sim_comm_size,
        .comm_peers = sim_comm_peers,
        .comm_other = sim_comm_other,
        .comm_rank = sim_comm_rank,
        .comm_self = sim_comm_self,
        .matches_itself = sim_matches_itself,
        .rank_of = sim_rank_of,
        .polls_in_vain = sim_polls_in_vain,
        .check_buffer = sim_check_buffer,
        .buffer_has_changed = sim_buffer_has_changed,
        .sum_of = checked_sum,
    };
    return &calls;
}
