#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { MANY_ROWS = 1 << 15 };

static const size_t ROW_BYTES[TRACE_TABLES] = {sizeof(trace_interval), sizeof(trace_message), sizeof(trace_action),
                                               sizeof(trace_members), sizeof(trace_mark)};

void trace_free(trace *t)
{
    if (!t) return;
    for (int k = 0; k < TRACE_TABLES; k++) free(t->table[k].row);
    free(t->of_request);
    free(t->rank);
    free(t->has_members);
    free(t);
}

/* ---- tables ---- */

/* A row more, of zeros; NULL without memory: then the world is broken. */
static void *new_row(sim *s, int table)
{
    trace_table *rows = &s->trace->table[table];
    if (rows->n == rows->room) {
        const int room = rows->room ? 2 * rows->room : 256;
        char *grown = realloc(rows->row, (size_t)room * ROW_BYTES[table]);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        rows->row = grown;
        rows->room = room;
    }
    void *row = rows->row + (size_t)rows->n++ * ROW_BYTES[table];
    if (rows->n % MANY_ROWS == 0) s->trace->is_full = 1;
    return memset(row, 0, ROW_BYTES[table]);
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

/* ---- intervals and messages ---- */

static trace_request *of_request(sim *s, int request)
{
    trace *t = s->trace;
    void *list = t->of_request;
    const int error = reach(s, &list, &t->request_room, request, sizeof *t->of_request);
    t->of_request = list;
    return error ? NULL : &t->of_request[request];
}

void trace_interval_of(sim *s, int rank, const held_time *time, int other)
{
    trace *all = s->trace;
    const trace_rank *of = &all->rank[rank];
    const double from_s = clock_outside_s(&s->clock, time->start_s), to_s = clock_outside_s(&s->clock, time->end_s);
    if (of->is_left_out || !has_dates(all, from_s, to_s)) return;
    trace_interval *row = new_row(s, TRACE_INTERVALS);
    if (!row) return;
    const int was_waiting = time->kind >= SPENT_TRANSFER;
    *row = (trace_interval){.start_s = from_s, .end_s = to_s, .rank = rank, .kind = time->kind, .account = time->account,
                            .other = other, .message = was_waiting ? of->message : -1};
}

void trace_waited(sim *s, int rank, const slot *x)
{
    const trace *all = s->trace;
    const int request = (int)(x - s->requests.at);
    const int has_message = !x->is_collective && request < all->request_room && (x->has_matched || x->is_early);
    all->rank[rank].message = has_message ? all->of_request[request].message : -1;
}

void trace_posted(sim *s, int request)
{
    trace_request *of = of_request(s, request);
    if (!of) return;
    if (s->requests.at[request].context & 1) of->name = 0; /* a collective's, which its rank has not named */
    of->message = -1;
    of->is_early = 0;
    of->posted_s = clock_outside_s(&s->clock, s->clock.now_s);
}

void trace_set_out(sim *s, int send)
{
    const slot *x = &s->requests.at[send];
    const network *net = &s->network;
    trace_request *of = of_request(s, send);
    const int source_host = s->timelines.rank[x->is.rank].host, target_host = s->timelines.rank[x->target].host;
    if (!of) return;
    of->message = s->trace->n_messages++;
    of->is_early = x->is_early;
    of->started_s = clock_outside_s(&s->clock, s->clock.now_s);
    of->alone_s = net->kind->alone_s ? net->kind->alone_s(s, net->state, source_host, target_host, x->is.bytes) : NAN;
}

void trace_arrived(sim *s, int send, int recv)
{
    trace *all = s->trace;
    const slot *from = &s->requests.at[send], *to = &s->requests.at[recv];
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
}

/* ---- actions that ranks append ---- */

int trace_name(const sim *s, int request)
{
    return request > 0 && request < s->trace->request_room ? s->trace->of_request[request].name : 0;
}

/* Its ranks, as few rows as stretches of one step. */
static void write_members(sim *s, int comm)
{
    const comms *all = &s->comms;
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
    trace *t = s->trace;
    if (comm < 0) return -1;
    const int other = comm_other(&s->comms, comm), name = comm_at(&s->comms, comm)->serial;
    const int other_name = comm_at(&s->comms, other)->serial;
    void *list = t->has_members;
    const int error = reach(s, &list, &t->comm_room, name > other_name ? name : other_name, sizeof *t->has_members);
    t->has_members = list;
    if (error || t->has_members[name]) return name;
    t->has_members[name] = t->has_members[other_name] = 1;
    write_members(s, comm);
    if (other != comm) write_members(s, other);
    return name;
}

static trace_action *row_of(sim *s, int rank, int what)
{
    if (!s->trace->has_actions) return NULL;
    trace_action *row = new_row(s, TRACE_ACTIONS);
    if (!row) return NULL;
    row->rank = rank;
    row->action = what;
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

trace_action *trace_appended(sim *s, int id, int what)
{
    const timeline *t = &s->timelines.at[id];
    trace_rank *of = &s->trace->rank[t->rank];
    of->last_poll = of->last_overhead = of->last_start = -1;
    trace_action *row = row_of(s, t->rank, what);
    if (row) row->account = t->account_at_tail;
    return row;
}

trace_action *trace_starts(sim *s, int id, int what, int request)
{
    const slot *x = &s->requests.at[request];
    trace_request *of = of_request(s, request);
    if (!of) return NULL;
    *of = (trace_request){.name = ++s->trace->rank[x->is.rank].n_requests, .message = -1};
    trace_action *row = trace_appended(s, id, what);
    if (!row) return NULL;
    row->comm = name_of_comm(s, x->is.comm);
    row->peer = x->is.peer;
    row->tag = x->is.tag;
    row->bytes = x->is.bytes;
    row->request = of->name;
    if (what == DID_SEND || what == DID_IRECV) s->trace->rank[row->rank].last_start = last_place(s->trace);
    return row;
}

void trace_wait(sim *s, int id, int request)
{
    const trace_rank *of = &s->trace->rank[s->timelines.at[id].rank];
    trace_action *row = kept_row(s->trace, of->last_start);
    if (!row || row->request != trace_name(s, request))
        trace_list(s, id, DID_WAIT, 1, &request, 0);
    else if (row->action == DID_IRECV)
        row->action = DID_RECV;
    else
        row->amount = 1; /* and where it is not over at once, it is waited for */
}

void trace_amount(sim *s, int id, int what, double amount, int64_t bytes)
{
    trace_action *row = trace_appended(s, id, what);
    if (!row) return;
    row->amount = amount;
    row->bytes = bytes;
    if (what == DID_OVERHEAD) s->trace->rank[row->rank].last_overhead = last_place(s->trace);
}

void trace_more_overhead(sim *s, int id, double seconds)
{
    trace_action *row = kept_row(s->trace, s->trace->rank[s->timelines.at[id].rank].last_overhead);
    if (row) {
        row->amount += seconds;
        return;
    }
    row = trace_appended(s, id, DID_OVERHEAD);
    if (!row) return;
    row->amount = seconds;
    row->detail = 1;
}

void trace_list(sim *s, int id, int what, int n, const int *request, int detail)
{
    for (int i = 0; i < n || i == 0; i++) {
        trace_action *row = trace_appended(s, id, i ? DID_AND : what);
        if (!row) return;
        row->request = n == 0 || request[i] < 0 ? -1 : trace_name(s, request[i]);
        row->detail = i ? 0 : detail;
    }
}

/* Its row, and those of the numbers that it reads. */
void trace_collective(sim *s, int id, trace_action *row, int comm, int schedule, int root, int64_t bytes, const rank_tables *given)
{
    row->comm = name_of_comm(s, comm);
    row->peer = root;
    row->bytes = bytes;
    row->detail = schedule;
    for (int k = 0; given && k < given->n; k++) row->amount += given->n_entries[k];
    for (int k = 0; given && k < given->n; k++) {
        for (int i = 0; i < given->n_entries[k]; i++) {
            trace_action *entry = trace_appended(s, id, DID_ENTRY);
            if (!entry) return;
            entry->detail = k;
            entry->bytes = given->table[k][i];
        }
    }
}

/* A poll that asks again, after one in vain and nothing else, is the same row. */
void trace_polled(sim *s, int id, const trace_action *poll, int is_found)
{
    trace *all = s->trace;
    const timeline *t = &s->timelines.at[id];
    trace_rank *of = &all->rank[t->rank];
    trace_action *row = kept_row(all, of->last_poll);
    const int comm = name_of_comm(s, poll->comm);
    if (row && row->action == poll->action && row->request == poll->request && row->comm == comm && row->account == t->account) {
        const int is_bound = row->peer == poll->peer && row->tag == poll->tag;
        if (!is_bound && !is_found) row = NULL;
    } else {
        row = NULL;
    }
    if (!row) {
        row = trace_appended(s, id, poll->action);
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

void trace_iprobe_until(sim *s, int id, int comm, int source, int tag)
{
    trace_action *row = trace_appended(s, id, DID_IPROBE);
    if (!row) return;
    row->comm = name_of_comm(s, comm);
    row->peer = source;
    row->tag = tag;
    row->detail = 1;
    s->trace->rank[row->rank].until = last_place(s->trace);
}

void trace_in_vain(sim *s, int id)
{
    trace_action *row = kept_row(s->trace, s->trace->rank[s->timelines.at[id].rank].until);
    if (row) row->amount++;
}

void trace_matched(sim *s, int recv)
{
    const slot *to = &s->requests.at[recv];
    if ((to->context & 1) || to->is.peer != SIM_ANY) return;
    trace_action *row = row_of(s, to->is.rank, DID_TOOK);
    if (!row) return;
    row->request = trace_name(s, recv);
    row->comm = name_of_comm(s, to->is.comm);
    row->peer = to->is.matched_source;
    row->tag = to->is.matched_tag;
}

void trace_released(sim *s, int request)
{
    const slot *x = &s->requests.at[request];
    const int name = trace_name(s, request);
    if (x->is.is_done || !name) return;
    trace_rank *of = &s->trace->rank[x->is.rank];
    of->last_poll = of->last_overhead = of->last_start = -1;
    trace_action *row = row_of(s, x->is.rank, DID_FREE);
    if (row) row->request = name;
}

void trace_region(sim *s, int id, int region, int is_begin)
{
    trace_mark *row = new_row(s, TRACE_REGIONS);
    const double now_s = clock_outside_s(&s->clock, s->clock.now_s);
    if (row) *row = (trace_mark){.date_s = now_s, .rank = s->timelines.at[id].rank, .region = region, .is_begin = is_begin};
}

int trace_holds(sim *s, int id, int send)
{
    trace_request *of = of_request(s, send);
    return of ? (of->held_name = ++s->trace->rank[s->timelines.at[id].rank].n_requests) : 0;
}

int trace_held_name(const sim *s, int send)
{
    return s->trace->of_request[send].held_name;
}

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
    for (int rank = 0; rank < n_ranks; rank++)
        t->rank[rank] = (trace_rank){.message = -1, .last_poll = -1, .last_overhead = -1, .last_start = -1, .until = -1,
                                     .is_left_out = ranks && !ranks[rank]};
    trace_free(s->trace);
    s->trace = t;
    name_of_comm(s, SIM_COMM_WORLD);
    return s->error == SIM_OUT_OF_MEMORY ? s->error : 0;
}

int sim_trace_rows(const sim *s, int table)
{
    return s->trace && table >= 0 && table < TRACE_TABLES ? s->trace->table[table].n : 0;
}

enum { ROWS_IN_CACHE = 256 };

void sim_trace_take(sim *s, int table, int n, const int *offset, const int *bytes, char *const *column)
{
    const int n_rows = sim_trace_rows(s, table);
    for (int from = 0; from < n_rows; from += ROWS_IN_CACHE) {
        const int to = n_rows - from < ROWS_IN_CACHE ? n_rows : from + ROWS_IN_CACHE;
        for (int k = 0; k < n; k++) {
            const char *at = s->trace->table[table].row + (size_t)from * ROW_BYTES[table] + offset[k];
            char *out = column[k] + (size_t)from * (size_t)bytes[k];
            for (int i = from; i < to; i++, at += ROW_BYTES[table], out += bytes[k]) {
                if (bytes[k] == 8)
                    memcpy(out, at, 8);
                else
                    memcpy(out, at, 4);
            }
        }
    }
    if (!n_rows) return;
    if (table == TRACE_ACTIONS) s->trace->n_actions_taken += n_rows;
    s->trace->table[table].n = 0;
}
