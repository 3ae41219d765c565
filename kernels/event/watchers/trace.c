#include "watchers/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "watchers/account.h"

enum { MANY_ROWS = 1 << 15 };

static const size_t SIZE_OF_ROW[TRACE_TABLES] = {
    sizeof(trace_interval), sizeof(trace_message), sizeof(trace_action), sizeof(trace_members), sizeof(trace_mark),
    sizeof(trace_thread_mark), sizeof(trace_interval), sizeof(trace_message_threads), sizeof(trace_wake_up)};

/* NULL: the world has none. */
static trace *trace_of(const sim *s)
{
    return accounts_of(s)->trace;
}

/* ---- tables ---- */

/* A row more, of zeros; NULL without memory: then the world is broken. */
static void *new_row(sim *s, int table)
{
    trace_table *rows = &trace_of(s)->table[table];
    if (rows->n == rows->room) {
        const int room = rows->room ? 2 * rows->room : 256;
        char *grown = realloc(rows->row, (size_t)room * SIZE_OF_ROW[table]);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        rows->row = grown;
        rows->room = room;
    }
    void *row = rows->row + (size_t)rows->n++ * SIZE_OF_ROW[table];
    if (rows->n % MANY_ROWS == 0) s->is_interrupted = 1;
    return memset(row, 0, SIZE_OF_ROW[table]);
}

/* Room for entry `index` of a list, of zeros: 0, or SIM_OUT_OF_MEMORY, which breaks the world. */
static int reach(sim *s, void **list, int *room, int index, size_t bytes)
{
    if (index < *room) return 0;
    int grown_room = *room ? 2 * *room : 64;
    while (grown_room <= index) grown_room *= 2;
    char *grown = realloc(*list, (size_t)grown_room * bytes);
    if (!grown) {
        keep_error(s, SIM_OUT_OF_MEMORY);
        return SIM_OUT_OF_MEMORY;
    }
    memset(grown + (size_t)*room * bytes, 0, (size_t)(grown_room - *room) * bytes);
    *list = grown;
    *room = grown_room;
    return 0;
}

static int has_dates(const trace *t, double start_s, double end_s)
{
    return end_s >= t->first_s && start_s <= t->last_s;
}

/* ---- threads ---- */

static const trace_wait NOT_WAITED = {.message = -1, .by = -1};

/* Number of a timeline's thread; 0: it is its rank's own program, or left out. */
static int thread_of(const sim *s, const timeline *t)
{
    const trace *all = trace_of(s);
    const ptrdiff_t id = t - s->timelines.at;
    return timeline_is_first(t) || id >= all->thread_room ? 0 : all->thread[id].number;
}

static trace_wait *wait_of(const sim *s, const timeline *t)
{
    trace *all = trace_of(s);
    const ptrdiff_t id = t - s->timelines.at;
    return timeline_is_first(t) || id >= all->thread_room ? &all->rank[t->rank].wait : &all->thread[id].wait;
}

static void mark_thread(sim *s, int id, int is_begin)
{
    const timeline *t = &s->timelines.at[id];
    trace_thread_mark *row = new_row(s, TRACE_THREADS);
    if (!row) return;
    *row = (trace_thread_mark){.date_s = clock_outside_s(&s->clock, s->clock.now_s), .thread = thread_of(s, t), .rank = t->rank,
                               .timeline = id, .is_begin = is_begin};
}

/* A timeline begins. */
static void begin_thread(sim *s, trace *all, int id)
{
    const int rank = s->timelines.at[id].rank;
    void *list = all->thread;
    const int error = reach(s, &list, &all->thread_room, id, sizeof *all->thread);
    all->thread = list;
    if (error) return;
    all->thread[id].wait = NOT_WAITED;
    if (all->rank[rank].is_left_out) return;
    all->thread[id].number = ++all->n_threads;
    mark_thread(s, id, 1);
}

void trace_ended(sim *s, const timeline *t)
{
    if (thread_of(s, t)) mark_thread(s, (int)(t - s->timelines.at), 0);
}

static void write_wake_up(sim *s, const timeline *t, double date_s, int by)
{
    const trace *all = trace_of(s);
    const timeline *from = &s->timelines.at[by];
    if (all->rank[t->rank].is_left_out || all->rank[from->rank].is_left_out || !has_dates(all, date_s, date_s)) return;
    trace_wake_up *row = new_row(s, TRACE_WAKE_UPS);
    if (!row) return;
    *row = (trace_wake_up){.date_s = date_s, .rank = t->rank, .thread = thread_of(s, t), .by_rank = from->rank,
                           .by_thread = thread_of(s, from)};
}

