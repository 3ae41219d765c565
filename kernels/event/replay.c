#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { ROWS_AT_ONCE = 64 };

void replay_free(replay *r)
{
    if (!r) return;
    for (int rank = 0; r->rank && rank < r->n_ranks; rank++) {
        free(r->rank[rank].row);
        free(r->rank[rank].due);
    }
    free(r->rank);
    free(r->name);
    free(r->latch);
    free(r->list);
    free(r->entry);
    free(r);
}

/* Room for n: 0, or SIM_OUT_OF_MEMORY. */
static int reserve(void **list, int *room, int n, size_t bytes)
{
    if (n <= *room) return 0;
    int grown_room = *room ? 2 * *room : 16;
    while (grown_room < n) grown_room *= 2;
    void *grown = realloc(*list, (size_t)grown_room * bytes);
    if (!grown) return SIM_OUT_OF_MEMORY;
    *list = grown;
    *room = grown_room;
    return 0;
}

/* ---- names of requests ---- */

static uint64_t key_of(int rank, int name)
{
    return (uint64_t)(uint32_t)rank << 32 | (uint32_t)name;
}

static uint32_t place_of(const replay *r, uint64_t key)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & ((uint32_t)r->name_room - 1);
}

static uint32_t find(const replay *r, uint64_t key)
{
    uint32_t at = place_of(r, key);
    while (r->name[at].key && r->name[at].key != key) at = (at + 1) & ((uint32_t)r->name_room - 1);
    return at;
}

static int keep_name(replay *r, int rank, int name, int number)
{
    if (2 * (r->n_names + 1) > r->name_room) {
        const int room = r->name_room ? 2 * r->name_room : 256, before_room = r->name_room;
        replay_name *before = r->name, *grown = calloc((size_t)room, sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        r->name = grown;
        r->name_room = room;
        for (int i = 0; i < before_room; i++)
            if (before[i].key) r->name[find(r, before[i].key)] = before[i];
        free(before);
    }
    const uint32_t at = find(r, key_of(rank, name));
    r->n_names += !r->name[at].key;
    r->name[at] = (replay_name){key_of(rank, name), number};
    return 0;
}

/* The request, or 0. */
static int known(const replay *r, int rank, int name)
{
    return r->n_names && name > 0 ? r->name[find(r, key_of(rank, name))].number : 0;
}

/* Removes a name. Entries behind it move up, so that each is found from its own place on. */
static void forget(replay *r, int rank, int name)
{
    if (!known(r, rank, name)) return;
    const uint32_t mask = (uint32_t)r->name_room - 1;
    uint32_t hole = find(r, key_of(rank, name)), at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (!r->name[at].key) break;
        if (((at - place_of(r, r->name[at].key)) & mask) < ((at - hole) & mask)) continue;
        r->name[hole] = r->name[at];
        hole = at;
    }
    r->name[hole] = (replay_name){0};
    r->n_names--;
}

static int due(replay_rank *of, int request)
{
    void *list = of->due;
    const int error = reserve(&list, &of->due_room, of->n_due + 1, sizeof *of->due);
    of->due = list;
    if (!error) of->due[of->n_due++] = request;
    return error;
}

/* The request is over when the timeline is named next: nobody will ask for it again. */
static int over(replay *r, int rank, int name, int request)
{
    forget(r, rank, name);
    return due(&r->rank[rank], request);
}

/* ---- rows ---- */

static trace_action *row_at(replay_rank *of, int i)
{
    return &of->row[(of->first + i) & (of->room - 1)];
}

static void drop_rows(replay_rank *of, int n)
{
    of->first = (of->first + n) & (of->room - 1);
    of->n -= n;
}

