#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "world/cpus.h"
#include "world/actions.h"
#include "world/clock_events.h"
#include "world/performing.h"
#include "world/tell.h"

/* Posting a send or a receive; the number of its request is known when it is appended. */

static int step(sim *s, int id, action *a)
{
    const int request = a->post.request;
    const slot *x = &mpi_of(s)->requests.at[request];
    action_end(s, id);
    if (x->is.is_send && x->is.is_detached) s->timelines.at[id].ahead_bytes -= x->is.bytes;
    const int error = protocol_post(s, request);
    timeline_gets_ready(s, &s->timelines.at[id]);
    return error < 0 ? error : MADE_A_CALL;
}

static const action_kind kind = {.name = "post", .step = step, .keeps_tail = 1};

/* A receive among ordered operations is posted when the CPU has done what it did as the receive became ready, after older
 * messages. */
static int step_receive(sim *s, int id, action *a)
{
    const timeline *t = &s->timelines.at[id];
    if (t->ready_s >= clock_same_date_s(&s->clock)) return clock_events_sleep_until(s, id, t->ready_s, SPENT_OVERHEAD);
    int taken = 1;
    while (taken > 0) taken = cpu_takes_older(s, t->rank, t->ready);
    return taken < 0 ? taken : step(s, id, a);
}

static const action_kind receive_kind = {.name = "post", .step = step_receive, .cpu_order = 2};

/* A send over a network that uses CPUs. */
static int step_send(sim *s, int id, action *a)
{
    const int request = a->post.request;
    const slot *x = &mpi_of(s)->requests.at[request];
    const int result = protocol_await_interface(s, id);
    if (result != MADE_A_CALL) return result;
    action_end(s, id);
    if (x->is.is_detached) s->timelines.at[id].ahead_bytes -= x->is.bytes;
    return protocol_send(s, id, request);
}

static const action_kind send_kind = {.name = "post", .step = step_send, .cpu_order = 1};

static int append(sim *s, int id, int request)
{
    const int is_send = mpi_of(s)->requests.at[request].is.is_send;
    const action_kind *uses_cpu = is_send ? &send_kind : performing_is_ordered(s->performing) ? &receive_kind : &kind;
    action *a = action_append(s, id, cpus_are_used(s) ? uses_cpu : &kind);
    if (!a) {
        request_free(s, request);
        return SIM_OUT_OF_MEMORY;
    }
    a->post.request = request;
    request_belongs(s, request, id);
    if (s->timelines.at[id].names_device) {
        s->timelines.at[id].names_device = 0;
        mpi_of(s)->requests.at[request].is_on_device = 1;
    }
    return request;
}

/* ---- rows ---- */

static int perform_send(sim *s, int id, const trace_action *row, int blocks)
{
    const int is_waited_for = row->amount > 0;
    const int request = sim_append_send(s, id, row->comm, row->peer, row->tag, row->bytes, row->detail, blocks);
    if (request < 0) return request;
    if (mpi_of(s)->requests.at[request].is.is_detached && row->detail != SEND_BUFFERED) return 0;
    if (!is_waited_for) return perform_name(s, id, row->request, request);
    if (blocks) {
        const int error = sim_append_wait(s, id, request);
        return error < 0 ? error : perform_due(s, id, request);
    }
    s->performing->n_left_alone++;
    sim_release(s, request);
    return 0;
}

static int perform_blocking_send(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return perform_send(s, id, row, 1);
}

static int perform_isend(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return perform_send(s, id, row, 0);
}

static int perform_irecv(sim *s, int id, const trace_action *row, int n)
{
    const int request = sim_append_recv(s, id, row->comm, row->peer, row->tag, row->bytes);
    (void)n;
    return request < 0 ? request : perform_name(s, id, row->request, request);
}

static int perform_recv(sim *s, int id, const trace_action *row, int n)
{
    const int request = sim_append_recv(s, id, row->comm, row->peer, row->tag, row->bytes);
    (void)n;
    if (request < 0) return request;
    const int error = sim_append_wait(s, id, request);
    return error < 0 ? error : perform_due(s, id, request);
}

/* A message that no probe holds here is received as any other. */
static int perform_irecv_held(sim *s, int id, const trace_action *row, int n)
{
    const int held = perform_request(s, id, row->detail);
    if (!held) return perform_irecv(s, id, row, n);
    const int request = sim_append_mrecv(s, id, held, row->bytes);
    perform_forget(s, id, row->detail);
    return request < 0 ? request : perform_name(s, id, row->request, request);
}

enum { MESSAGE = ROW_COMM | ROW_PEER | ROW_TAG | ROW_BYTES | ROW_REQUEST | ROW_STARTS };

const row_kind send_row = {
    {"send", "starts `request`, as a blocking send does; `amount` 1: it is waited for, or was complete at once", "mode",
     MESSAGE | ROW_AMOUNT | ROW_DETAIL | ROW_SENDS}, perform_blocking_send, 0, &send_row};
const row_kind isend_row = {{"isend", "starts `request`; `amount` 1: it was complete at once, and nobody waits for it", "mode",
                             MESSAGE | ROW_AMOUNT | ROW_DETAIL | ROW_SENDS}, perform_isend, 0, 0};
const row_kind recv_row = {{"recv", "starts `request`, and waits for it", "", MESSAGE}, perform_recv, 0, 0};
const row_kind irecv_row = {
    {"irecv", "starts `request`; what it took, where it asked for any source: the `took` of its rank with this `request`", "",
     MESSAGE}, perform_irecv, 0, &recv_row};
const row_kind irecv_held_row = {{"irecv_held", "starts `request`, for the message that a matched probe holds",
                                  "`request` of the probe", MESSAGE | ROW_DETAIL | ROW_HELD}, perform_irecv_held, 0, 0};

