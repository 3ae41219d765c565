#include "watchers/poll_row.h"

#include <math.h>
#include <stdlib.h>

#include "mpi/late.h"
#include "mpi/mpi_world.h"
#include "watchers/account.h"
#include "watchers/charge.h"
#include "watchers/trace.h"

enum { ROW_MAX = 256, SAME_MAX = 128, MIXED_MAX = 192 };

static int is_poll(int kind)
{
    return kind == SPENT_POLLING || kind == SPENT_PROBING;
}

/* ---- requests and messages that polls waited for ---- */

static const late_side nobody = {.kind = 0, .rank = -1};

static late_side sender_of(const slot *send)
{
    const double there_s = !send->is_early ? send->date_s : send->has_arrived ? send->arrived_s : INFINITY;
    return (late_side){.kind = SPENT_LATE_SENDER, .rank = send->is.rank, .met_s = send->date_s,
                       .over_s = fmax(there_s, send->date_s)};
}

/* The late side of a poll for any of several requests: no rank, since the one that will be complete first is not known. */
static late_side side_of_any(const sim *s, const poll_question *q)
{
    const int kind = q->first > 0 ? late_side_of(s, &mpi_of(s)->requests.at[q->first]).kind : SPENT_LATE_SENDER;
    return (late_side){.kind = kind, .rank = -1, .met_s = INFINITY, .over_s = INFINITY};
}

/* The late side, as far as it is known, of a poll that has just failed. */
static late_side side_of_question(const sim *s, const poll_question *q)
{
    mpi_state *mpi = mpi_of(s);
    if (q->request < 0) return side_of_any(s, q);
    if (q->request) return late_side_of(s, &mpi->requests.at[q->request]);
    const int rank = q->source == SIM_ANY ? -1 : comm_world_rank(&mpi->comms, comm_other(&mpi->comms, q->comm), q->source);
    return (late_side){.kind = SPENT_LATE_SENDER, .rank = rank, .met_s = INFINITY, .over_s = INFINITY};
}

/* ---- charging ---- */

static void charge_part(sim *s, timeline *t, const held_time *of, int kind, double from_s, double to_s, int other)
{
    held_time part = {.start_s = from_s, .end_s = to_s, .kind = kind, .account = of->account};
    if (!(to_s > from_s)) return;
    part.above_idle_j = of->above_idle_j * ((to_s - from_s) / (of->end_s - of->start_s));
    charge(s, t, &part, to_s - from_s, other);
}

static void settle(sim *s, timeline *t, const late_side *side)
{
    poll_row *row = &t->row;
    for (int i = 0; i < row->n; i++) {
        const held_time it = row->held[i];
        if (!side->kind || !is_poll(it.kind)) {
            charge(s, t, &it, it.end_s - it.start_s, -1);
            continue;
        }
        const double over_s = fmin(fmax(side->over_s, it.start_s), it.end_s);
        const double met_s = fmin(fmax(side->met_s, it.start_s), over_s);
        charge_part(s, t, &it, side->kind, it.start_s, met_s, side->rank);
        charge_part(s, t, &it, SPENT_TRANSFER, met_s, over_s, -1);
        charge_part(s, t, &it, SPENT_POLLING, over_s, it.end_s, -1);
    }
    row->n = row->is_mixed = 0;
    if (accounts_of(s)->trace) trace_has_waited(s, t);
}

static int make_room(poll_row *row)
{
    if (row->n < row->room) return 1;
    const int room = row->room ? 2 * row->room : 2;
    held_time *held = realloc(row->held, (size_t)room * sizeof *held);
    if (!held) return 0;
    row->held = held;
    row->room = room;
    return 1;
}

int poll_row_hold(sim *s, timeline *t, const held_time *time)
{
    poll_row *row = &t->row;
    if (!row->n && !is_poll(time->kind)) return 0;
    held_time *last = row->n ? &row->held[row->n - 1] : NULL;
    if (last && last->kind == time->kind && last->account == time->account) {
        last->end_s = time->end_s;
        last->above_idle_j += time->above_idle_j;
        return 1;
    }
    if (row->n == ROW_MAX) poll_row_end(s, t);
    if (!row->n && !is_poll(time->kind)) return 0;
    if (!make_room(row)) {
        keep_error(s, SIM_OUT_OF_MEMORY);
        return 1;
    }
    row->held[row->n++] = *time;
    return 1;
}

void poll_row_finds(sim *s, timeline *t, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    const late_side side = x->is.is_done ? late_side_of(s, x) : sender_of(x);
    if (!t->row.n || x->is.is_cancelled || side.over_s <= t->row.held[0].start_s) return; /* the row polled for something else */
    if (accounts_of(s)->trace) trace_waited(s, t, x);
    settle(s, t, &side);
}

void poll_row_mixes(sim *s, timeline *t, const poll_question *asked)
{
    poll_row *row = &t->row;
    const int rank = side_of_question(s, asked).rank;
    row->rank = row->is_mixed && row->rank != rank ? -1 : rank;
    row->is_mixed = 1;
}

void poll_row_in_vain(sim *s, timeline *t, const poll_question *asked)
{
    poll_row *row = &t->row;
    if (row->n <= (row->is_mixed ? MIXED_MAX : SAME_MAX)) return;
    late_side side = side_of_question(s, asked);
    if (row->is_mixed) side = (late_side){.kind = side.kind, .rank = row->rank, .met_s = INFINITY, .over_s = INFINITY};
    settle(s, t, &side);
}

void poll_row_end(sim *s, timeline *t)
{
    if (t->row.n) settle(s, t, &nobody);
}

void poll_row_add_up(const timeline *t, double *spent_s)
{
    for (int i = 0; i < t->row.n; i++) spent_s[t->row.held[i].kind] += t->row.held[i].end_s - t->row.held[i].start_s;
}

#ifdef SMPY_CHECK
#include <assert.h>

void poll_row_check(const timeline *t)
{
    const poll_row *row = &t->row;
    assert(row->n <= row->room && row->n <= ROW_MAX);
    assert(t->state != ENDED || !row->n);
    assert(!row->n || (is_poll(row->held[0].kind) && row->held[row->n - 1].end_s == t->since_s));
    for (int i = 1; i < row->n; i++) assert(row->held[i].start_s == row->held[i - 1].end_s);
}
#endif
