/* replay.c -- the loop of a world whose ranks do what the rows of a trace say, without a program.
 *
 * The outside feeds rows, each rank's in its order; sim_replay_next turns the loop and appends, for the timeline whose turn it is,
 * what its next rows say, up to one whose answer decides what comes then. Rows are those of TRACE_ACTIONS, but for numbers of
 * communicators, schedules and accounts, which are this world's.
 *
 * Answers of the traced run decide here, too: a poll that found something is repeated until it does; one in vain is made as often
 * as it was, or until it finds something; a wait for any waits for the one that was over first.
 *
 * Rows that no run has recorded may have ranks poll for messages that never come. The world is quiet when nothing is under way but
 * polls that have to succeed. A quiet world stays as it is until one of them succeeds. */
#include "mpi/mpi_world.h"
#include "sim.h"
#include "watchers/account.h"
#include "world/performing.h"
#include "world/row_kind.h"

enum { ROWS_AT_ONCE = 64 };

/* The rows of a list without a length: those that follow as its parts. */
static int n_listed(const sim *s, const rank_rows *of)
{
    int n = 1;
    while (n < of->n && row_kind_at(&s->row_kinds, rows_at(of, n)->action)->is.columns & ROW_PART) n++;
    return n;
}

/* Number of rows that belong together, from the first one on; 0: the rest is to come. */
static int n_together(const sim *s, const rank_rows *of, int columns)
{
    const trace_action *first = rows_at(of, 0);
    const int has_length = columns & (ROW_COUNTED | ROW_TABLES);
    int n = 1;
    if (has_length)
        n += columns & ROW_COUNTED ? first->detail : (int)first->amount;
    else if (columns & ROW_LIST)
        n = n_listed(s, of);
    const int is_whole = has_length || !(columns & ROW_LIST) ? n <= of->n : n < of->n;
    return is_whole ? n : 0;
}

/* The first row's poll has its answer: 1 when the row is done with. */
static int is_done_with(sim *s, int id)
{
    const rank_rows *of = &s->performing->rank[id];
    const trace_action row = *rows_at(of, 0);
    const row_kind *kind = row_kind_at(&s->row_kinds, row.action);
    const int64_t answer = sim_answer(s, id);
    const int is_any = kind->is.columns & ROW_LIST, is_found = is_any ? answer >= 0 : answer != 0;
    if (!is_found && row.detail) return 0;
    if (!is_found) return is_any || of->polled >= row.amount;
    const int error = kind->found ? kind->found(s, id, &row, answer) : 0;
    return error < 0 ? error : 1;
}

/* Ends what came before the next row: a poll that has its answer, and requests that nobody will name again. 0, or an error. */
static int settle(sim *s, int id)
{
    rank_rows *of = &s->performing->rank[id];
    const int is_over = of->polled ? is_done_with(s, id) : 1;
    if (is_over < 0) return is_over;
    if (of->polled && is_over) {
        rows_drop(of, n_listed(s, of));
        of->polled = 0;
    }
    for (int i = 0; i < of->n_due; i++) sim_release(s, of->due[i]);
    of->n_due = 0;
    return 0;
}

/* Appended actions belong to the row's account, as those of a run to that of its open call. */
static void begin_row(timeline *t, const trace_action *row)
{
    t->account_at_tail = row->account;
    t->line_at_tail = row->line;
}

/* Appends rows up to one that has to be answered: 1 when there was something to do, 0 when rows are missing, or an error. */
static int proceed(sim *s, int id)
{
    rank_rows *of = &s->performing->rank[id];
    const int error = settle(s, id);
    if (error < 0) return error;
    int n_appended = 0;
    while (of->n && n_appended < ROWS_AT_ONCE && !sim_is_far_ahead(s, id)) {
        const trace_action row = *rows_at(of, 0);
        const row_kind *kind = row_kind_at(&s->row_kinds, row.action);
        const int columns = kind->is.columns, n = n_together(s, of, columns);
        if (!n) break;
        if ((columns & ROW_LIST) && !(columns & ROW_COUNTED) && (row.detail < 0 || row.detail > n)) return SIM_BAD_REQUEST;
        begin_row(&s->timelines.at[id], &row);
        const int result = kind->perform ? kind->perform(s, id, &row, n) : 0;
        if (result < 0) return result;
        if (result == ROW_ASKS) {
            of->polled++;
            return 1;
        }
        rows_drop(of, n);
        n_appended++;
        if (result == ROW_LOOKS) break;
    }
    return n_appended > 0;
}

/* ---- the outside ---- */

/* Is it an account of the rank, or 0: none? */
static int is_account_of(const sim *s, int account, int rank)
{
    const accounts *all = accounts_of(s);
    return account == 0 || (account > 0 && account <= all->n && all->at[account].rank == rank);
}

int sim_replay_begin(sim *s)
{
    performing_free(s->performing);
    s->performing = performing_new(s->timelines.n);
    if (!s->performing) return SIM_OUT_OF_MEMORY;
    s->performing->is_ordered = s->timelines.n > s->timelines.n_ranks;
    return 0;
}

int sim_replay_feed(sim *s, int n, const trace_action *rows)
{
    performing *p = s->performing;
    for (int i = 0; i < n; i++) {
        const row_kind *kind = row_kind_at(&s->row_kinds, rows[i].action);
        if (rows[i].rank < 0 || rows[i].rank >= p->n_ranks) return SIM_BAD_RANK;
        if (!kind || !is_account_of(s, rows[i].account, s->timelines.at[rows[i].rank].rank)) return SIM_BAD_REQUEST;
        const int is_done = kind->perform || kind->is.columns & ROW_PART;
        const int error = is_done ? rows_push(&p->rank[rows[i].rank], &rows[i]) : 0;
        if (error) return error;
    }
    return 0;
}

int sim_replay_next(sim *s)
{
    for (;;) {
        const int id = sim_next(s);
        if (id < 0) return id;
        const int result = proceed(s, id);
        if (result > 0) continue;
        if (result == 0) return id;
        keep_error(s, result);
        return SIM_BROKEN;
    }
}

/* Is it repeating a poll that has to succeed? One that is WAITING has not come to its poll yet. */
static int searches(const sim *s, int id)
{
    const performing *p = s->performing;
    const int state = s->timelines.at[id].state;
    return id < p->n_ranks && state != ENDED && state != WAITING && p->rank[id].polled && rows_at(&p->rank[id], 0)->detail;
}

static int is_quiet(const sim *s)
{
    if (s->network.transfers.n_live || s->devices.servers.n_under_way) return 0;
    for (int id = 0; id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        const int has_looked = timeline_probes_on(t) && t->n_sends_seen == mpi_of(s)->polling.n_sends_queued;
        if (t->state != ENDED && t->state != WAITING && !has_looked && !searches(s, id)) return 0;
    }
    return 1;
}

int sim_replay_is_in_vain(sim *s)
{
    performing *p = s->performing;
    const int64_t before = p->quiet_since;
    p->quiet_since = is_quiet(s) ? s->stats.progress + s->network.counts.ended : -1;
    if (p->quiet_since < 0) return 0;
    int n_searching = 0, n_in_vain = 0;
    for (int rank = 0; rank < p->n_ranks; rank++) {
        rank_rows *of = &p->rank[rank];
        if (!searches(s, rank)) continue;
        n_searching++;
        if (p->quiet_since != before) of->polled_before = of->polled;
        n_in_vain += of->polled >= of->polled_before + 2;
    }
    return n_searching > 0 && n_in_vain == n_searching;
}

int64_t sim_replay_left_alone(const sim *s)
{
    return s->performing->n_left_alone;
}
