#include <stdlib.h>

#include "mpi/meeting.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "mpi/nonblocking_collective.h"
#include "mpi/wait.h"
#include "world/cpus.h"
#include "world/clock_events.h"
#include "world/tell.h"

/* Collectives: a schedule's calls, one after the other, as if the rank made them. A blocking one is over with its action; a
 * started one (nonblocking_collective.h) goes on behind its request. The action's run is the strand that makes its calls now: one
 * that has to wait hands over to another one that need not. */

enum { FETCH, SEND, RECEIVE, MEET, AWAIT };
enum { AWAITED = -1, BACKGROUND = -2 }; /* waiter_index of a run's own requests; or their index in its list `made` */

static int pays_for_receives(const sim *s, int id)
{
    return costs_of(s, s->timelines.at[id].rank)->n_recv_overhead > 0;
}

/* The run has made a request, which is to tell it of its end: 0, or an error. */
static int register_request(sim *s, int id, collective_run *run, slot *x, int index)
{
    const int is_detached = x->is.is_detached;
    x->is.tag = run->strand;
    x->is.matched_source = (int)run->frame.rank;
    x->is_released = 1;
    x->instance = run->instance;
    x->account = s->timelines.at[id].account;
    if (index == BACKGROUND && run->request)
        index = nonblocking_made(s, run, x);
    else if (index == BACKGROUND && run->frame.program->waits_for_one)
        index = collective_run_made(run, is_detached, pays_for_receives(s, id));
    if (index < BACKGROUND) return index;
    if (is_detached) return 0;
    x->waiter = id;
    x->waiter_index = index;
    ++*(index == AWAITED ? &run->n_awaited : &run->n_background);
    return 0;
}

static int post(sim *s, int id, collective_run *run, int peer, int64_t bytes, uint8_t is_send, int index)
{
    mpi_state *mpi = mpi_of(s);
    const int other = comm_other(&mpi->comms, run->comm), rank = s->timelines.at[id].rank;
    if (peer < 0 || peer >= comm_size(&mpi->comms, other) || bytes < 0) return SIM_BAD_SCHEDULE;
    const uint8_t is_detached = is_send && protocol_is_detached(&mpi->costs, bytes);
    const int request = request_new(s, (struct request){.rank = rank, .comm = run->comm, .peer = peer, .bytes = bytes,
                                                        .is_send = is_send, .is_detached = is_detached});
    if (request < 0) return request;
    slot *x = &mpi->requests.at[request];
    x->context = 2 * (is_send ? other : run->comm) + 1;
    x->target = is_send ? comm_world_rank(&mpi->comms, other, peer) : rank;
    const int error = register_request(s, id, run, x, index);
    if (error < 0) return error;
    return is_send && cpus_are_used(s) ? protocol_send(s, id, request) : protocol_post(s, request);
}

static int meet(sim *s, int id, collective_run *run)
{
    mpi_state *mpi = mpi_of(s);
    const schedule_call *c = &run->call;
    if (run->has_met) return SIM_BAD_SCHEDULE;
    run->has_met = 1;
    const int request = request_new(s, (struct request){.rank = s->timelines.at[id].rank, .comm = run->comm, .peer = SIM_ANY});
    if (request < 0) return request;
    mpi->requests.at[request].context = 2 * run->comm + 1;
    const int error = register_request(s, id, run, &mpi->requests.at[request], BACKGROUND);
    return error < 0 ? error : meeting_join(s, run->instance, run->comm, request, c->bytes_out, c->bytes_in);
}

static double overhead_s(const sim *s, int id, const collective_run *run)
{
    mpi_state *mpi = mpi_of(s);
    const schedule_call *c = &run->call;
    const int rank = s->timelines.at[id].rank, other = comm_other(&mpi->comms, run->comm);
    const call_costs *costs = costs_of(s, rank);
    double usual_s = 0;
    if (c->code != CALL_ISEND && c->code != CALL_EXCHANGE && c->code != CALL_SEND) return 0;
    if (c->code != CALL_SEND)
        usual_s = cost_by_size_s(costs->isend_overhead, costs->n_isend_overhead, c->bytes_out);
    else if (protocol_is_detached(costs, c->bytes_out) || costs->rendezvous_overheads)
        usual_s = cost_by_size_s(costs->send_overhead, costs->n_send_overhead, c->bytes_out);
    if (c->to < 0 || c->to >= comm_size(&mpi->comms, other)) return usual_s; /* its post will tell */
    return protocol_startup_s(s, rank, comm_world_rank(&mpi->comms, other, c->to), usual_s);
}

