#include <math.h>

#include "world/clock_events.h"
#include "world/noise.h"
#include "world/tell.h"

/* Computing: three calls, as in the peer (make, bind to a host, start), then the execution. */

enum { MADE = 0, BOUND = 1, STARTED = 2 };

static const double MOST_BYTES = 9223372036854775808.0; /* 2^63 */

static int step(sim *s, int id, action *a)
{
    if (a->stage++ < STARTED) return MADE_A_CALL;
    const execution amount = {.flop = a->compute.flop, .bytes = a->compute.bytes, .n_threads = a->compute.n_threads};
    action_end(s, id);
    return clock_events_execute(s, id, amount, SPENT_COMPUTING);
}

static const action_kind kind = {.name = "compute", .step = step, .nature = ACTION_TIME, .keeps_tail = 1};

static int perform(sim *s, int id, const trace_action *row, int n)
{
    (void)n;
    return sim_append_threads(s, id, row->detail > 1 ? row->detail : 1, row->amount, (double)row->bytes);
}

const row_kind compute_row = {
    {"compute", "`amount` flop on each core that it keeps busy, `bytes` of memory", "number of its threads, a core each; 0: one",
     ROW_AMOUNT | ROW_BYTES | ROW_DETAIL}, perform, 0, 0};

/* Tells watchers the work of a timeline; bytes that take no time here may take some where a trace is replayed. */
static void tell_work(sim *s, int id, const row_kind *row, double flop, double bytes, int detail)
{
    const int64_t n_bytes = bytes < MOST_BYTES ? (int64_t)bytes : INT64_MAX;
    tell_appended(s, id, &(appended_action){row, {.amount = flop, .bytes = n_bytes, .detail = detail}, 0, 0, 0});
}

/* The work with noise; watchers are told what it was without. */
static int add_noise(sim *s, int id, double alone_s, double *flop, double *bytes)
{
    const double quiet_flop = *flop, quiet_bytes = *bytes;
    double factor;
    const int error = noise_draw(s->noise, id, alone_s, &factor);
    if (error) return error;
    *flop *= factor;
    *bytes = rint(factor * *bytes);
    if (is_watched(s)) tell_work(s, id, &noise_free_row, quiet_flop, quiet_bytes, *flop > 0 || *bytes > 0);
    return 0;
}

int sim_append_compute(sim *s, int id, double flop, double bytes)
{
    return sim_append_threads(s, id, 1, flop, bytes);
}

int sim_append_threads(sim *s, int id, int n_threads, double flop, double bytes)
{
    if (!is_timeline(&s->timelines, id)) return SIM_BAD_RANK;
    if (n_threads < 1 || (n_threads > 1 && n_threads > s->cores_per_rank)) return SIM_BAD_THREADS;
    timeline *t = &s->timelines.at[id];
    const host *h = &s->hosts.at[t->host];
    bytes = rint(bytes); /* a number that a trace can have, so that its replay moves the same */
    if (s->noise) {
        const double core_s = flop / host_speed_flop_per_s(h);
        const double alone_s = h->memory && bytes > 0 ? fmax(core_s, memory_alone_s(h, bytes, n_threads)) : core_s;
        const int error = alone_s > 0 ? add_noise(s, id, alone_s, &flop, &bytes) : 0;
        if (error) return error;
    }
    const int moves = h->memory && bytes > 0;
    if (is_watched(s) && (flop > 0 || bytes > 0)) tell_work(s, id, &compute_row, flop, bytes, n_threads > 1 ? n_threads : 0);
    if (!(flop > 0) && !moves) return 0;
    action *a = action_append(s, id, &kind);
    if (!a) return SIM_OUT_OF_MEMORY;
    a->compute.flop = flop;
    a->compute.bytes = bytes;
    a->compute.n_threads = n_threads;
    const double computing_s = flop / h->fastest_flop_per_s;
    t->earliest_tail_s += moves ? fmax(computing_s, memory_alone_s(h, bytes, n_threads)) : computing_s;
    t->tail_s += host_knows_ends(h) && !t->shares_cores && !moves ? flop / host_speed_flop_per_s(h) : NAN;
    return 0;
}

double sim_speed_flop_per_s(const sim *s, int id)
{
    return host_speed_flop_per_s(&s->hosts.at[s->timelines.at[id].host]);
}
