#include "mpi/match.h"
#include "mpi/mpi_world.h"
#include "mpi/poll.h"
#include "world/clock_events.h"
#include "world/tell.h"

/* Probes, and Get_status, which looks at a request as a probe looks at messages: an execution, which is three calls, then a look.
 * A blocking probe repeats it until it finds something; if looks take no time, it waits until there is something new.
 * The execution is a poll (poll.h) where polls notice. A non-blocking probe that is repeated until it finds something is,
 * date by date, a program's loop of such probes. */

enum { MADE, BOUND, STARTED, LOOK, KNOWN, AWAITING };

static const action_kind iprobe_kind, iprobe_until_kind, probe_kind, improbe_kind, mprobe_kind, get_status_kind;

static poll_question question(const timeline *t, const action *a)
{
    if (a->kind == &get_status_kind) return (poll_question){.kind = a->kind, .request = a->probe.request};
    const action_kind *kind = a->kind == &iprobe_until_kind ? &iprobe_kind : a->kind;
    return (poll_question){.kind = kind, .comm = t->wanted.comm, .source = t->wanted.source, .tag = t->wanted.tag};
}

/* Looks once: 1, the send of a matched probe, or 0; or an error. */
static int look(sim *s, int id, const action *a)
{
    mpi_state *mpi = mpi_of(s);
    timeline *t = &s->timelines.at[id];
    message_envelope *wanted = &t->wanted;
    const int is_probe = a->kind != &get_status_kind, request = a->probe.request;
    const int found = is_probe ? match_probe(&mpi->match, &mpi->requests, 2 * wanted->comm, t->rank, wanted->source, wanted->tag)
                      : mpi->requests.at[request].is.is_done ? request : 0;
    if (found <= 0) return found;
    tell_looked(s, id, found);
    if (!is_probe) return 1;
    slot *x = &mpi->requests.at[found];
    wanted->source = x->is.matched_source;
    wanted->tag = x->is.tag;
    wanted->bytes = x->is.bytes;
    if (a->kind != &improbe_kind && a->kind != &mprobe_kind) return 1;
    match_take_send(&mpi->match, &mpi->requests, found);
    x->is_held = 1;
    return found;
}

/* A blocking probe learns what it has seen: counts those that know all there is. A send may have come since it looked. */
static void count_up_to_date(sim *s, timeline *t, const action *a)
{
    polling *p = &mpi_of(s)->polling;
    const int was_up_to_date = t->n_sends_seen == p->n_sends_queued;
    t->n_sends_seen = t->answer ? -1 : a->probe.n_sends;
    p->n_probes_up_to_date += (t->n_sends_seen == p->n_sends_queued) - was_up_to_date;
}

/* A look has told its answer: the action is over, or begins anew. */
static int learn(sim *s, int id, action *a)
{
    timeline *t = &s->timelines.at[id];
    const poll_question asked = question(t, a);
    mpi_state *mpi = mpi_of(s);
    const int is_repeated = a->kind->nature == ACTION_REPEATED_POLL, is_free = !(mpi->poll_costs.iprobe_s > 0);
    poll_end(s, id, &asked, &mpi->polling.iprobes_in_a_row, t->answer != 0, mpi->poll_costs.grow);
    if (is_repeated && is_free)
        t->n_sends_seen = t->answer ? -1 : a->probe.n_sends; /* it waits: it is not among the probes that time wakes */
    else if (is_repeated)
        count_up_to_date(s, t, a);
    if (t->answer || (a->kind->nature == ACTION_POLL)) {
        action_end(s, id);
        return FREE_OF_CHARGE;
    }
    a->stage = MADE;
    if (!is_repeated || !is_free || a->probe.n_sends != mpi->polling.n_sends_queued) return FREE_OF_CHARGE;
    a->stage = AWAITING;
    return poll_await(s, id);
}

static int call(sim *s, int id, action *a)
{
    mpi_state *mpi = mpi_of(s);
    timeline *t = &s->timelines.at[id];
    if (mpi->poll_costs.notice && (a->stage == MADE || a->stage == AWAITING)) {
        const poll_question asked = question(t, a);
        a->stage = LOOK;
        return poll_begin(s, id, &asked, mpi->poll_costs.iprobe_s, 0);
    }
    t->poll.each_s = 0;
    if (a->stage == AWAITING) a->stage = MADE;
    switch (a->stage++) {
    case MADE:
        a->probe.flop = mpi->polling.iprobes_in_a_row * mpi->poll_costs.iprobe_s * sim_speed_flop_per_s(s, id);
        if (mpi->poll_costs.iprobe_part > 0) a->probe.flop *= mpi->poll_costs.iprobe_part;
        return MADE_A_CALL;
    case BOUND: return MADE_A_CALL;
    case STARTED:
        if (!(a->probe.flop > 0)) return MADE_A_CALL;
        return clock_events_execute(s, id, (execution){.flop = a->probe.flop, .n_threads = 1, .is_limited = 1}, poll_spends(t));
    case LOOK: {
        const int found = look(s, id, a);
        a->probe.n_sends = mpi_of(s)->polling.n_sends_queued;
        t->answer = found;
        return found < 0 ? found : MADE_A_CALL;
    }
    default: /* KNOWN */ return learn(s, id, a);
    }
}

/* One call; where nobody else has a turn, those that follow it at this date, too. */
static int step(sim *s, int id, action *a)
{
    for (;;) {
        const int result = call(s, id, a);
        if (result != MADE_A_CALL || !timelines_one_runs(&s->timelines)) return result;
    }
}

