#include "mpi/protocol.h"

#include <stdlib.h>

#include "basics/dates.h"
#include "mpi/completion.h"
#include "mpi/data_work.h"
#include "mpi/device_message.h"
#include "mpi/mpi_world.h"
#include "mpi/poll.h"
#include "world/cpus.h"
#include "networks/transfer.h"
#include "world/clock_events.h"
#include "world/tell.h"

double protocol_startup_s(const sim *s, int rank, int target, double usual_s)
{
    const network *n = &s->network;
    if (!n->kind->startup_s) return usual_s;
    return n->kind->startup_s(s, n->state, s->timelines.rank[rank].host, s->timelines.rank[target].host);
}

double protocol_receive_overhead_s(const sim *s, int rank, const slot *recv)
{
    const call_costs *costs = costs_of(s, rank);
    const int64_t bytes = recv->is.matched_bytes < recv->is.bytes ? recv->is.matched_bytes : recv->is.bytes;
    return recv->has_overhead ? cost_by_size_s(costs->recv_overhead, costs->n_recv_overhead, bytes) : 0;
}

int protocol_await_interface(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    const double from_s = cpu_sends_from_s(s, t->rank);
    t->waits_for_interface = 0;
    if (from_s >= clock_same_date_s(&s->clock)) {
        t->waits_for_interface = cpu_from_s(s, t->rank) < from_s;
        return clock_events_sleep_until(s, id, from_s, SPENT_OVERHEAD);
    }
    const int taken = cpu_takes_older(s, t->rank, t->ready);
    return taken > 0 ? protocol_await_interface(s, id) : taken < 0 ? taken : MADE_A_CALL;
}

int protocol_send(sim *s, int id, int request)
{
    const int rank = s->timelines.at[id].rank;
    const call_costs *costs = costs_of(s, rank);
    const double from_s = larger(s->clock.now_s, cpu_sends_from_s(s, rank));
    const double until_s =
        from_s + cost_by_size_s(costs->isend_overhead, costs->n_isend_overhead, mpi_of(s)->requests.at[request].is.bytes);
    const int result = protocol_post(s, request);
    if (result < 0) return result;
    cpu_load(s, rank, until_s);
    timeline_gets_ready(s, &s->timelines.at[id]);
    return until_s > s->clock.now_s ? clock_events_sleep_until(s, id, until_s, SPENT_OVERHEAD) : MADE_A_CALL;
}

/* ---- a matched pair ---- */

static int64_t waits_since(const sim *s, int request)
{
    const int waiter = request_waiter(&mpi_of(s)->requests, request);
    return waiter < 0 ? 0 : s->timelines.at[waiter].waits_since;
}

static void complete_pair(sim *s, int send, int recv)
{
    mpi_state *mpi = mpi_of(s);
    const slot *from = &mpi->requests.at[send], *to = &mpi->requests.at[recv];
    const int64_t bytes = from->is.bytes < to->is.bytes ? from->is.bytes : to->is.bytes;
    payload *into = to->payload ? &mpi->payloads.at[to->payload] : NULL;
    const double work_s = into ? data_work_of_receive_s(costs_of(s, to->is.rank), into, bytes) : 0;
    const int error = payload_move(&mpi->payloads, send, from->payload, recv, to->payload, bytes);
    tell_received(s, send, recv);
    if (error < 0) { /* neither side is done: the payload stays with the send */
        keep_error(s, error);
        return;
    }
    if (into) into->work_s = work_s;
    /* The side that began to wait first is told first. */
    const int send_is_first = waits_since(s, send) < waits_since(s, recv);
    request_complete(s, send_is_first ? send : recv);
    request_complete(s, send_is_first ? recv : send);
}

static void pair_ended(sim *s, const transfer *t)
{
    if (device_message_is_over(s, t->number[0])) complete_pair(s, t->number[0], t->number[1]);
}

static const transfer_owner brought_in = {.ended = pair_ended};

/* Ends an early message that has arrived and matched, after its copy to the receiver's device if it has one: 0, or an error. */
static int meet(sim *s, int send, int recv)
{
    if (mpi_of(s)->requests.at[recv].is_on_device) return device_message_bring(s, &brought_in, send, recv);
    complete_pair(s, send, recv);
    return 0;
}