static void woken(sim *s, void *own, int id, int by)
{
    const timeline *t = &s->timelines.at[id];
    if (t->n) {
        wait_of(s, t)->by = by;
        return;
    }
    if (!timeline_is_first(t)) begin_thread(s, own, id);
    if (by >= 0) write_wake_up(s, t, clock_outside_s(&s->clock, s->clock.now_s), by);
}

/* Timeline `by` has left what only one may enter; `id` goes in. */
static void let_in(sim *s, void *own, int id, int by)
{
    (void)own;
    if (thread_of(s, &s->timelines.at[by])) wait_of(s, &s->timelines.at[id])->by = by;
}

/* The timeline that entered a complete collective last, if that is a thread; else -1. */
static int last_thread(const sim *s, int id)
{
    const instance *all_of = id ? &mpi_of(s)->comms.instances.at[id] : NULL;
    if (!all_of || isinf(all_of->complete_s)) return -1;
    return thread_of(s, &s->timelines.at[all_of->last_timeline]) ? all_of->last_timeline : -1;
}

/* The thread that posts a request now, or 0. Nobody's turn: what its rank has started goes on by itself. */
static int poster_of(const sim *s, const slot *x)
{
    const timelines *all = &s->timelines;
    if (!trace_of(s)->n_threads) return 0;
    const int id = x->made_by ? mpi_of(s)->requests.at[x->made_by].run->timeline
                              : all->at_turn < all->n_turn ? all->turn[all->at_turn] : -1;
    return id >= 0 && all->at[id].rank == x->is.rank ? thread_of(s, &all->at[id]) : 0;
}

/* ---- intervals and messages ---- */

static trace_request *of_request(sim *s, int request)
{
    trace *t = trace_of(s);
    void *list = t->of_request;
    const int error = reach(s, &list, &t->request_room, request, sizeof *t->of_request);
    t->of_request = list;
    return error ? NULL : &t->of_request[request];
}

void trace_interval_of(sim *s, const timeline *t, const held_time *time, int other)
{
    trace *all = trace_of(s);
    const int thread = thread_of(s, t);
    const trace_wait *wait = wait_of(s, t);
    const double from_s = clock_outside_s(&s->clock, time->start_s), to_s = clock_outside_s(&s->clock, time->end_s);
    if (all->rank[t->rank].is_left_out || !has_dates(all, from_s, to_s)) return;
    trace_interval *row = new_row(s, thread ? TRACE_THREAD_INTERVALS : TRACE_INTERVALS);
    if (!row) return;
    const int was_waiting = time->kind >= SPENT_TRANSFER;
    *row = (trace_interval){.start_s = from_s, .end_s = to_s, .power_w = time->above_idle_j / (time->end_s - time->start_s),
                            .location = thread ? thread : t->rank, .kind = time->kind, .account = time->account, .other = other,
                            .message = was_waiting ? wait->message : -1};
    if (wait->by >= 0 && (other >= 0 || time->kind == SPENT_SLEEPING)) write_wake_up(s, t, to_s, wait->by);
}

void trace_waited(sim *s, const timeline *t, const slot *x)
{
    const trace *all = trace_of(s);
    const int request = (int)(x - mpi_of(s)->requests.at), instance = x->is_collective ? x->run->instance : x->instance;
    const int has_message = !x->is_collective && request < all->request_room && (x->has_matched || x->is_early);
    *wait_of(s, t) = (trace_wait){.message = has_message ? all->of_request[request].message : -1,
                                  .by = all->n_threads ? last_thread(s, instance) : -1};
}

void trace_has_waited(sim *s, const timeline *t)
{
    *wait_of(s, t) = NOT_WAITED;
}

static void posted(sim *s, void *own, int request)
{
    (void)own;
    trace_request *of = of_request(s, request);
    if (!of) return;
    if (mpi_of(s)->requests.at[request].context & 1) of->name = 0; /* a collective's, which its rank has not named */
    of->message = -1;
    of->is_early = 0;
    of->thread = poster_of(s, &mpi_of(s)->requests.at[request]);
    of->posted_s = clock_outside_s(&s->clock, s->clock.now_s);
}

