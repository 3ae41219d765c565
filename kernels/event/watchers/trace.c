#include "watchers/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "watchers/trace_internal.h"

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
    trace_thread_mark *row = trace_new_row(s, TRACE_THREADS);
    if (!row) return;
    *row = (trace_thread_mark){.date_s = s->clock.now_s, .thread = thread_of(s, t), .rank = t->rank, .timeline = id,
                               .is_begin = is_begin};
}

/* A timeline begins. */
static void begin_thread(sim *s, trace *all, int id)
{
    const int rank = s->timelines.at[id].rank;
    void *list = all->thread;
    const int error = trace_reach(s, &list, &all->thread_room, id, sizeof *all->thread);
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
    trace_wake_up *row = trace_new_row(s, TRACE_WAKE_UPS);
    if (!row) return;
    *row = (trace_wake_up){.date_s = date_s, .rank = t->rank, .thread = thread_of(s, t), .by_rank = from->rank,
                           .by_thread = thread_of(s, from)};
}

static void woken(sim *s, void *own, int id, int by)
{
    const timeline *t = &s->timelines.at[id];
    if (t->n && t->spends != SPENT_NOTHING) {
        wait_of(s, t)->by = by;
        return;
    }
    if (!timeline_is_first(t)) begin_thread(s, own, id);
    if (by >= 0) write_wake_up(s, t, s->clock.now_s, by);
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

void trace_interval_of(sim *s, const timeline *t, const held_time *time, int other)
{
    trace *all = trace_of(s);
    const int thread = thread_of(s, t);
    const trace_wait *wait = wait_of(s, t);
    if (all->rank[t->rank].is_left_out || !has_dates(all, time->start_s, time->end_s)) return;
    trace_interval *row = trace_new_row(s, thread ? TRACE_THREAD_INTERVALS : TRACE_INTERVALS);
    if (!row) return;
    const int was_waiting = time->kind >= SPENT_TRANSFER && time->kind < SPENT_KINDS;
    *row = (trace_interval){.start_s = time->start_s, .end_s = time->end_s,
                            .power_w = time->above_idle_j / (time->end_s - time->start_s),
                            .location = thread ? thread : t->rank, .kind = time->kind, .account = time->account, .other = other,
                            .message = was_waiting ? wait->message : -1};
    if (wait->by >= 0 && (other >= 0 || time->kind == SPENT_SLEEPING)) write_wake_up(s, t, time->end_s, wait->by);
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
    trace_request *of = trace_request_of(s, request);
    if (!of) return;
    if (mpi_of(s)->requests.at[request].context & 1) of->name = 0; /* a collective's, which its rank has not named */
    of->message = -1;
    of->is_early = 0;
    of->thread = poster_of(s, &mpi_of(s)->requests.at[request]);
    of->posted_s = s->clock.now_s;
}

static void set_out(sim *s, void *own, int id)
{
    trace *all = own;
    const transfer *t = transfer_at(s, id);
    const int send = protocol_send_of(t);
    const network *net = &s->network;
    trace_request *of = send ? trace_request_of(s, send) : NULL;
    if (!of) return;
    const slot *x = &mpi_of(s)->requests.at[send];
    of->message = all->n_messages++;
    of->is_early = x->is_early;
    of->started_s = s->clock.now_s;
    const int recv = protocol_recv_of(s, t), is_of_device = x->is_on_device || (recv && mpi_of(s)->requests.at[recv].is_on_device);
    const int is_known = net->kind->alone_s && !is_of_device; /* the network does not know what devices add */
    of->alone_s = is_known ? net->kind->alone_s(s, net->state, t->source_host, t->target_host, t->bytes) : NAN;
}

static void received(sim *s, void *own, int send, int recv)
{
    trace *all = own;
    const slot *from = &mpi_of(s)->requests.at[send], *to = &mpi_of(s)->requests.at[recv];
    const trace_request *sent = &all->of_request[send];
    trace_request *received = &all->of_request[recv];
    const double now_s = s->clock.now_s;
    received->message = sent->message;
    if (all->rank[from->is.rank].is_left_out && all->rank[to->is.rank].is_left_out) return;
    if (!has_dates(all, fmin(sent->posted_s, received->posted_s), now_s)) return;
    trace_message *row = trace_new_row(s, TRACE_MESSAGES);
    if (!row) return;
    *row = (trace_message){.message = sent->message, .bytes = from->is.bytes, .send_posted_s = sent->posted_s,
                           .receive_posted_s = received->posted_s, .started_s = sent->is_early ? sent->started_s : NAN,
                           .ended_s = now_s, .alone_s = sent->alone_s, .source = from->is.rank, .target = to->is.rank,
                           .tag = from->is.tag, .is_inner = from->context & 1, .send_account = from->account,
                           .receive_account = to->account};
    if (!sent->thread && !received->thread) return;
    trace_message_threads *threads = trace_new_row(s, TRACE_THREAD_MESSAGES);
    if (!threads) return;
    *threads = (trace_message_threads){.message = sent->message, .send_thread = sent->thread, .receive_thread = received->thread};
}

/* ---- regions and ranks ---- */

void trace_region(sim *s, int id, int region, int is_begin)
{
    trace_mark *row = trace_of(s) ? trace_new_row(s, TRACE_REGIONS) : NULL;
    if (row) *row = (trace_mark){.date_s = s->clock.now_s, .rank = s->timelines.at[id].rank, .region = region, .is_begin = is_begin,
                               .thread = thread_of(s, &s->timelines.at[id])};
}

static const trace_rank NEW_RANK = {.wait = {.message = -1, .by = -1}, .last_poll = -1, .last_overhead = -1, .last_start = -1,
                                    .until = -1};

static void added(sim *s, void *own, int rank)
{
    trace *all = own;
    void *list = all->rank;
    const int error = trace_reach(s, &list, &all->rank_room, rank, sizeof *all->rank);
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

static const watcher trace_watcher = {.added = added, .appended = trace_appended, .posted = posted, .matched = trace_matched,
                                      .set_out = set_out, .received = received, .let_in = let_in, .woken = woken,
                                      .polled = trace_polled, .free = free_trace};

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
    trace_name_of_comm(s, SIM_COMM_WORLD);
    return s->error == SIM_OUT_OF_MEMORY ? s->error : 0;
}
