#include <stdlib.h>

#include "basics/dates.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "mpi/wait.h"
#include "mpi/window.h"
#include "world/tell.h"

/* Completion of accesses: of the receives in a rank's part, all or those from and to one rank. One timeline at a time completes
 * some of a part; it pays their overheads one after the other, those of accumulates last. */

struct pending {
    int n, n_left, n_ended;      /* receives; those that it has not learnt of; those of them that are complete */
    double owed_s;               /* overheads of accumulates */
    int request[];               /* LEARNT_OF once it has learnt of it */
};

enum { ENTER, TAKE, LEARN, OWED, LEAVE, LEFT };

static int concerns(const sim *s, const slot *recv, const action *a)
{
    const int other = (int)a->window.from - 1;
    return other < 0 || recv->is.peer == other || recv->is.rank == comm_world_rank(&mpi_of(s)->comms, a->window.comm, other);
}

/* Takes its receives out of the list of the part: 0, or SIM_OUT_OF_MEMORY. */
static int take(sim *s, int id, action *a)
{
    slot *all = mpi_of(s)->requests.at;
    window_part *part = window_part_at(s, a->window.comm, a->window.rank);
    int n = 0;
    a->window.pending = NULL;
    for (int r = part->first; r; r = all[r].next) n += concerns(s, &all[r], a);
    if (!n) return 0;
    struct pending *p = a->window.pending = calloc(1, sizeof *p + (size_t)n * sizeof *p->request);
    if (!p) return SIM_OUT_OF_MEMORY;
    int *link = &part->first;
    part->last = 0;
    for (int r = *link; r; r = *link) {
        slot *x = &all[r];
        if (!concerns(s, x, a)) {
            part->last = r;
            link = &x->next;
            continue;
        }
        *link = x->next;
        if (x->is.is_done) {
            p->n_ended++;
        } else {
            x->waiter = id;
            x->waiter_index = p->n;
        }
        p->request[p->n++] = r;
    }
    p->n_left = n;
    return 0;
}

/* Learns of one that has ended. */
static void learn_of(sim *s, int id, struct pending *p, int i)
{
    slot *x = &mpi_of(s)->requests.at[p->request[i]];
    p->n_left--;
    p->request[i] = LEARNT_OF;
    x->is_released = 1;
    if (x->is_accumulate)
        p->owed_s += protocol_receive_overhead_s(s, s->timelines.at[id].rank, x);
    else
        wait_pay_for(s, id, x);
}

static void learn_of_first(sim *s, int id, struct pending *p)
{
    int i = 0;
    while (p->request[i] == LEARNT_OF || !mpi_of(s)->requests.at[p->request[i]].is.is_done) i++;
    const int request = p->request[i];
    p->n_ended--;
    learn_of(s, id, p, i);
    request_let_go(s, request);
}

static gate *gate_of(sim *s, const action *a)
{
    return &window_part_at(s, a->window.comm, a->window.rank)->gate[GATE_PENDING];
}

static int step(sim *s, int id, action *a)
{
    struct pending *p = a->window.pending;
    switch (a->stage) {
    case ENTER:
        a->stage++;
        return gate_enter(s, gate_of(s, a), id, 0) ? MADE_A_CALL : BLOCKED;
    case TAKE: {
        const int error = take(s, id, a);
        a->stage = a->window.pending ? LEARN : LEAVE;
        s->timelines.at[id].busy_until_s = 0;
        return error < 0 ? error : FREE_OF_CHARGE;
    }
    case LEARN:
        if (p->n_ended > 0) {
            learn_of_first(s, id, p);
            return wait_after_overheads(s, id);
        }
        if (p->n_left > 0) {
            wait_begin(s, id, 0);
            return BLOCKED;
        }
        a->stage++;
        return FREE_OF_CHARGE;
    case OWED: {
        a->stage++;
        wait_pay(s, id, p->owed_s);
        const int result = wait_after_overheads(s, id);
        return result == MADE_A_CALL ? FREE_OF_CHARGE : result;
    }
    case LEAVE: {
        a->stage++;
        const int error = gate_leave(s, gate_of(s, a), id, 0);
        return error < 0 ? error : MADE_A_CALL;
    }
    default: /* LEFT */
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
}

static void told(sim *s, int id, action *a, int request)
{
    struct pending *p = a->window.pending;
    if (s->timelines.at[id].state != WAITING) {
        p->n_ended++;
        return;
    }
    learn_of(s, id, p, mpi_of(s)->requests.at[request].waiter_index);
    wait_wake(s, id);
}

static void free_pending(sim *s, action *a)
{
    free(a->window.pending);
    window_action_free(s, a);
}

/* The first receive that has not ended stands for all. */
static void describe(const sim *s, const action *a, waiting *out)
{
    const struct pending *p = a->stage == LEARN ? a->window.pending : NULL;
    *out = (waiting){.kind = WAIT_WINDOW, .comm = a->window.comm, .peer = a->window.rank};
    for (int i = 0; p && i < p->n; i++) {
        if (p->request[i] == LEARNT_OF || mpi_of(s)->requests.at[p->request[i]].is.is_done) continue;
        *out = request_describe(&mpi_of(s)->requests, p->request[i], p->n_left);
        return;
    }
}

static const action_kind kind = {.name = "complete", .step = step, .told = told, .free = free_pending, .describe = describe};

static int perform_complete(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_complete(s, id, row->comm, row->peer, row->detail - 1);
}

const row_kind complete_row = {{"complete", "completes accesses to the window of the communicator at rank `peer`",
                                "0: all; or 1 + the rank at their other end", ROW_COMM | ROW_PEER | ROW_DETAIL},
                               perform_complete, 0, 0};

int sim_append_complete(sim *s, int id, int comm, int rank, int other)
{
    int error;
    if (other >= comm_size(&mpi_of(s)->comms, comm)) return SIM_BAD_RANK;
    action *a = window_append(s, id, &kind, comm, rank, &error);
    if (!a) return error;
    a->window.from = (unsigned)(other + 1) & 0x7FFFFFFu;
    if (is_watched(s)) {
        const trace_action row = {.comm = comm, .peer = rank, .detail = other < 0 ? 0 : other + 1};
        tell_appended(s, id, &(appended_action){.kind = &complete_row, .row = row});
    }
    return 0;
}