/* The arithmetic is the rank's own: none of its strands makes a call meanwhile. Where it takes no time, it takes no turn either. */
static int combine(sim *s, int id, int64_t bytes)
{
    const double arithmetic_s = (double)bytes * costs_of(s, s->timelines.at[id].rank)->reduction_byte_s;
    return arithmetic_s > 0 ? clock_events_sleep_until(s, id, s->clock.now_s + arithmetic_s, SPENT_OVERHEAD) : FREE_OF_CHARGE;
}

static int halt(sim *s, int id, collective_run *run)
{
    const int is_started = run->request > 0;
    action_end(s, id);
    if (is_started) nonblocking_halts(s, run);
    return FREE_OF_CHARGE;
}

/* ---- strands ---- */

/* Makes the first strand from this one on that can make a call go on; if there is none, the rank waits. */
static int go_on(sim *s, int id, action *a, collective_run *from, int is_for_one)
{
    collective_run *run = from;
    do {
        if (!run->is_blocked) {
            a->collective.run = run;
            a->stage = run->call.code == CALL_FORK ? FETCH : AWAIT;
            return FREE_OF_CHARGE;
        }
        run = run->next;
    } while (run != from);
    a->collective.run = from;
    a->stage = AWAIT;
    wait_begin(s, id, is_for_one && from->next == from);
    return BLOCKED;
}

static int block(sim *s, int id, action *a, collective_run *run, int is_for_one)
{
    run->is_blocked = 1;
    return go_on(s, id, a, run, is_for_one);
}

static int fork_strand(sim *s, action *a, collective_run *run)
{
    mpi_state *mpi = mpi_of(s);
    collective_run *strand = run->request ? NULL : collective_run_new(&mpi->runs, &mpi->comms, run->comm);
    if (!strand) return run->request ? SIM_BAD_SCHEDULE : SIM_OUT_OF_MEMORY;
    strand->frame = schedule_fork(&run->frame);
    strand->strand = (uint8_t)run->call.number;
    strand->instance = run->instance;
    strand->timeline = run->timeline;
    strand->next = run->next;
    run->next = strand;
    a->collective.run = strand;
    return FREE_OF_CHARGE;
}

/* Frees a strand, whose tables and instance are those of the whole run: the one before it in the ring. */
static collective_run *free_strand(sim *s, collective_run *strand)
{
    collective_run *before = strand->next;
    while (before->next != strand) before = before->next;
    before->next = strand->next;
    strand->frame.tables = NULL;
    strand->instance = 0;
    collective_run_free(&mpi_of(s)->runs, &mpi_of(s)->comms, strand);
    return before;
}

static int end_strand(sim *s, int id, action *a, collective_run *strand)
{
    collective_run *before = free_strand(s, strand);
    if (before->next == before && before->call.code == CALL_JOIN) before->is_blocked = 0;
    return go_on(s, id, a, before, 0);
}

/* The strand of an action's run that has made a request. */
static collective_run *strand_of(const action *a, const slot *x)
{
    collective_run *run = a->collective.run;
    while (run->strand != x->is.tag) run = run->next;
    return run;
}

/* ---- waits ---- */

/* All listed ones that have ended are learnt of at once, as those that are not listed. */
static void learn_listed(collective_run *run)
{
    for (int i = run->oldest; i < run->n_made; i++) {
        if (run->made[i] != OVER) continue;
        run->made[i] = LEARNT;
        if (run->owed_of_s) run->owed_s += run->owed_of_s[i];
    }
    run->oldest = run->n_made;
}

static int waits_for_one(const collective_run *run)
{
    return run->call.code == CALL_WAIT_OLDEST || run->call.code == CALL_WAIT_FOR;
}

/* Index in the list of the one that such a wait is for. */
static int awaited_one(const collective_run *run)
{
    return run->call.code == CALL_WAIT_FOR ? run->call.number : run->oldest;
}

static int await_one(sim *s, int id, action *a, collective_run *run)
{
    const int is_oldest = run->call.code == CALL_WAIT_OLDEST, at = awaited_one(run);
    if (!is_oldest && at >= run->n_made) return SIM_BAD_SCHEDULE;
    const int state = at < run->n_made ? run->made[at] : LEARNT;
    if (state == OVER) {
        run->n_background_ended--;
        run->made[at] = LEARNT;
        if (run->owed_of_s) wait_pay(s, id, run->owed_of_s[at]);
        return wait_after_overheads(s, id);
    }
    if (state == UNDER_WAY) return block(s, id, a, run, 1);
    run->oldest += is_oldest && at < run->n_made;
    a->stage = FETCH;
    return FREE_OF_CHARGE;
}