/* ---- rows ---- */

static int asks(int error)
{
    return error < 0 ? error : ROW_ASKS;
}

static int perform_iprobe(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    if (!row->detail) return asks(sim_append_iprobe(s, id, row->comm, row->peer, row->tag));
    const int error = sim_append_iprobe_until(s, id, row->comm, row->peer, row->tag);
    return error < 0 ? error : ROW_LOOKS;
}

static int perform_probe(sim *s, int id, const trace_action *row, int n)
{
    const int error = sim_append_probe(s, id, row->comm, row->peer, row->tag);
    (void)n;
    return error < 0 ? error : ROW_LOOKS;
}

/* In vain, it costs what a probe costs that holds nothing. */
static int perform_improbe(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return asks(row->detail ? sim_append_improbe(s, id, row->comm, row->peer, row->tag)
                            : sim_append_iprobe(s, id, row->comm, row->peer, row->tag));
}

static int perform_mprobe(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return asks(sim_append_mprobe(s, id, row->comm, row->peer, row->tag));
}

static int perform_get_status(sim *s, int id, const trace_action *row, int n)
{
    const int request = perform_request(s, id, row->request);
    (void)n;
    return request ? asks(sim_append_get_status(s, id, request)) : 0;
}

static int found_held(sim *s, int id, const trace_action *row, int64_t answer)
{
    return row->detail ? perform_name(s, id, row->request, (int)answer) : 0;
}

enum { LOOK_FOR = ROW_COMM | ROW_PEER | ROW_TAG | ROW_DETAIL, POLL_FOR = LOOK_FOR | ROW_AMOUNT | ROW_POLL };

static const char POLLS[] = "polls `amount` times in vain, then, with `detail` 1, until there is a message";
static const char LOOKS[] = "looks until there is a message";

const row_kind iprobe_row = {{"iprobe", POLLS, "0 or 1", POLL_FOR}, perform_iprobe, 0, 0};
const row_kind improbe_row = {{"improbe", POLLS, "0 or 1", POLL_FOR | ROW_REQUEST | ROW_HOLDS}, perform_improbe, found_held, 0};
const row_kind get_status_row = {
    {"get_status", "polls `request` `amount` times in vain, then, with `detail` 1, until it is complete", "0 or 1",
     ROW_REQUEST | ROW_AMOUNT | ROW_DETAIL | ROW_POLL}, perform_get_status, 0, 0};
const row_kind probe_row = {{"probe", LOOKS, "", LOOK_FOR}, perform_probe, 0, 0};
const row_kind mprobe_row = {{"mprobe", LOOKS, "", LOOK_FOR | ROW_REQUEST | ROW_HOLDS}, perform_mprobe, found_held, 0};

static const action_kind iprobe_kind = {.name = "iprobe", .step = step, .nature = ACTION_POLL, .row = &iprobe_row};
static const action_kind iprobe_until_kind = {.name = "iprobe until", .step = step, .nature = ACTION_POLL_LOOP};
static const action_kind probe_kind = {.name = "probe", .step = step, .nature = ACTION_REPEATED_POLL, .row = &probe_row};
static const action_kind improbe_kind = {.name = "improbe", .step = step, .nature = ACTION_POLL, .row = &improbe_row};
static const action_kind mprobe_kind = {.name = "mprobe", .step = step, .nature = ACTION_REPEATED_POLL, .row = &mprobe_row};
static const action_kind get_status_kind = {.name = "get_status", .step = step, .nature = ACTION_POLL, .row = &get_status_row};

static int append(sim *s, int id, const action_kind *kind, int comm, int source, int tag)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    timeline *t = &s->timelines.at[id];
    if (comm_rank(&mpi_of(s)->comms, comm, t->rank) < 0 || !comm_has_source(&mpi_of(s)->comms, comm, source)) return SIM_BAD_RANK;
    if (!action_append(s, id, kind)) return SIM_OUT_OF_MEMORY;
    t->wanted = (message_envelope){.comm = comm, .source = source, .tag = tag};
    return 0;
}

int sim_append_iprobe(sim *s, int id, int comm, int source, int tag)
{
    return append(s, id, &iprobe_kind, comm, source, tag);
}

int sim_append_iprobe_until(sim *s, int id, int comm, int source, int tag)
{
    const int error = append(s, id, &iprobe_until_kind, comm, source, tag);
    if (is_watched(s) && !error) {
        const trace_action row = {.comm = comm, .peer = source, .tag = tag, .detail = 1};
        tell_appended(s, id, &(appended_action){.kind = &iprobe_row, .row = row});
    }
    return error;
}

int sim_append_probe(sim *s, int id, int comm, int source, int tag)
{
    return append(s, id, &probe_kind, comm, source, tag);
}

int sim_append_improbe(sim *s, int id, int comm, int source, int tag)
{
    return append(s, id, &improbe_kind, comm, source, tag);
}

int sim_append_mprobe(sim *s, int id, int comm, int source, int tag)
{
    return append(s, id, &mprobe_kind, comm, source, tag);
}

int sim_append_get_status(sim *s, int id, int request)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (!is_own_request(&mpi_of(s)->requests, s->timelines.at[id].rank, request)) return SIM_BAD_REQUEST;
    action *a = action_append(s, id, &get_status_kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->probe.request = request;
    return 0;
}

const message_envelope *sim_probed(const sim *s, int id)
{
    return &s->timelines.at[id].wanted;
}