static void set_out(sim *s, void *own, int id)
{
    trace *all = own;
    const transfer *t = transfer_at(s, id);
    const int send = protocol_send_of(t);
    const network *net = &s->network;
    trace_request *of = send ? of_request(s, send) : NULL;
    if (!of) return;
    const slot *x = &mpi_of(s)->requests.at[send];
    of->message = all->n_messages++;
    of->is_early = x->is_early;
    of->started_s = clock_outside_s(&s->clock, s->clock.now_s);
    of->alone_s = net->kind->alone_s ? net->kind->alone_s(s, net->state, t->source_host, t->target_host, t->bytes) : NAN;
}

static void received(sim *s, void *own, int send, int recv)
{
    trace *all = own;
    const slot *from = &mpi_of(s)->requests.at[send], *to = &mpi_of(s)->requests.at[recv];
    const trace_request *sent = &all->of_request[send];
    trace_request *received = &all->of_request[recv];
    const double now_s = clock_outside_s(&s->clock, s->clock.now_s);
    received->message = sent->message;
    if (all->rank[from->is.rank].is_left_out && all->rank[to->is.rank].is_left_out) return;
    if (!has_dates(all, fmin(sent->posted_s, received->posted_s), now_s)) return;
    trace_message *row = new_row(s, TRACE_MESSAGES);
    if (!row) return;
    *row = (trace_message){.message = sent->message, .bytes = from->is.bytes, .send_posted_s = sent->posted_s,
                           .receive_posted_s = received->posted_s, .started_s = sent->is_early ? sent->started_s : NAN,
                           .ended_s = now_s, .alone_s = sent->alone_s, .source = from->is.rank, .target = to->is.rank,
                           .tag = from->is.tag, .is_inner = from->context & 1, .send_account = from->account,
                           .receive_account = to->account};
    if (!sent->thread && !received->thread) return;
    trace_message_threads *threads = new_row(s, TRACE_THREAD_MESSAGES);
    if (!threads) return;
    *threads = (trace_message_threads){.message = sent->message, .send_thread = sent->thread, .receive_thread = received->thread};
}

/* ---- actions that ranks append ---- */

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
        trace_members *row = new_row(s, TRACE_COMMS);
        if (!row) return;
        *row = (trace_members){.comm = comm_at(all, comm)->serial, .other = comm_at(all, comm_other(all, comm))->serial,
                               .number = comm, .first = first, .step = step, .n = to - from};
    }
}

