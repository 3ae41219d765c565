#include "actions.h"
#include "protocol.h"
#include "world.h"

/* Posting a send or a receive; the number of its request is known when it is appended. */

static int step(sim *s, int id, action *a)
{
    const int request = a->post.request;
    const slot *x = &s->requests.at[request];
    action_end(s, id);
    if (x->is.is_send && x->is.is_detached) s->timelines.at[id].ahead_bytes -= x->is.bytes;
    const int error = protocol_post(s, request);
    return error < 0 ? error : MADE_A_CALL;
}

static const action_kind kind = {.name = "post", .step = step, .keeps_tail = 1};

static int append(sim *s, int id, int request)
{
    action *a = action_append(s, id, &kind);
    if (!a) {
        request_free(s, request);
        return SIM_OUT_OF_MEMORY;
    }
    a->post.request = request;
    account_posts(s, request, a->account);
    return request;
}

/* The rank of a timeline that is a member of the communicator, or SIM_BAD_RANK. */
static int member(const sim *s, int id, int comm)
{
    const int rank = is_timeline(&s->timelines, id) ? s->timelines.at[id].rank : SIM_BAD_RANK;
    return rank >= 0 && comm_rank(&s->comms, comm, rank) >= 0 ? rank : SIM_BAD_RANK;
}

int sim_append_send(sim *s, int id, int comm, int dest, int tag, int64_t bytes, int mode, int blocking)
{
    const int other = comm_other(&s->comms, comm), rank = member(s, id, comm);
    if (rank < 0 || dest < 0 || dest >= comm_size(&s->comms, other)) return SIM_BAD_RANK;
    if (bytes < 0) return SIM_BAD_SIZE;
    const call_costs *costs = protocol_costs(s, rank);
    if (mode == SEND_STANDARD && s->sends_are_synchronous) mode = SEND_SYNCHRONOUS;
    const uint8_t is_detached = mode != SEND_SYNCHRONOUS && (mode == SEND_BUFFERED || protocol_is_detached(costs, bytes));
    double overhead_s = 0;
    if (!blocking)
        overhead_s = protocol_overhead_s(costs->isend_overhead, costs->n_isend_overhead, bytes);
    else if (is_detached || mode == SEND_SYNCHRONOUS || costs->rendezvous_overheads)
        overhead_s = protocol_overhead_s(costs->send_overhead, costs->n_send_overhead, bytes);
    if (sleep_append_overhead(s, id, overhead_s) < 0) return SIM_OUT_OF_MEMORY;
    int request = request_new(s, (struct request){.rank = rank, .comm = comm, .peer = dest, .tag = tag, .bytes = bytes,
                                                  .is_send = 1, .is_detached = is_detached});
    if (request < 0) return request;
    slot *x = &s->requests.at[request];
    x->context = 2 * other;
    x->target = comm_world_rank(&s->comms, other, dest);
    x->is.matched_source = comm_rank(&s->comms, comm, rank);
    x->is_released = is_detached && mode != SEND_BUFFERED;
    request = append(s, id, request);
    if (request > 0 && is_detached) s->timelines.at[id].ahead_bytes += bytes;
    trace_action *row = s->trace && request > 0 ? trace_starts(s, id, blocking ? DID_SEND : DID_ISEND, request) : NULL;
    if (row) {
        row->amount = is_detached && mode != SEND_BUFFERED;
        row->detail = mode;
    }
    return request;
}

int sim_sends_at_once(const sim *s, int id, int64_t bytes)
{
    const int is_standard = is_timeline(&s->timelines, id) && !s->sends_are_synchronous;
    return is_standard && protocol_is_detached(protocol_costs(s, s->timelines.at[id].rank), bytes);
}

static int append_recv(sim *s, int id, int comm, int source, int tag, int64_t capacity_bytes)
{
    const int rank = member(s, id, comm);
    if (rank < 0 || !comm_has_source(&s->comms, comm, source)) return SIM_BAD_RANK;
    if (capacity_bytes < 0) return SIM_BAD_SIZE;
    const int request = request_new(s, (struct request){.rank = rank, .comm = comm, .peer = source, .tag = tag,
                                                        .bytes = capacity_bytes});
    if (request < 0) return request;
    s->requests.at[request].context = 2 * comm;
    s->requests.at[request].target = rank;
    return append(s, id, request);
}

int sim_append_recv(sim *s, int id, int comm, int source, int tag, int64_t capacity_bytes)
{
    const int request = append_recv(s, id, comm, source, tag, capacity_bytes);
    if (s->trace && request > 0) trace_starts(s, id, DID_IRECV, request);
    return request;
}

int sim_append_mrecv(sim *s, int id, int send, int64_t capacity_bytes)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (!is_request(&s->requests, send) || !s->requests.at[send].is_held) return SIM_BAD_REQUEST;
    const slot found = s->requests.at[send];
    if (found.target != s->timelines.at[id].rank) return SIM_BAD_REQUEST;
    const int request = append_recv(s, id, found.context / 2, found.is.matched_source, found.is.tag, capacity_bytes);
    if (request < 0) return request;
    s->requests.at[request].partner = send;
    s->requests.at[send].is_held = 0;
    trace_action *row = s->trace ? trace_starts(s, id, DID_IRECV_HELD, request) : NULL;
    if (row) row->detail = trace_held_name(s, send);
    return request;
}

void sim_make_sends_synchronous(sim *s)
{
    s->sends_are_synchronous = 1;
}