static int await(sim *s, int id, action *a, collective_run *run)
{
    const int is_all = run->call.code == CALL_WAIT_ALL;
    if (waits_for_one(run)) return await_one(s, id, a, run);
    if (is_all) {
        if (run->n_background_ended) learn_listed(run);
        run->n_ended += run->n_background_ended;
        run->n_background_ended = 0;
    }
    if (run->n_ended > 0) {
        run->n_ended--;
        wait_pay(s, id, run->owed_s);
        run->owed_s = 0;
        return wait_after_overheads(s, id);
    }
    if (run->n_awaited || (is_all && run->n_background) || (run->call.code == CALL_JOIN && run->next != run))
        return block(s, id, a, run, run->call.code == CALL_SEND || run->call.code == CALL_RECV);
    if (is_all && !run->request) run->n_made = run->oldest = 0;
    a->stage = FETCH;
    return FREE_OF_CHARGE;
}

/* The next call of the schedule, and what it costs before it is made: MADE_A_CALL when it is to be made at once. */
static int fetch(sim *s, int id, action *a, collective_run *run)
{
    schedule_call *c = &run->call;
    s->timelines.at[id].busy_until_s = 0;
    if (run->frame.at == 0) {
        const int instance = comm_enter_collective(&mpi_of(s)->comms, run->comm, (int)run->frame.rank, id, s->clock.now_s);
        if (instance < 0) return instance;
        run->instance = instance;
    }
    *c = schedule_step(&run->frame);
    if (run->frame.is_broken) return SIM_BAD_SCHEDULE;
    if (c->code == CALL_NOT_YET) return FREE_OF_CHARGE; /* sim_next looks at the clock, then comes back */
    if (c->code == CALL_FORK) return fork_strand(s, a, run);
    if (c->code == CALL_HALT && !run->strand && run->next != run) c->code = CALL_JOIN;
    if (c->code == CALL_HALT && !run->request && (run->n_background || run->n_background_ended)) c->code = CALL_WAIT_ALL;
    if (c->code == CALL_HALT) return run->strand ? end_strand(s, id, a, run) : halt(s, id, run);
    if (c->code == CALL_COMBINE) return combine(s, id, c->bytes_in);
    const int sends = c->code == CALL_SEND || c->code == CALL_ISEND || c->code == CALL_EXCHANGE;
    const int waits = c->code == CALL_WAIT_ALL || c->code == CALL_JOIN || waits_for_one(run);
    a->stage = sends ? SEND : waits ? AWAIT : c->code == CALL_MEET ? MEET : RECEIVE;
    const double first_s = cpus_are_used(s) ? 0 : overhead_s(s, id, run);
    return first_s > 0 ? clock_events_sleep_until(s, id, s->clock.now_s + first_s, SPENT_OVERHEAD) : MADE_A_CALL;
}

static int step(sim *s, int id, action *a)
{
    collective_run *run = a->collective.run;
    const schedule_call *c = &run->call;
    int result = a->stage == FETCH ? fetch(s, id, a, run) : MADE_A_CALL;
    if (result != MADE_A_CALL) return result;
    switch (a->stage) {
    case SEND:
        if (cpus_are_used(s) && (result = protocol_await_interface(s, id)) != MADE_A_CALL) return result;
        result = post(s, id, run, c->to, c->bytes_out, 1, c->code == CALL_ISEND ? BACKGROUND : AWAITED);
        a->stage = c->code == CALL_EXCHANGE ? RECEIVE : c->code == CALL_SEND && run->n_awaited ? AWAIT : FETCH;
        break;
    case RECEIVE:
        result = post(s, id, run, c->from, c->bytes_in, 0, c->code == CALL_IRECV ? BACKGROUND : AWAITED);
        a->stage = c->code == CALL_IRECV ? FETCH : AWAIT;
        break;
    case MEET:
        result = meet(s, id, run);
        a->stage = FETCH;
        break;
    default: return await(s, id, a, run);
    }
    return result < 0 || result == BLOCKED ? result : MADE_A_CALL;
}