/* A communicator is written when it is named first. */
static int name_of_comm(sim *s, int comm)
{
    mpi_state *mpi = mpi_of(s);
    trace *t = trace_of(s);
    if (comm < 0) return -1;
    const int other = comm_other(&mpi->comms, comm), name = comm_at(&mpi->comms, comm)->serial;
    const int other_name = comm_at(&mpi->comms, other)->serial;
    void *list = t->has_members;
    const int error = reach(s, &list, &t->comm_room, name > other_name ? name : other_name, sizeof *t->has_members);
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
    trace_action *row = number < 0 ? NULL : new_row(s, TRACE_ACTIONS);
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
    trace_request *of = of_request(s, request);
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
    if (columns & ROW_COMM) row->comm = name_of_comm(s, from->comm);
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

/* A wait may follow the start of its request at once. */
static void wait_for(sim *s, int id, const appended_action *did)
{
    const trace_rank *of = &trace_of(s)->rank[s->timelines.at[id].rank];
    trace_action *row = kept_row(trace_of(s), of->last_start);
    if (!row || row->request != name_of(s, did->row.request)) {
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
    const int comm = name_of_comm(s, poll->comm), is_same = row && row_kind_at(&s->row_kinds, row->action) == kind;
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

static void matched(sim *s, void *own, int send, int recv)
{
    (void)own, (void)send;
    const slot *to = &mpi_of(s)->requests.at[recv];
    if ((to->context & 1) || to->is.peer != SIM_ANY) return;
    trace_action *row = row_of(s, to->is.rank, &took_row);
    if (!row) return;
    row->request = name_of(s, recv);
    row->comm = name_of_comm(s, to->is.comm);
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

void trace_region(sim *s, int id, int region, int is_begin)
{
    trace_mark *row = trace_of(s) ? new_row(s, TRACE_REGIONS) : NULL;
    const double now_s = clock_outside_s(&s->clock, s->clock.now_s);
    if (row) *row = (trace_mark){.date_s = now_s, .rank = s->timelines.at[id].rank, .region = region, .is_begin = is_begin,
                               .thread = thread_of(s, &s->timelines.at[id])};
}

/* A matched probe has found a send: the receiver's name for it. */
static int hold(sim *s, int id, int send)
{
    trace_request *of = of_request(s, send);
    return of ? (of->held_name = ++trace_of(s)->rank[s->timelines.at[id].rank].n_requests) : 0;
}

static void appended(sim *s, void *own, int id, const appended_action *did)
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

static void polled(sim *s, void *own, int id, const poll_question *asked, int is_found)
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

static const trace_rank NEW_RANK = {.wait = {.message = -1, .by = -1}, .last_poll = -1, .last_overhead = -1, .last_start = -1,
                                    .until = -1};

static void added(sim *s, void *own, int rank)
{
    trace *all = own;
    void *list = all->rank;
    const int error = reach(s, &list, &all->rank_room, rank, sizeof *all->rank);
    all->rank = list;
    if (error) return;
    all->rank[rank] = NEW_RANK;
    all->rank[rank].is_left_out = all->has_some_ranks != 0;
}

static void free_trace(sim *s, void *own)
{
    trace *t = own;
    for (int k = 0; k < TRACE_TABLES; k++) free(t->table[k].row);
    free(t->of_request);
    free(t->rank);
    free(t->thread);
    free(t->has_members);
    free(t);
    accounts_of(s)->trace = NULL;
}

static const watcher trace_watcher = {.added = added, .appended = appended, .posted = posted, .matched = matched,
                                      .set_out = set_out, .received = received, .let_in = let_in, .woken = woken, .polled = polled,
                                      .free = free_trace};

/* ---- queries from outside ---- */

int sim_trace_begin(sim *s, double first_s, double last_s, const uint8_t *ranks)
{
    const int n_ranks = s->timelines.n_ranks;
    trace *t = calloc(1, sizeof *t);
    if (t) t->rank = malloc((size_t)(n_ranks > 0 ? n_ranks : 1) * sizeof *t->rank);
    if (!t || !t->rank) {
        free(t);
        return SIM_OUT_OF_MEMORY;
    }
    t->first_s = first_s;
    t->last_s = last_s;
    t->has_actions = !ranks && first_s <= 0 && isinf(last_s);
    t->rank_room = n_ranks;
    t->has_some_ranks = ranks != NULL;
    for (int rank = 0; rank < n_ranks; rank++) {
        t->rank[rank] = NEW_RANK;
        t->rank[rank].is_left_out = ranks && !ranks[rank];
    }
    const int error = watch_begin(s, &trace_watcher, t);
    if (error < 0) {
        free_trace(s, t);
        return error;
    }
    accounts_of(s)->trace = t;
    name_of_comm(s, SIM_COMM_WORLD);
    return s->error == SIM_OUT_OF_MEMORY ? s->error : 0;
}

int sim_trace_rows(const sim *s, int table)
{
    return trace_of(s) && table >= 0 && table < TRACE_TABLES ? trace_of(s)->table[table].n : 0;
}

enum { ROWS_IN_CACHE = 256 };

void sim_trace_take(sim *s, int table, int n, const int *offset, const int *bytes, char *const *column)
{
    const int n_rows = sim_trace_rows(s, table);
    for (int from = 0; from < n_rows; from += ROWS_IN_CACHE) {
        const int to = n_rows - from < ROWS_IN_CACHE ? n_rows : from + ROWS_IN_CACHE;
        for (int k = 0; k < n; k++) {
            const char *at = trace_of(s)->table[table].row + (size_t)from * SIZE_OF_ROW[table] + offset[k];
            char *out = column[k] + (size_t)from * (size_t)bytes[k];
            for (int i = from; i < to; i++, at += SIZE_OF_ROW[table], out += bytes[k]) {
                if (bytes[k] == 8)
                    memcpy(out, at, 8);
                else
                    memcpy(out, at, 4);
            }
        }
    }
    if (!n_rows) return;
    if (table == TRACE_ACTIONS) trace_of(s)->n_actions_taken += n_rows;
    trace_of(s)->table[table].n = 0;
}
