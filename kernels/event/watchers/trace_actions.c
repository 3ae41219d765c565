#include "mpi/mpi_world.h"
#include "watchers/trace_internal.h"

/* Rows of actions have the columns of their kinds (row_kind.h), and names instead of numbers. A rank's last row may still
 * change: an overhead grows, a wait joins the start before it, and a poll that asks again counts in the row before. */

/* The name that its rank has given to a request; 0: none. */
static int name_of(const sim *s, int request)
{
    return request > 0 && request < trace_of(s)->request_room ? trace_of(s)->of_request[request].name : 0;
}

/* Its ranks, as few rows as stretches of one step. */
static void write_members(sim *s, int comm)
{
    const comms *all = &mpi_of(s)->comms;
    const int n = comm_size(all, comm);
    for (int from = 0, to; from < n; from = to) {
        const int first = comm_world_rank(all, comm, from);
        const int step = from + 1 < n ? comm_world_rank(all, comm, from + 1) - first : 1;
        for (to = from + 1; to < n && comm_world_rank(all, comm, to) == first + (to - from) * step;) to++;
        trace_members *row = trace_new_row(s, TRACE_COMMS);
        if (!row) return;
        *row = (trace_members){.comm = comm_at(all, comm)->serial, .other = comm_at(all, comm_other(all, comm))->serial,
                               .number = comm, .first = first, .step = step, .n = to - from};
    }
}

int trace_name_of_comm(sim *s, int comm)
{
    mpi_state *mpi = mpi_of(s);
    trace *t = trace_of(s);
    if (comm < 0) return -1;
    const int other = comm_other(&mpi->comms, comm), name = comm_at(&mpi->comms, comm)->serial;
    const int other_name = comm_at(&mpi->comms, other)->serial;
    void *list = t->has_members;
    const int error = trace_reach(s, &list, &t->comm_room, name > other_name ? name : other_name, sizeof *t->has_members);
    t->has_members = list;
    if (error || t->has_members[name]) return name;
    t->has_members[name] = t->has_members[other_name] = 1;
    write_members(s, comm);
    if (other != comm) write_members(s, other);
    return name;
}

/* Rows that belong to the row before them, and those that tell of no action. */
const row_kind and_row = {{"and", "one more of the list of the row before", "", ROW_PART | ROW_REQUEST}, 0, 0, 0};
const row_kind entry_row = {{"entry", "a number in the tables of the collective before: `detail` says which table; in `bytes`",
                             "table", ROW_PART | ROW_BYTES | ROW_DETAIL}, 0, 0, 0};
const row_kind took_row = {{"took", "what a receive from any source took: `peer`, `tag`; of `request`", "",
                            ROW_COMM | ROW_PEER | ROW_TAG | ROW_REQUEST}, 0, 0, 0};

static trace_action *row_of(sim *s, int rank, const row_kind *kind)
{
    if (!trace_of(s)->has_actions || s->shared_cores.n) return NULL;
    const int number = sim_row_kind_number(s, kind);
    if (number < 0) keep_error(s, number);
    trace_action *row = number < 0 ? NULL : trace_new_row(s, TRACE_ACTIONS);
    if (!row) return NULL;
    row->rank = rank;
    row->action = number;
    row->comm = -1;
    return row;
}

/* Rows of actions have places, counted from the trace's begin; those that the outside has taken cannot be changed. */
static int64_t last_place(const trace *t)
{
    return t->n_actions_taken + t->table[TRACE_ACTIONS].n - 1;
}

static trace_action *kept_row(const trace *t, int64_t place)
{
    if (place < 0 || place < t->n_actions_taken) return NULL;
    return (trace_action *)(void *)t->table[TRACE_ACTIONS].row + (place - t->n_actions_taken);
}

/* A row of an appended action; it may be filled in until the next one. NULL: there is none to be written, or no memory. */
static trace_action *new_action(sim *s, int id, const row_kind *kind)
{
    const timeline *t = &s->timelines.at[id];
    trace_rank *of = &trace_of(s)->rank[t->rank];
    of->last_poll = of->last_overhead = of->last_start = -1;
    trace_action *row = row_of(s, t->rank, kind);
    if (row) row->account = t->account_at_tail;
    return row;
}