static void told(sim *s, int id, action *a, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    collective_run *run = strand_of(a, x);
    const int at = x->waiter_index, is_awaited = at == AWAITED, is_listed = at >= 0;
    const int is_the_one = is_listed && waits_for_one(run) && at == awaited_one(run);
    --*(is_awaited ? &run->n_awaited : &run->n_background);
    if (is_awaited || is_the_one || run->call.code == CALL_WAIT_ALL) run->is_blocked = 0;
    if (s->timelines.at[id].state == WAITING && !run->is_blocked) {
        a->collective.run = run;
        if (is_listed) run->made[at] = LEARNT;
        wait_pay_for(s, id, x);
        wait_wake(s, id);
        return;
    }
    const double owed_s = protocol_receive_overhead_s(s, x->is.rank, x);
    ++*(is_awaited ? &run->n_ended : &run->n_background_ended);
    if (!is_listed || run->call.code == CALL_WAIT_ALL) {
        run->owed_s += owed_s;
        return;
    }
    run->made[at] = OVER;
    if (run->owed_of_s) run->owed_of_s[at] = owed_s;
}

/* A started run belongs to its request. */
static void free_run(sim *s, action *a)
{
    collective_run *run = a->collective.run;
    while (run->next != run) run = free_strand(s, run->strand ? run : run->next);
    if (!run->request) collective_run_free(&mpi_of(s)->runs, &mpi_of(s)->comms, run);
}

static void describe(const sim *s, const action *a, waiting *out)
{
    (void)s;
    *out = (waiting){.kind = WAIT_COLLECTIVE, .comm = a->collective.run->comm};
}

static const action_kind kind = {.name = "collective", .step = step, .told = told, .free = free_run, .describe = describe};

/* ---- rows ---- */

/* Numbers that the `n - 1` rows behind the first one have: 0, or an error. */
static int read_entries(sim *s, int id, int n, rank_tables *given)
{
    int64_t *entries = perform_entries(s, n);
    if (!entries) return SIM_OUT_OF_MEMORY;
    *given = (rank_tables){0};
    for (int i = 0; i < n - 1; i++) {
        const trace_action *entry = perform_row(s, id, 1 + i);
        const int k = entry->detail;
        if (k < 0 || k >= SCHEDULE_TABLES) return SIM_BAD_SCHEDULE;
        entries[i] = entry->bytes;
        if (k >= given->n || !given->table[k]) given->table[k] = &entries[i];
        given->n_entries[k]++;
        if (k >= given->n) given->n = k + 1;
    }
    for (int k = 0; k < given->n; k++)
        if (!given->table[k]) given->table[k] = entries;
    return 0;
}

static int perform_collective(sim *s, int id, const trace_action *row, int n)
{
    rank_tables given;
    const int error = read_entries(s, id, n, &given);
    if (error) return error;
    return sim_append_collective(s, id, row->comm, row->detail, row->peer, row->bytes, n > 1 ? &given : NULL);
}

static int perform_start(sim *s, int id, const trace_action *row, int n)
{
    rank_tables given;
    int *latch = &s->performing->rank[id].latch;
    const int error = read_entries(s, id, n, &given);
    if (error) return error;
    const int request =
        sim_append_start(s, id, row->comm, row->detail, row->peer, row->bytes, n > 1 ? &given : NULL, *latch);
    *latch = 0;
    return request < 0 ? request : perform_name(s, id, row->request, request);
}

/* Latches are named as they are made: all ranks that come to one name the same. */
static int perform_latch_of_next(sim *s, int id, const trace_action *row, int n)
{
    int *latch = perform_latch(s, row->tag);
    (void)n;
    if (!latch) return SIM_OUT_OF_MEMORY;
    if (!*latch) {
        const int made = sim_latch_new(s, (int)row->amount);
        if (made < 0) return made;
        *latch = made;
    }
    s->performing->rank[id].latch = *latch;
    return 0;
}

enum { CALL = ROW_COMM | ROW_PEER | ROW_BYTES | ROW_AMOUNT | ROW_DETAIL | ROW_TABLES };

const row_kind collective_row = {{"collective", "performs a schedule (row of `collectives`); `amount` rows `entry` follow",
                                  "schedule", CALL}, perform_collective, 0, 0};
const row_kind start_row = {{"start", "starts a schedule as `request`; entries follow likewise; `tag` names its latch, 0: none",
                             "schedule", CALL | ROW_TAG | ROW_REQUEST | ROW_STARTS}, perform_start, 0, 0};
const row_kind latch_row = {{"latch", "of the `start` that follows: it ends when `amount` ranks have come to the latch `tag`", "",
                             ROW_TAG | ROW_AMOUNT}, perform_latch_of_next, 0, 0};

/* ---- actions that the outside appends ---- */

