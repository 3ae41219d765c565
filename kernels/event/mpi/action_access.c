#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "mpi/window.h"
#include "world/actions.h"
#include "world/tell.h"

/* Access to a window: a message from the data's owner to its reader, both sides of which the accessing rank posts. Its calls are
 * those of the peer, which passes gates around each of them, so that what others do at the same date comes in the same order. */

enum { OWN = 0, TARGETS = 1, READERS = 2 };      /* whose part: of the rank, of the target, of the one that receives */
enum { ENTER, LEAVE, LOOK, LIST, SEND, RECEIVE, DONE };

typedef struct {
    uint8_t does, gate, whose;
} stage;

#define IN(GATE, WHOSE) {ENTER, GATE, WHOSE}
#define OUT(GATE, WHOSE) {LEAVE, GATE, WHOSE}
#define AT_MAILBOX(DOES) IN(GATE_MAILBOX, READERS), {LOOK, 0, 0}, {DOES, 0, 0}, OUT(GATE_MAILBOX, READERS)
#define SEND_LISTED(WHOSE) IN(GATE_PENDING, WHOSE), OUT(GATE_PENDING, WHOSE) /* detached: nobody waits for it */
#define RECEIVE_LISTED IN(GATE_PENDING, OWN), {LIST, 0, 0}, OUT(GATE_PENDING, OWN)
#define RECEIVED_AT_TARGET IN(GATE_PENDING, TARGETS), {LIST, 0, 0}, AT_MAILBOX(RECEIVE), OUT(GATE_PENDING, TARGETS)

static const stage
    PUT[] = {AT_MAILBOX(SEND), SEND_LISTED(OWN), RECEIVED_AT_TARGET, {DONE, 0, 0}},
    GET[] = {AT_MAILBOX(SEND), SEND_LISTED(TARGETS), AT_MAILBOX(RECEIVE), RECEIVE_LISTED, {DONE, 0, 0}},
    ACCUMULATE[] = {AT_MAILBOX(SEND), RECEIVED_AT_TARGET, SEND_LISTED(OWN), {DONE, 0, 0}},
    RPUT[] = {AT_MAILBOX(SEND), RECEIVED_AT_TARGET, {DONE, 0, 0}}, /* an accumulate with a request, too */
    RGET[] = {AT_MAILBOX(SEND), SEND_LISTED(TARGETS), AT_MAILBOX(RECEIVE), {DONE, 0, 0}};
static const stage *const STAGES[] = {PUT, GET, ACCUMULATE, RPUT, RGET, RPUT};

static int is_get(int access)
{
    return access == ACCESS_GET || access == ACCESS_RGET;
}

/* The receive is in the list of the part that will complete it. */
static void list(sim *s, const action *a, window_part *part)
{
    mpi_of(s)->requests.at[a->window.recv].next = 0;
    if (part->last)
        mpi_of(s)->requests.at[part->last].next = a->window.recv;
    else
        part->first = a->window.recv;
    part->last = a->window.recv;
}

static int call(sim *s, int id, action *a)
{
    const stage *now = &STAGES[a->window.access][a->stage++];
    const int comm = a->window.comm, own = comm_rank(&mpi_of(s)->comms, comm, s->timelines.at[id].rank), target = a->window.rank;
    const int reader = is_get(a->window.access) ? own : target;
    window_part *part = window_part_at(s, comm, now->whose == TARGETS ? target : now->whose == READERS ? reader : own);
    int error = 0;
    switch (now->does) {
    case ENTER: return gate_enter(s, &part->gate[now->gate], id, 0) ? MADE_A_CALL : BLOCKED;
    case LEAVE: error = gate_leave(s, &part->gate[now->gate], id, 0); break;
    case SEND: error = protocol_set_out(s, a->window.send); break;
    case RECEIVE: error = protocol_receive(s, a->window.send, a->window.recv); break;
    case LIST: list(s, a, window_part_at(s, comm, reader)); return FREE_OF_CHARGE;
    case DONE: action_end(s, id); return FREE_OF_CHARGE;
    default: break;
    }
    return error < 0 ? error : MADE_A_CALL;
}

/* One call; where nobody else has a turn, those that follow it at this date, too. */
static int step(sim *s, int id, action *a)
{
    for (;;) {
        const int result = call(s, id, a);
        if (result != MADE_A_CALL || !timelines_one_runs(&s->timelines)) return result;
    }
}

static void describe(const sim *s, const action *a, waiting *out)
{
    (void)s;
    *out = (waiting){.kind = WAIT_WINDOW, .comm = a->window.comm, .peer = a->window.rank, .tag = SIM_ANY};
}

