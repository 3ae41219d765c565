#include "protocol.h"

#include "completion.h"
#include "poll.h"
#include "transfer.h"
#include "world.h"

double protocol_overhead_s(const double *table, int n, int64_t bytes)
{
    const double *row = table;
    if (!n) return 0;
    for (int i = 0; i < n && table[3 * i] < (double)bytes; i++) row = table + 3 * i;
    return row[1] + row[2] * (double)bytes;
}

double protocol_receive_overhead_s(const sim *s, const slot *recv)
{
    const call_costs *costs = &s->model.calls;
    const int64_t bytes = recv->is.matched_bytes < recv->is.bytes ? recv->is.matched_bytes : recv->is.bytes;
    return recv->has_overhead ? protocol_overhead_s(costs->recv_overhead, costs->n_recv_overhead, bytes) : 0;
}

/* ---- a matched pair ---- */

static int64_t waits_since(const sim *s, int request)
{
    const int waiter = request_waiter(&s->requests, request);
    return waiter < 0 ? 0 : s->timelines.at[waiter].waits_since;
}

static void pair_ended(sim *s, const transfer *t)
{
    const int send = t->number[0], recv = t->number[1];
    const slot *from = &s->requests.at[send], *to = &s->requests.at[recv];
    const int64_t bytes = from->is.bytes < to->is.bytes ? from->is.bytes : to->is.bytes;
    const int error = payload_move(&s->payloads, send, from->payload, recv, to->payload, bytes);
    if (error < 0) { /* neither side is done: the payload stays with the send */
        keep_error(s, error);
        return;
    }
    /* The side that began to wait first is told first. */
    const int send_is_first = waits_since(s, send) < waits_since(s, recv);
    request_complete(s, send_is_first ? send : recv);
    request_complete(s, send_is_first ? recv : send);
}

static const transfer_owner matched_pair = {pair_ended};

int protocol_send_of(const transfer *t)
{
    return t->owner == &matched_pair ? t->number[0] : 0;
}

static int start(sim *s, int send, int recv)
{
    slot *from = &s->requests.at[send], *to = &s->requests.at[recv];
    to->is.matched_source = from->is.matched_source;
    to->is.matched_tag = from->is.tag;
    to->is.matched_bytes = from->is.bytes;
    from->has_matched = to->has_matched = 1;
    from->matched_s = to->matched_s = s->clock.now_s;
    to->has_overhead = (from->is.is_detached || s->model.calls.rendezvous_overheads) && s->model.calls.n_recv_overhead > 0;
    const int source_host = s->timelines.rank[from->is.rank].host, target_host = s->timelines.rank[to->is.rank].host;
    return transfer_start(s, source_host, target_host, from->is.bytes, &matched_pair, send, recv);
}

int protocol_post(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    const int is_send = x->is.is_send;
    const int other = x->partner ? x->partner
                      : is_send  ? match_send(&s->match, &s->requests, id)
                                 : match_recv(&s->match, &s->requests, id);
    if (is_send && !other) {
        s->polling.n_sends_queued++;
        s->polling.n_probes_up_to_date = 0;
        poll_notice(s, x->target);
    }
    if (other <= 0) return other;
    return is_send ? start(s, id, other) : start(s, other, id);
}

int protocol_withdraw(sim *s, int id)
{
    slot *x = &s->requests.at[id];
    if (!match_withdraw(&s->match, &s->requests, id)) return 0;
    const int error = payload_drop(&s->payloads, id, x->payload);
    if (error < 0) return error;
    x->is.is_cancelled = 1;
    request_complete(s, id);
    return 1;
}