static collective_run *run_new(sim *s, int rank, int comm, int schedule, int root, int64_t bytes, const rank_tables *given)
{
    mpi_state *mpi = mpi_of(s);
    collective_run *run = collective_run_new(&mpi->runs, &mpi->comms, comm);
    schedule_tables *tables = NULL;
    if (!run) return NULL;
    if (given && given->n > 0 && !(tables = schedule_tables_new(given->n, given->table, given->n_entries))) {
        collective_run_free(&mpi->runs, &mpi->comms, run);
        return NULL;
    }
    schedule_start(&run->frame, mpi->schedule[schedule], comm_rank(&mpi->comms, comm, rank), comm_size(&mpi->comms, comm), root,
                   bytes, tables);
    return run;
}

static int is_sound(const sim *s, int id, int comm, int schedule, const rank_tables *given)
{
    if (!is_timeline(&s->timelines, id) || comm_rank(&mpi_of(s)->comms, comm, s->timelines.at[id].rank) < 0) return SIM_BAD_RANK;
    if (schedule < 0 || schedule >= mpi_of(s)->n_schedules) return SIM_BAD_SCHEDULE;
    if (given && (given->n < 0 || given->n > SCHEDULE_TABLES)) return SIM_BAD_SCHEDULE;
    for (int k = 0; given && k < given->n; k++)
        if (given->n_entries[k] < 0) return SIM_BAD_SCHEDULE;
    return 0;
}

static int append(sim *s, int id, collective_run *run)
{
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->collective.run = run;
    run->timeline = id;
    return 0;
}

int sim_append_collective(sim *s, int id, int comm, int schedule, int root, int64_t bytes, const rank_tables *given)
{
    int error = is_sound(s, id, comm, schedule, given);
    if (error < 0) return error;
    collective_run *run = run_new(s, s->timelines.at[id].rank, comm, schedule, root, bytes, given);
    if (!run) return SIM_OUT_OF_MEMORY;
    error = append(s, id, run);
    if (error < 0) collective_run_free(&mpi_of(s)->runs, &mpi_of(s)->comms, run);
    if (is_watched(s) && !error) {
        const trace_action row = {.comm = comm, .peer = root, .bytes = bytes, .detail = schedule};
        tell_appended(s, id, &(appended_action){.kind = &collective_row, .row = row, .given = given});
    }
    return error;
}

int sim_append_start(sim *s, int id, int comm, int schedule, int root, int64_t bytes, const rank_tables *given, int latch)
{
    mpi_state *mpi = mpi_of(s);
    int error = is_sound(s, id, comm, schedule, given);
    if (error < 0) return error;
    if (latch && !latch_is_for_more(&mpi->latches, latch)) return SIM_BAD_SCHEDULE;
    const int rank = s->timelines.at[id].rank;
    const int request = request_new(s, (struct request){.rank = rank, .comm = comm, .peer = root, .matched_source = SIM_ANY,
                                                        .matched_tag = SIM_ANY});
    if (request < 0) return request;
    collective_run *run = run_new(s, rank, comm, schedule, root, bytes, given);
    error = run ? append(s, id, run) : SIM_OUT_OF_MEMORY;
    mpi->requests.at[request].is_collective = 1;
    mpi->requests.at[request].run = run;
    if (error < 0) {
        request_free(s, request);
        return error;
    }
    request_belongs(s, request, id);
    run->request = request;
    run->latch = latch;
    if (latch) mpi->latches.at[latch].n_to_come--;
    if (is_watched(s)) {
        const int serial = latch ? mpi->latches.at[latch].serial : 0;
        const trace_action row = {.comm = comm, .peer = root, .tag = serial, .bytes = bytes, .request = request,
                                  .detail = schedule};
        const trace_action at = {.tag = serial, .amount = latch ? mpi->latches.at[latch].n_ranks : 0};
        if (latch) tell_appended(s, id, &(appended_action){.kind = &latch_row, .row = at});
        tell_appended(s, id, &(appended_action){.kind = &start_row, .row = row, .given = given});
    }
    return request;
}

int sim_schedule_new(sim *s, int n_words, const int64_t *words)
{
    mpi_state *mpi = mpi_of(s);
    if (mpi->n_schedules == mpi->schedule_room) {
        int room = mpi->schedule_room ? 2 * mpi->schedule_room : 16;
        schedule **grown = realloc(mpi->schedule, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        mpi->schedule = grown;
        mpi->schedule_room = room;
    }
    schedule *made = schedule_new(n_words, words);
    if (!made) return schedule_is_sound(n_words, words) ? SIM_OUT_OF_MEMORY : SIM_BAD_SCHEDULE;
    mpi->schedule[mpi->n_schedules] = made;
    return mpi->n_schedules++;
}
