#include "mpi/mpi_world.h"
#include "mpi/window.h"
#include "world/tell.h"

/* Locks of a window, and the gate around what is atomic there. An exclusive lock takes a call, a shared one none, unless it has to
 * wait: then it lets the next one in by a further call, as the peer does. */

enum { ENTER, PASS_ON, INSIDE };

static gate *gate_of(sim *s, const action *a, int rank)
{
    return &window_part_at(s, a->window.comm, rank)->gate[a->window.gate];
}

static int step_lock(sim *s, int id, action *a)
{
    gate *g = gate_of(s, a, a->window.rank);
    switch (a->stage) {
    case ENTER: {
        const int is_shared = a->window.is_shared, is_inside = gate_enter(s, g, id, is_shared);
        a->stage = is_inside || !is_shared ? INSIDE : PASS_ON;
        return !is_inside ? BLOCKED : is_shared ? FREE_OF_CHARGE : MADE_A_CALL;
    }
    case PASS_ON:
        a->stage++;
        gate_pass_on(s, g, id);
        return MADE_A_CALL;
    default: /* INSIDE */
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
}

static int step_unlock(sim *s, int id, action *a)
{
    const int is_shared = a->window.is_shared, error = gate_leave(s, gate_of(s, a, a->window.rank), id, is_shared);
    action_end(s, id);
    return error < 0 ? error : is_shared ? FREE_OF_CHARGE : MADE_A_CALL;
}

/* `rank` is that of the part that it enters next. */
static int step_lock_all(sim *s, int id, action *a)
{
    const int n = comm_size(&mpi_of(s)->comms, a->window.comm);
    if (a->stage == PASS_ON) {
        gate_pass_on(s, gate_of(s, a, a->window.rank++), id);
        a->stage = ENTER;
        return MADE_A_CALL;
    }
    for (; a->window.rank < n; a->window.rank++) {
        if (gate_enter(s, gate_of(s, a, a->window.rank), id, 1)) continue;
        a->stage = PASS_ON;
        return BLOCKED;
    }
    action_end(s, id);
    return FREE_OF_CHARGE;
}

static int step_unlock_all(sim *s, int id, action *a)
{
    int error = 0;
    for (int rank = 0; rank < comm_size(&mpi_of(s)->comms, a->window.comm) && error >= 0; rank++)
        error = gate_leave(s, gate_of(s, a, rank), id, 1);
    action_end(s, id);
    return error < 0 ? error : FREE_OF_CHARGE;
}

/* The tag is the rank that has it alone, or -1. */
static void describe(const sim *s, const action *a, waiting *out)
{
    const window_part *part = window_part_of(s, a->window.comm, a->window.rank);
    const int holder = part ? part->gate[a->window.gate].holder : -1;
    *out = (waiting){.kind = WAIT_WINDOW, .comm = a->window.comm, .peer = a->window.rank,
                     .tag = holder < 0 ? -1 : comm_rank(&mpi_of(s)->comms, a->window.comm, s->timelines.at[holder].rank)};
}

static const action_kind lock_kind = {.name = "lock", .step = step_lock, .free = window_action_free, .describe = describe};
static const action_kind unlock_kind = {.name = "unlock", .step = step_unlock, .free = window_action_free};
static const action_kind lock_all_kind = {.name = "lock all", .step = step_lock_all, .free = window_action_free,
                                          .describe = describe};
static const action_kind unlock_all_kind = {.name = "unlock all", .step = step_unlock_all, .free = window_action_free};

static int perform_lock(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_lock(s, id, row->comm, row->peer, row->detail);
}

static int perform_unlock(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_unlock(s, id, row->comm, row->peer, row->detail);
}

enum { LOCK = ROW_COMM | ROW_PEER | ROW_DETAIL };

static const char KIND[] = "0 alone, 1 shared, 2 for what is atomic, 3 shared, of all ranks";

const row_kind lock_row = {{"lock", "locks the window of the communicator at rank `peer`", KIND, LOCK}, perform_lock, 0, 0};
const row_kind unlock_row = {{"unlock", "unlocks the window of the communicator at rank `peer`", KIND, LOCK},
                             perform_unlock, 0, 0};

static int append(sim *s, int id, const action_kind *kind, const row_kind *row_is, trace_action row)
{
    int error;
    if (row.detail < LOCK_ALONE || row.detail > LOCK_ALL_SHARED) return SIM_BAD_REQUEST;
    action *a = window_append(s, id, kind, row.comm, row.peer, &error);
    if (!a) return error;
    a->window.gate = row.detail == LOCK_ATOMIC ? GATE_ATOMIC : GATE_LOCK;
    a->window.is_shared = row.detail == LOCK_SHARED || row.detail == LOCK_ALL_SHARED;
    if (is_watched(s)) tell_appended(s, id, &(appended_action){.kind = row_is, .row = row});
    return 0;
}

int sim_append_lock(sim *s, int id, int comm, int rank, int kind)
{
    const int is_all = kind == LOCK_ALL_SHARED;
    const trace_action row = {.comm = comm, .peer = is_all ? 0 : rank, .detail = kind};
    return append(s, id, is_all ? &lock_all_kind : &lock_kind, &lock_row, row);
}

int sim_append_unlock(sim *s, int id, int comm, int rank, int kind)
{
    const int is_all = kind == LOCK_ALL_SHARED;
    const trace_action row = {.comm = comm, .peer = is_all ? 0 : rank, .detail = kind};
    return append(s, id, is_all ? &unlock_all_kind : &unlock_kind, &unlock_row, row);
}