static void early_ended(sim *s, const transfer *t)
{
    if (!device_message_is_over(s, t->number[0])) return;
    slot *send = &mpi_of(s)->requests.at[t->number[0]];
    send->has_arrived = 1;
    if (!send->has_matched) send->arrived_s = s->clock.now_s;
    if (send->has_matched) keep_error(s, meet(s, t->number[0], send->partner));
}

static int receiver_of(const sim *s, const transfer *t)
{
    return mpi_of(s)->requests.at[t->number[0]].target;
}

static const transfer_owner matched_pair = {pair_ended, receiver_of}, early_send = {early_ended, receiver_of};
static const transfer_owner access_send = {.ended = early_ended};

static int set_out(sim *s, const transfer_owner *owner, int send, int recv)
{
    const slot *from = &mpi_of(s)->requests.at[send];
    const int is_of_device = from->is_on_device || (recv && mpi_of(s)->requests.at[recv].is_on_device);
    if (is_of_device) return device_message_set_out(s, owner, send, recv);
    const int source_host = s->timelines.rank[from->is.rank].host, target_host = s->timelines.rank[from->target].host;
    return transfer_start(s, source_host, target_host, from->is.bytes, owner, send, recv);
}

int protocol_send_of(const transfer *t)
{
    const int is_message = t->owner == &matched_pair || t->owner == &early_send || t->owner == &access_send;
    return is_message ? t->number[0] : 0;
}

int protocol_recv_of(const sim *s, const transfer *t)
{
    const slot *send = &mpi_of(s)->requests.at[t->number[0]];
    return t->owner == &matched_pair ? t->number[1] : send->has_matched ? send->partner : 0;
}

static int start(sim *s, int send, int recv)
{
    slot *from = &mpi_of(s)->requests.at[send], *to = &mpi_of(s)->requests.at[recv];
    to->is.matched_source = from->is.matched_source;
    to->is.matched_tag = from->is.tag;
    to->is.matched_bytes = from->is.bytes;
    from->has_matched = to->has_matched = 1;
    from->matched_s = to->matched_s = s->clock.now_s;
    const call_costs *costs = costs_of(s, to->is.rank);
    to->has_overhead = (from->is.is_detached || costs->rendezvous_overheads) && costs->n_recv_overhead > 0;
    tell_matched(s, send, recv);
    if (!from->is_early) return set_out(s, &matched_pair, send, recv);
    from->partner = recv;
    return from->has_arrived ? meet(s, send, recv) : 0;
}

static int is_early(const sim *s, const slot *send)
{
    return cpus_are_used(s) || (send->is.is_detached && send->is.bytes < mpi_of(s)->costs.early_below_bytes);
}

int protocol_post(sim *s, int id)
{
    mpi_state *mpi = mpi_of(s);
    slot *x = &mpi->requests.at[id];
    const int is_send = x->is.is_send;
    x->date_s = s->clock.now_s;
    tell_posted(s, id);
    const int other = x->partner ? x->partner
                      : is_send  ? match_send(&mpi->match, &mpi->requests, id)
                                 : match_recv(&mpi->match, &mpi->requests, id);
    if (is_send && !other) {
        mpi->polling.n_sends_queued++;
        mpi->polling.n_probes_up_to_date = 0;
        poll_notice(s, x->target);
        if (is_early(s, x)) {
            x->is_early = 1;
            return set_out(s, &early_send, id, 0);
        }
    }
    if (other <= 0) return other;
    return is_send ? start(s, id, other) : start(s, other, id);
}

int protocol_set_out(sim *s, int id)
{
    slot *x = &mpi_of(s)->requests.at[id];
    x->date_s = s->clock.now_s;
    tell_posted(s, id);
    x->is_early = 1;
    return set_out(s, &access_send, id, 0);
}

int protocol_receive(sim *s, int send, int recv)
{
    mpi_of(s)->requests.at[recv].date_s = s->clock.now_s;
    tell_posted(s, recv);
    return start(s, send, recv);
}

int protocol_withdraw(sim *s, int id)
{
    mpi_state *mpi = mpi_of(s);
    slot *x = &mpi->requests.at[id];
    if (x->is_early || !match_withdraw(&mpi->match, &mpi->requests, id)) return 0;
    const int error = payload_drop(&mpi->payloads, id, x->payload);
    if (error < 0) return error;
    x->is.is_cancelled = 1;
    request_complete(s, id);
    return 1;
}