static void write_list(sim *s, int id, const row_kind *kind, int n, const int *request, int detail)
{
    for (int i = 0; i < n || i == 0; i++) {
        trace_action *row = new_action(s, id, i ? &and_row : kind);
        if (!row) return;
        row->request = n == 0 || request[i] < 0 ? -1 : name_of(s, request[i]);
        row->detail = i ? 0 : detail;
    }
}

static void write_entries(sim *s, int id, const rank_tables *given)
{
    for (int k = 0; k < given->n; k++) {
        for (int i = 0; i < given->n_entries[k]; i++) {
            trace_action *entry = new_action(s, id, &entry_row);
            if (!entry) return;
            entry->detail = k;
            entry->bytes = given->table[k][i];
        }
    }
}

static int n_entries(const rank_tables *given)
{
    int n = 0;
    for (int k = 0; given && k < given->n; k++) n += given->n_entries[k];
    return n;
}

/* Gives the request that starts a name of its rank's. 0: there is no memory. */
static int give_name(sim *s, int id, int request)
{
    trace_request *of = trace_request_of(s, request);
    if (!of) return 0;
    *of = (trace_request){.name = ++trace_of(s)->rank[s->timelines.at[id].rank].n_requests, .message = -1};
    return of->name;
}

/* The columns that the kind has. */
static void write_row(sim *s, int id, const appended_action *did)
{
    const trace_action *from = &did->row;
    const row_kind *kind = did->kind;
    const int columns = kind->is.columns, name = columns & ROW_STARTS ? give_name(s, id, from->request) : 0;
    trace_action *row = columns & ROW_STARTS && !name ? NULL : new_action(s, id, kind);
    if (!row) return;
    if (columns & ROW_COMM) row->comm = trace_name_of_comm(s, from->comm);
    if (columns & ROW_PEER) row->peer = from->peer;
    if (columns & ROW_TAG) row->tag = from->tag;
    if (columns & ROW_BYTES) row->bytes = from->bytes;
    if (columns & ROW_AMOUNT) row->amount = from->amount;
    if (columns & ROW_REQUEST) row->request = name ? name : name_of(s, from->request);
    if (columns & ROW_DETAIL) row->detail = columns & ROW_HELD ? trace_of(s)->of_request[from->detail].held_name : from->detail;
    if (kind->awaited) trace_of(s)->rank[row->rank].last_start = last_place(trace_of(s));
    if (columns & ROW_POLL) trace_of(s)->rank[row->rank].until = last_place(trace_of(s));
    if (columns & ROW_TABLES) row->amount = n_entries(did->given);
    if (columns & ROW_TABLES && did->given) write_entries(s, id, did->given);
}

/* An amount; where `detail` says so, it is added to the last row. */
static void add_up(sim *s, int id, const appended_action *did)
{
    trace *all = trace_of(s);
    trace_rank *of = &all->rank[s->timelines.at[id].rank];
    trace_action *row = did->row.detail ? kept_row(all, of->last_overhead) : NULL;
    if (row) {
        row->amount += did->row.amount;
        return;
    }
    const int before = all->table[TRACE_ACTIONS].n;
    write_row(s, id, did);
    if (!did->row.detail && all->table[TRACE_ACTIONS].n > before) of->last_overhead = last_place(all);
}

/* A wait may follow the start of its request at once, in the same call. */
static void wait_for(sim *s, int id, const appended_action *did)
{
    const trace_rank *of = &trace_of(s)->rank[s->timelines.at[id].rank];
    trace_action *row = kept_row(trace_of(s), of->last_start);
    const int is_same_call = row && row->account == s->timelines.at[id].account_at_tail;
    if (!is_same_call || row->request != name_of(s, did->row.request)) {
        write_row(s, id, did);
        return;
    }
    const row_kind *was = row_kind_at(&s->row_kinds, row->action);
    if (was->awaited == was)
        row->amount = 1; /* and where it is not over at once, it is waited for */
    else
        row->action = sim_row_kind_number(s, was->awaited);
}