static int push(replay_rank *of, const trace_action *row)
{
    if (of->n == of->room) {
        const int room = of->room ? 2 * of->room : 16;
        trace_action *grown = malloc((size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        for (int i = 0; i < of->n; i++) grown[i] = *row_at(of, i);
        free(of->row);
        of->row = grown;
        of->first = 0;
        of->room = room;
    }
    of->n++;
    *row_at(of, of->n - 1) = *row;
    return 0;
}

/* Number of rows that belong together, from the first one on. */
static int n_together(const trace_action *row)
{
    switch (row->action) {
    case DID_WAIT_ALL:
    case DID_COLLECTIVE:
    case DID_START: return 1 + (row->action == DID_WAIT_ALL ? row->detail : (int)row->amount);
    default: return 1;
    }
}

/* Does the answer to the row decide the next one? */
static int is_asked(const trace_action *row)
{
    const int action = row->action;
    return action == DID_TEST || action == DID_TEST_ANY || (action == DID_IPROBE && !row->detail) || action == DID_IMPROBE ||
           action == DID_GET_STATUS || action == DID_MPROBE;
}

/* ---- appending them ---- */

static int send(sim *s, int id, const trace_action *row)
{
    replay *r = s->replay;
    const int blocks = row->action == DID_SEND, is_waited_for = row->amount > 0;
    const int request = sim_append_send(s, id, row->comm, row->peer, row->tag, row->bytes, row->detail, blocks);
    if (request < 0) return request;
    if (s->requests.at[request].is.is_detached && row->detail != SEND_BUFFERED) return 0;
    if (!is_waited_for) return keep_name(r, id, row->request, request);
    if (blocks) {
        const int error = sim_append_wait(s, id, request);
        return error < 0 ? error : due(&r->rank[id], request);
    }
    r->n_left_alone++;
    sim_release(s, request);
    return 0;
}

static int receive(sim *s, int id, const trace_action *row)
{
    replay *r = s->replay;
    const int held = row->action == DID_IRECV_HELD ? known(r, id, row->detail) : 0;
    const int request = held ? sim_append_mrecv(s, id, held, row->bytes)
                             : sim_append_recv(s, id, row->comm, row->peer, row->tag, row->bytes);
    if (held) forget(r, id, row->detail);
    if (request < 0) return request;
    if (row->action != DID_RECV) return keep_name(r, id, row->request, request);
    const int error = sim_append_wait(s, id, request);
    return error < 0 ? error : due(&r->rank[id], request);
}

static int wait_for(sim *s, int id, const trace_action *row)
{
    const int request = known(s->replay, id, row->request);
    const int error = request ? sim_append_wait(s, id, request) : 0;
    return error < 0 || !request ? error : over(s->replay, id, row->request, request);
}

static int wait_for_all(sim *s, int id, int n)
{
    replay *r = s->replay;
    void *list = r->list;
    int error = reserve(&list, &r->list_room, n, sizeof *r->list), n_known = 0;
    r->list = list;
    for (int i = 0; i < n && !error; i++) {
        const int name = row_at(&r->rank[id], i)->request, request = known(r, id, name);
        r->list[i] = request;
        n_known += request > 0;
        if (request) error = over(r, id, name, request);
    }
    return error || !n_known ? error : sim_append_wait_all(s, id, n, r->list);
}

/* Waits for the one of several requests that was over first in the trace. */
static int wait_for_any(sim *s, int id, const trace_action *row, int chosen)
{
    const int request = known(s->replay, id, chosen);
    const int list = !row->detail ? -1 : chosen == 0 ? 0 : request;
    if (row->detail && chosen && !request) return 0;
    const int error = sim_append_wait_any(s, id, 1, &list);
    return error < 0 || !request ? error : over(s->replay, id, chosen, request);
}

static int take_part(sim *s, int id, const trace_action *row)
{
    replay *r = s->replay;
    replay_rank *of = &r->rank[id];
    const int n = (int)row->amount;
    rank_tables given = {0};
    void *list = r->entry;
    const int error = reserve(&list, &r->entry_room, n, sizeof *r->entry);
    r->entry = list;
    if (error) return error;
    for (int i = 0; i < n; i++) {
        const trace_action *entry = row_at(of, 1 + i);
        const int k = entry->detail;
        if (k < 0 || k > 3) return SIM_BAD_SCHEDULE;
        r->entry[i] = entry->bytes;
        if (k >= given.n || !given.table[k]) given.table[k] = &r->entry[i];
        given.n_entries[k]++;
        if (k >= given.n) given.n = k + 1;
    }
    for (int k = 0; k < given.n; k++)
        if (!given.table[k]) given.table[k] = r->entry;
    const rank_tables *tables = n ? &given : NULL;
    if (row->action == DID_COLLECTIVE) return sim_append_collective(s, id, row->comm, row->detail, row->peer, row->bytes, tables);
    const int request = sim_append_start(s, id, row->comm, row->detail, row->peer, row->bytes, tables, of->latch);
    of->latch = 0;
    return request < 0 ? request : keep_name(r, id, row->request, request);
}

/* Latches are named as they are made: all ranks that come to one name the same. */
static int take_latch(sim *s, int id, const trace_action *row)
{
    replay *r = s->replay;
    void *list = r->latch;
    const int before = r->latch_room, error = reserve(&list, &r->latch_room, row->tag + 1, sizeof *r->latch);
    r->latch = list;
    if (error) return error;
    memset(r->latch + before, 0, (size_t)(r->latch_room - before) * sizeof *r->latch);
    if (!r->latch[row->tag]) {
        const int latch = sim_latch_new(s, (int)row->amount);
        if (latch < 0) return latch;
        r->latch[row->tag] = latch;
    }
    r->rank[id].latch = r->latch[row->tag];
    return 0;
}

static int let_go(sim *s, int id, int name)
{
    const int request = known(s->replay, id, name);
    forget(s->replay, id, name);
    if (request) sim_release(s, request);
    return 0;
}

static int cancel(sim *s, int id, int name)
{
    const int request = known(s->replay, id, name);
    return request ? sim_append_cancel(s, id, request) : 0;
}

/* Asks once more; 1 when there is nothing to ask for. */
static int ask(sim *s, int id, const trace_action *row)
{
    const int request = known(s->replay, id, row->request);
    switch (row->action) {
    case DID_TEST: return row->request && !request ? 1 : sim_append_test(s, id, request);
    case DID_GET_STATUS: return !request ? 1 : sim_append_get_status(s, id, request);
    case DID_IPROBE: return sim_append_iprobe(s, id, row->comm, row->peer, row->tag);
    case DID_IMPROBE: /* in vain, it costs what a probe costs that holds nothing */
        return row->detail ? sim_append_improbe(s, id, row->comm, row->peer, row->tag)
                           : sim_append_iprobe(s, id, row->comm, row->peer, row->tag);
    default: return sim_append_mprobe(s, id, row->comm, row->peer, row->tag);
    }
}

/* Tests several requests: the one that was found complete in the trace, until it is; or all, once. */
static int ask_for_any(sim *s, int id, const trace_action *row, int n)
{
    replay *r = s->replay;
    void *list = r->list;
    const int error = reserve(&list, &r->list_room, n, sizeof *r->list);
    r->list = list;
    if (error) return error;
    for (int i = 0; i < n; i++) {
        const int name = row_at(&r->rank[id], i)->request, request = known(r, id, name);
        r->list[i] = (row->detail && row->detail != i + 1) || name < 0 || (name && !request) ? -1 : request;
    }
    if (row->detail && r->list[row->detail - 1] < 0) return 1;
    return sim_append_test_any(s, id, n, r->list);
}

/* The rows of a list without a length: those that follow as DID_AND. */
static int n_listed(replay_rank *of)
{
    int n = 1;
    while (n < of->n && row_at(of, n)->action == DID_AND) n++;
    return n;
}

/* The first row's poll has its answer: 1 when the row is done with. */
static int is_done_with(sim *s, int id)
{
    replay *r = s->replay;
    replay_rank *of = &r->rank[id];
    const trace_action row = *row_at(of, 0);
    const int64_t answer = sim_answer(s, id);
    const int is_any = row.action == DID_TEST_ANY, is_found = is_any ? answer >= 0 : answer != 0;
    if (!is_found && row.detail) return 0;
    if (!is_found) return is_any || of->polled >= row.amount;
    const int name = is_any ? row_at(of, (int)answer)->request : row.request;
    if ((row.action == DID_IMPROBE && row.detail) || row.action == DID_MPROBE)
        return keep_name(r, id, name, (int)answer) < 0 ? SIM_OUT_OF_MEMORY : 1;
    if (row.action == DID_TEST || (is_any && row.detail)) {
        const int request = known(r, id, name);
        if (request && over(r, id, name, request) < 0) return SIM_OUT_OF_MEMORY;
    }
    return 1;
}

/* Appends the action of the first row, which is no poll. */
static int append(sim *s, int id, const trace_action *row, int n)
{
    switch (row->action) {
    case DID_COMPUTE: return sim_append_compute(s, id, row->amount, (double)row->bytes);
    case DID_SLEEP: return sim_append_sleep(s, id, row->amount);
    case DID_OVERHEAD: return row->detail ? sim_extend_overhead(s, id, row->amount) : sim_append_overhead(s, id, row->amount);
    case DID_SEND:
    case DID_ISEND: return send(s, id, row);
    case DID_IRECV:
    case DID_RECV:
    case DID_IRECV_HELD: return receive(s, id, row);
    case DID_WAIT: return wait_for(s, id, row);
    case DID_WAIT_ALL: return wait_for_all(s, id, n);
    case DID_WAIT_ANY: return wait_for_any(s, id, row, row->detail ? row_at(&s->replay->rank[id], row->detail - 1)->request : -1);
    case DID_IPROBE: return sim_append_iprobe_until(s, id, row->comm, row->peer, row->tag);
    case DID_PROBE: return sim_append_probe(s, id, row->comm, row->peer, row->tag);
    case DID_CANCEL: return cancel(s, id, row->request);
    case DID_COLLECTIVE:
    case DID_START: return take_part(s, id, row);
    case DID_LATCH: return take_latch(s, id, row);
    case DID_FREE: return let_go(s, id, row->request);
    case DID_BEGIN_REGION:
    case DID_END_REGION: return sim_append_region(s, id, row->detail, row->action == DID_BEGIN_REGION);
    case DID_END: return sim_append_end(s, id);
    default: return 0; /* DID_TOOK: what a receive took, which the outside has looked up */
    }
}

/* Appends rows up to one that has to be answered: 1 when there was something to do, 0 when rows are missing, or an error. */
static int proceed(sim *s, int id)
{
    replay_rank *of = &s->replay->rank[id];
    int n_appended = 0;
    if (of->polled) {
        const int is_over = is_done_with(s, id);
        if (is_over < 0) return is_over;
        if (is_over) {
            drop_rows(of, n_listed(of));
            of->polled = 0;
        }
    }
    for (int i = 0; i < of->n_due; i++) sim_release(s, of->due[i]);
    of->n_due = 0;
    while (of->n && n_appended < ROWS_AT_ONCE && !sim_is_far_ahead(s, id)) {
        const trace_action row = *row_at(of, 0);
        const int has_list = row.action == DID_TEST_ANY || row.action == DID_WAIT_ANY;
        const int n = has_list ? n_listed(of) : n_together(&row);
        if (n > of->n || (has_list && n == of->n)) break; /* the rest is to come */
        if (has_list && (row.detail < 0 || row.detail > n)) return SIM_BAD_REQUEST;
        if (is_asked(&row)) {
            const int error = row.action == DID_TEST_ANY ? ask_for_any(s, id, &row, n) : ask(s, id, &row);
            if (error < 0) return error;
            if (error == 0) {
                of->polled++;
                return 1;
            }
        } else {
            const int error = append(s, id, &row, n);
            if (error < 0) return error;
        }
        drop_rows(of, n);
        n_appended++;
        if (row.action == DID_IPROBE || row.action == DID_PROBE) break; /* a timeline looks for one thing at a time */
    }
    return n_appended > 0;
}

/* ---- the outside ---- */

int sim_replay_begin(sim *s)
{
    replay *r = calloc(1, sizeof *r);
    if (r) r->rank = calloc((size_t)(s->timelines.n_ranks > 0 ? s->timelines.n_ranks : 1), sizeof *r->rank);
    if (!r || !r->rank) {
        free(r);
        return SIM_OUT_OF_MEMORY;
    }
    r->n_ranks = s->timelines.n_ranks;
    r->quiet_since = -1;
    replay_free(s->replay);
    s->replay = r;
    return 0;
}

int sim_replay_feed(sim *s, int n, const trace_action *rows)
{
    replay *r = s->replay;
    for (int i = 0; i < n; i++) {
        const int rank = rows[i].rank;
        if (rank < 0 || rank >= r->n_ranks) return SIM_BAD_RANK;
        const int error = rows[i].action == DID_TOOK ? 0 : push(&r->rank[rank], &rows[i]);
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
    const replay *r = s->replay;
    const int state = s->timelines.at[id].state;
    return id < r->n_ranks && state != ENDED && state != WAITING && r->rank[id].polled && row_at(&r->rank[id], 0)->detail;
}

static int is_quiet(const sim *s)
{
    if (s->transfers.n_live) return 0;
    for (int id = 0; id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        const int has_looked = timeline_probes_on(t) && t->n_sends_seen == s->polling.n_sends_queued;
        if (t->state != ENDED && t->state != WAITING && !has_looked && !searches(s, id)) return 0;
    }
    return 1;
}

int sim_replay_is_in_vain(sim *s)
{
    replay *r = s->replay;
    const int64_t before = r->quiet_since;
    r->quiet_since = is_quiet(s) ? s->stats.progress : -1;
    if (r->quiet_since < 0) return 0;
    int n_searching = 0, n_in_vain = 0;
    for (int rank = 0; rank < r->n_ranks; rank++) {
        replay_rank *of = &r->rank[rank];
        if (!searches(s, rank)) continue;
        n_searching++;
        if (r->quiet_since != before) of->polled_before = of->polled;
        n_in_vain += of->polled >= of->polled_before + 2;
    }
    return n_searching > 0 && n_in_vain == n_searching;
}

int64_t sim_replay_left_alone(const sim *s)
{
    return s->replay->n_left_alone;
}