static void tell(sim *s, int id, const row_kind *kind, int request, int amount, int detail)
{
    const struct request *x = &mpi_of(s)->requests.at[request].is;
    const trace_action row = {.amount = amount, .bytes = x->bytes, .comm = x->comm, .peer = x->peer, .tag = x->tag,
                              .request = request, .detail = detail};
    tell_appended(s, id, &(appended_action){.kind = kind, .row = row});
}

/* ---- actions that the outside appends ---- */

/* The rank of a timeline that is a member of the communicator, or SIM_BAD_RANK. */
static int member(const sim *s, int id, int comm)
{
    const int rank = is_timeline(&s->timelines, id) ? s->timelines.at[id].rank : SIM_BAD_RANK;
    return rank >= 0 && comm_rank(&mpi_of(s)->comms, comm, rank) >= 0 ? rank : SIM_BAD_RANK;
}

int sim_append_send(sim *s, int id, int comm, int dest, int tag, int64_t bytes, int mode, int blocking)
{
    mpi_state *mpi = mpi_of(s);
    const int other = comm_other(&mpi->comms, comm), rank = member(s, id, comm);
    if (rank < 0 || dest < 0 || dest >= comm_size(&mpi->comms, other)) return SIM_BAD_RANK;
    if (bytes < 0) return SIM_BAD_SIZE;
    const call_costs *costs = costs_of(s, rank);
    if (mode == SEND_STANDARD && mpi->sends_are_synchronous) mode = SEND_SYNCHRONOUS;
    const uint8_t is_detached = mode != SEND_SYNCHRONOUS && (mode == SEND_BUFFERED || protocol_is_detached(costs, bytes));
    double overhead_s = 0;
    if (!blocking)
        overhead_s = cost_by_size_s(costs->isend_overhead, costs->n_isend_overhead, bytes);
    else if (is_detached || mode == SEND_SYNCHRONOUS || costs->rendezvous_overheads)
        overhead_s = cost_by_size_s(costs->send_overhead, costs->n_send_overhead, bytes);
    overhead_s = protocol_startup_s(s, rank, comm_world_rank(&mpi->comms, other, dest), overhead_s);
    if (!cpus_are_used(s) && sleep_append_overhead(s, id, overhead_s) < 0) return SIM_OUT_OF_MEMORY;
    int request = request_new(s, (struct request){.rank = rank, .comm = comm, .peer = dest, .tag = tag, .bytes = bytes,
                                                  .is_send = 1, .is_detached = is_detached});
    if (request < 0) return request;
    slot *x = &mpi->requests.at[request];
    x->context = 2 * other;
    x->target = comm_world_rank(&mpi->comms, other, dest);
    x->is.matched_source = comm_rank(&mpi->comms, comm, rank);
    x->is_released = is_detached && mode != SEND_BUFFERED;
    request = append(s, id, request);
    if (request > 0 && is_detached) s->timelines.at[id].ahead_bytes += bytes;
    if (is_watched(s) && request > 0)
        tell(s, id, blocking ? &send_row : &isend_row, request, is_detached && mode != SEND_BUFFERED, mode);
    return request;
}

int sim_sends_at_once(const sim *s, int id, int64_t bytes)
{
    const int is_standard = is_timeline(&s->timelines, id) && !mpi_of(s)->sends_are_synchronous;
    return is_standard && protocol_is_detached(costs_of(s, s->timelines.at[id].rank), bytes);
}

int sim_matches_itself(sim *s, int id, int comm, int send_tag, int recv_tag)
{
    mpi_state *mpi = mpi_of(s);
    const int rank = member(s, id, comm);
    if (rank < 0 || !sim_is_idle(s, id)) return 0;
    return match_is_free(&mpi->match, &mpi->requests, 2 * comm, rank, comm_rank(&mpi->comms, comm, rank), send_tag, recv_tag);
}

static int append_recv(sim *s, int id, int comm, int source, int tag, int64_t capacity_bytes)
{
    mpi_state *mpi = mpi_of(s);
    const int rank = member(s, id, comm);
    if (rank < 0 || !comm_has_source(&mpi->comms, comm, source)) return SIM_BAD_RANK;
    if (capacity_bytes < 0) return SIM_BAD_SIZE;
    const int request = request_new(s, (struct request){.rank = rank, .comm = comm, .peer = source, .tag = tag,
                                                        .bytes = capacity_bytes});
    if (request < 0) return request;
    mpi->requests.at[request].context = 2 * comm;
    mpi->requests.at[request].target = rank;
    return append(s, id, request);
}

int sim_append_recv(sim *s, int id, int comm, int source, int tag, int64_t capacity_bytes)
{
    const int request = append_recv(s, id, comm, source, tag, capacity_bytes);
    if (is_watched(s) && request > 0) tell(s, id, &irecv_row, request, 0, 0);
    return request;
}

int sim_append_mrecv(sim *s, int id, int send, int64_t capacity_bytes)
{
    mpi_state *mpi = mpi_of(s);
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (!is_request(&mpi->requests, send) || !mpi->requests.at[send].is_held) return SIM_BAD_REQUEST;
    const slot found = mpi->requests.at[send];
    if (found.target != s->timelines.at[id].rank) return SIM_BAD_REQUEST;
    const int request = append_recv(s, id, found.context / 2, found.is.matched_source, found.is.tag, capacity_bytes);
    if (request < 0) return request;
    mpi->requests.at[request].partner = send;
    mpi->requests.at[send].is_held = 0;
    if (is_watched(s)) tell(s, id, &irecv_held_row, request, 0, send);
    return request;
}

void sim_make_sends_synchronous(sim *s)
{
    mpi_of(s)->sends_are_synchronous = 1;
}