/* A poll that asks again, after one in vain and nothing else, is the same row. */
static void write_poll(sim *s, int id, const row_kind *kind, const trace_action *poll, int is_found)
{
    trace *all = trace_of(s);
    const timeline *t = &s->timelines.at[id];
    trace_rank *of = &all->rank[t->rank];
    trace_action *row = kept_row(all, of->last_poll);
    const int comm = trace_name_of_comm(s, poll->comm), is_same = row && row_kind_at(&s->row_kinds, row->action) == kind;
    if (is_same && row->request == poll->request && row->comm == comm && row->account == t->account) {
        const int is_bound = row->peer == poll->peer && row->tag == poll->tag;
        if (!is_bound && !is_found) row = NULL;
    } else {
        row = NULL;
    }
    if (!row) {
        row = new_action(s, id, kind);
        if (!row) return;
        row->account = t->account;
        row->request = poll->request;
        row->comm = comm;
        of->last_poll = last_place(all);
    }
    row->peer = poll->peer;
    row->tag = poll->tag;
    row->detail = is_found;
    row->amount += !is_found;
    if (is_found) of->last_poll = -1;
}

/* A probe that is repeated until it finds something has found nothing. */
static void count_probe(sim *s, int id)
{
    trace_action *row = kept_row(trace_of(s), trace_of(s)->rank[s->timelines.at[id].rank].until);
    if (row) row->amount++;
}

void trace_matched(sim *s, void *own, int send, int recv)
{
    (void)own, (void)send;
    const slot *to = &mpi_of(s)->requests.at[recv];
    if ((to->context & 1) || to->is.peer != SIM_ANY) return;
    trace_action *row = row_of(s, to->is.rank, &took_row);
    if (!row) return;
    row->request = name_of(s, recv);
    row->comm = trace_name_of_comm(s, to->is.comm);
    row->peer = to->is.matched_source;
    row->tag = to->is.matched_tag;
}

/* Nobody will ask for the request: no timeline says so. */
static void release(sim *s, const row_kind *kind, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    const int name = name_of(s, request);
    if (x->is.is_done || !name) return;
    trace_rank *of = &trace_of(s)->rank[x->is.rank];
    of->last_poll = of->last_overhead = of->last_start = -1;
    trace_action *row = row_of(s, x->is.rank, kind);
    if (row) row->request = name;
}

/* A matched probe has found a send: the receiver's name for it. */
static int hold(sim *s, int id, int send)
{
    trace_request *of = trace_request_of(s, send);
    return of ? (of->held_name = ++trace_of(s)->rank[s->timelines.at[id].rank].n_requests) : 0;
}

void trace_appended(sim *s, void *own, int id, const appended_action *did)
{
    const row_kind *kind = did->kind;
    const int columns = kind->is.columns;
    (void)own;
    if (id < 0)
        release(s, kind, did->row.request);
    else if (columns & ROW_AWAITS)
        wait_for(s, id, did);
    else if (columns & ROW_LIST)
        write_list(s, id, kind, did->n, did->request, did->row.detail);
    else if (columns & ROW_ADDS)
        add_up(s, id, did);
    else
        write_row(s, id, did);
}

void trace_polled(sim *s, void *own, int id, const poll_question *asked, int is_found)
{
    const timeline *t = &s->timelines.at[id];
    (void)own;
    if (!asked) return;
    const action *a = &t->queue[t->first];
    const row_kind *kind = a->kind->row;
    if (a->kind->nature == ACTION_POLL_LOOP) {
        if (!is_found) count_probe(s, id);
        return;
    }
    if (!is_found && a->kind->nature == ACTION_REPEATED_POLL) return;
    if (kind->is.columns & ROW_LIST) {
        write_list(s, id, kind, a->wait.n, a->wait.list, (int)t->answer + 1);
        return;
    }
    trace_action poll = {.comm = -1};
    if (kind->is.columns & ROW_COMM)
        poll = (trace_action){.comm = asked->comm, .peer = asked->source, .tag = asked->tag};
    else
        poll.request = name_of(s, asked->request);
    if (is_found && kind->is.columns & ROW_HOLDS) poll.request = hold(s, id, (int)t->answer);
    write_poll(s, id, kind, &poll, is_found);
}