static const action_kind kind = {.name = "access", .step = step, .free = window_action_free, .describe = describe};

/* ---- rows ---- */

static int perform_access(sim *s, int id, const trace_action *row, int n)
{
    access_requests made;
    (void)n;
    return sim_append_access(s, id, row->comm, row->peer, row->bytes, row->detail, &made);
}

static int perform_rget(sim *s, int id, const trace_action *row, int n)
{
    access_requests made;
    (void)n;
    const int error = sim_append_access(s, id, row->comm, row->peer, row->bytes, ACCESS_RGET, &made);
    return error < 0 ? error : perform_name(s, id, row->request, made.recv);
}

const row_kind access_row = {
    {"access", "accesses the window of the communicator at rank `peer`", "0 put, 1 get, 2 accumulate; 3 and 5: with a request",
     ROW_COMM | ROW_PEER | ROW_BYTES | ROW_DETAIL | ROW_SENDS}, perform_access, 0, 0};
const row_kind rget_row = {{"rget", "gets from the window at rank `peer`; starts `request`, its receive", "",
                            ROW_COMM | ROW_PEER | ROW_BYTES | ROW_REQUEST | ROW_STARTS}, perform_rget, 0, 0};

/* ---- actions that the outside appends ---- */

static int new_requests(sim *s, int id, int comm, int target, int64_t bytes, int access, access_requests *out)
{
    mpi_state *mpi = mpi_of(s);
    const int rank = s->timelines.at[id].rank, own = comm_rank(&mpi->comms, comm, rank);
    const int source = is_get(access) ? target : own, reader = is_get(access) ? own : target;
    const int source_rank = comm_world_rank(&mpi->comms, comm, source), reader_rank = comm_world_rank(&mpi->comms, comm, reader);
    out->send = request_new(s, (struct request){.rank = source_rank, .comm = comm, .peer = reader, .bytes = bytes,
                                                .matched_source = source, .is_send = 1, .is_detached = 1});
    if (out->send < 0) return out->send;
    out->recv = request_new(s, (struct request){.rank = reader_rank, .comm = comm, .peer = source, .bytes = bytes});
    if (out->recv < 0) {
        request_free(s, out->send);
        return out->recv;
    }
    slot *send = &mpi->requests.at[out->send], *recv = &mpi->requests.at[out->recv];
    send->context = recv->context = 2 * comm + (access != ACCESS_RGET);
    send->target = recv->target = reader_rank;
    send->is_released = 1;
    recv->is_accumulate = access == ACCESS_ACCUMULATE || access == ACCESS_RACCUMULATE;
    request_belongs(s, out->send, id);
    request_belongs(s, out->recv, id);
    return 0;
}

int sim_append_access(sim *s, int id, int comm, int target, int64_t bytes, int access, access_requests *out)
{
    mpi_state *mpi = mpi_of(s);
    if (!is_timeline(&s->timelines, id) || comm_rank(&mpi->comms, comm, s->timelines.at[id].rank) < 0) return SIM_BAD_RANK;
    if (target < 0 || target >= comm_size(&mpi->comms, comm)) return SIM_BAD_RANK;
    if (bytes < 0) return SIM_BAD_SIZE;
    if (access < ACCESS_PUT || access > ACCESS_RACCUMULATE) return SIM_BAD_REQUEST;
    const int rank = s->timelines.at[id].rank;
    const call_costs *costs = costs_of(s, rank);
    const double usual_s = cost_by_size_s(costs->isend_overhead, costs->n_isend_overhead, bytes);
    const double overhead_s = protocol_startup_s(s, rank, comm_world_rank(&mpi->comms, comm, target), usual_s);
    if (sleep_append_overhead(s, id, overhead_s) < 0) return SIM_OUT_OF_MEMORY;
    int error = new_requests(s, id, comm, target, bytes, access, out);
    if (error < 0) return error;
    action *a = window_append(s, id, &kind, comm, target, &error);
    if (!a) {
        request_free(s, out->send);
        request_free(s, out->recv);
        return error;
    }
    a->window.access = (unsigned)access & 7;
    a->window.send = out->send;
    a->window.recv = out->recv;
    if (is_watched(s)) {
        const trace_action row = {.comm = comm, .peer = target, .bytes = bytes, .request = out->recv, .detail = access};
        tell_appended(s, id, &(appended_action){.kind = access == ACCESS_RGET ? &rget_row : &access_row, .row = row});
    }
    return 0;
}
