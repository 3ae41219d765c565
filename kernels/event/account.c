#include "account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

void accounts_free(accounts *all)
{
    free(all->at);
    free(all->bucket);
}

/* ---- accounts by rank and call site ---- */

static uint32_t hash_of(const call_account *key)
{
    uint64_t h = (uint64_t)(uint32_t)key->rank << 32 | (uint32_t)key->line;
    h ^= ((uint64_t)(uint32_t)key->call << 20) + ((uint64_t)(uint32_t)key->comm << 40);
    h *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static int is_of(const call_account *a, const call_account *key)
{
    return a->rank == key->rank && a->line == key->line && a->call == key->call && a->comm == key->comm;
}

/* The bucket of a key, or the empty one where it belongs. */
static int *find(const accounts *all, const call_account *key)
{
    const uint32_t mask = 2 * (uint32_t)all->room - 1;
    uint32_t at = hash_of(key) & mask;
    while (all->bucket[at] && !is_of(&all->at[all->bucket[at]], key)) at = (at + 1) & mask;
    return &all->bucket[at];
}

static int grow(accounts *all)
{
    const int room = all->room ? 2 * all->room : 64;
    call_account *at = realloc(all->at, (size_t)room * sizeof *at);
    if (at) all->at = at;
    int *bucket = at ? calloc(2 * (size_t)room, sizeof *bucket) : NULL;
    if (!bucket) return SIM_OUT_OF_MEMORY;
    free(all->bucket);
    all->bucket = bucket;
    all->room = room;
    for (int i = 1; i <= all->n; i++) *find(all, &all->at[i]) = i;
    return 0;
}

/* Its number; 0 without memory: then the world is broken. */
static int number_of(sim *s, int rank, int call, int line, int comm)
{
    accounts *all = &s->accounts;
    const call_account key = {.rank = rank, .call = call, .line = line, .comm = comm};
    int *bucket = all->room ? find(all, &key) : NULL;
    if (bucket && *bucket) return *bucket;
    if (all->n + 1 >= all->room) {
        const int error = grow(all);
        keep_error(s, error);
        if (error < 0) return 0;
        bucket = find(all, &key);
    }
    all->at[++all->n] = key;
    return *bucket = all->n;
}

/* ---- calls ---- */

void sim_begin_call(sim *s, int id, int call, int line, int comm)
{
    timeline *t = &s->timelines.at[id];
    if (t->n_open++) return;
    t->account_at_tail = number_of(s, t->rank, call, line, comm);
    if (t->account_at_tail) s->accounts.at[t->account_at_tail].count++;
}

void sim_end_call(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    if (--t->n_open == 0) t->account_at_tail = 0;
}

int account_beside(sim *s, int id, int call, int n_calls)
{
    const timeline *t = &s->timelines.at[id];
    const int open = t->account_at_tail;
    const int number = number_of(s, t->rank, call, open ? s->accounts.at[open].line : 0, -1);
    if (number) s->accounts.at[number].count += n_calls;
    return number;
}

/* ---- time ----
 *
 * Whether a blocked timeline waited for others or for a transfer is told by the request that ends its wait (completion.h): nothing
 * is done when a transfer begins, or when the last rank enters a collective. */

/* What a timeline has spent in its present state: of one kind, and in a transfer that followed. */
typedef struct {
    int kind;
    double seconds, transfer_s;
} spell;

/* Of a wait that is not over. */
static int late_so_far(const sim *s, const timeline *t)
{
    waiting what = {0};
    const action *a = t->n ? &t->queue[t->first] : NULL;
    if (a && a->kind->describe) a->kind->describe(s, a, &what);
    return what.kind == WAIT_SEND ? SPENT_LATE_RECEIVER : what.kind == WAIT_COLLECTIVE ? SPENT_LATE_MEMBERS : SPENT_LATE_SENDER;
}

static spell spell_of(const sim *s, const timeline *t)
{
    const double passed_s = s->clock.now_s - t->since_s;
    if (t->spends != SPENT_WAITING) return (spell){.kind = t->spends, .seconds = passed_s};
    if (!t->late) return (spell){.kind = late_so_far(s, t), .seconds = passed_s};
    const double waited_s = t->met_s < s->clock.now_s ? fmax(t->met_s - t->since_s, 0) : passed_s;
    return (spell){.kind = t->late, .seconds = waited_s, .transfer_s = passed_s - waited_s};
}

static void add_up(double *spent_s, const spell *one)
{
    spent_s[one->kind] += one->seconds;
    spent_s[SPENT_TRANSFER] += one->transfer_s;
}

static void trace_spell(sim *s, const timeline *t, const spell *past)
{
    const double met_s = past->transfer_s > 0 ? fmax(t->met_s, t->since_s) : s->clock.now_s;
    const int id = (int)(t - s->timelines.at);
    if (met_s > t->since_s) trace_interval_of(s, id, past->kind, t->since_s, met_s);
    if (met_s < s->clock.now_s) trace_interval_of(s, id, SPENT_TRANSFER, met_s, s->clock.now_s);
}

void account_time(sim *s, timeline *t)
{
    if (s->clock.now_s > t->since_s) {
        const spell past = spell_of(s, t);
        if (!t->account) t->account = number_of(s, t->rank, 0, 0, -1);
        add_up(t->spent_s, &past);
        if (t->account) add_up(s->accounts.at[t->account].spent_s, &past);
        if (s->trace) trace_spell(s, t, &past);
        if (t->late_rank >= 0) s->timelines.rank[t->late_rank].kept_waiting_s += past.seconds;
        t->since_s = s->clock.now_s;
    }
    t->met_s = INFINITY;
    t->late = 0;
    t->late_rank = -1;
    if (s->trace) s->trace->rank[t->rank].message = -1;
}

void account_wait(sim *s, timeline *t, const slot *x)
{
    const int id = x->is_collective ? x->run->instance : x->instance;
    const instance *all_of = id ? &s->comms.instances.at[id] : NULL;
    const double matched_s = x->has_matched ? x->matched_s : INFINITY, complete_s = all_of ? all_of->complete_s : INFINITY;
    t->met_s = fmin(matched_s, complete_s);
    if (s->trace) trace_waited(s, (int)(t - s->timelines.at), x);
    t->late = all_of || x->is_collective ? SPENT_LATE_MEMBERS : x->is.is_send ? SPENT_LATE_RECEIVER : SPENT_LATE_SENDER;
    if (t->met_s <= t->since_s) return;
    if (complete_s <= matched_s && all_of)
        t->late_rank = comm_world_rank(&s->comms, x->is.comm, all_of->last);
    else if (x->is.is_send)
        t->late_rank = x->target;
    else if (x->has_matched)
        t->late_rank = comm_world_rank(&s->comms, comm_other(&s->comms, x->is.comm), x->is.matched_source);
}

/* ---- messages ---- */

void account_posts(sim *s, int request, int account)
{
    slot *x = &s->requests.at[request];
    x->account = account;
    if (account) x->is.line = s->accounts.at[account].line;
}

void account_sent(sim *s, const slot *send)
{
    if (!send->account) return;
    call_account *a = &s->accounts.at[send->account];
    const int64_t bytes = send->is.bytes;
    const int size = bytes ? 1 + (63 - __builtin_clzll((unsigned long long)bytes)) / 2 : 0;
    a->sent_bytes += bytes;
    a->messages_of_size[size < ACCOUNT_SIZES ? size : ACCOUNT_SIZES - 1]++;
}

void account_received(sim *s, const slot *recv, int64_t bytes)
{
    if (recv->account) s->accounts.at[recv->account].received_bytes += bytes;
}

/* ---- what the outside asks ---- */

void sim_spent_s(const sim *s, double *spent_s)
{
    for (int kind = 0; kind < SPENT_KINDS; kind++) spent_s[kind] = 0;
    for (int id = 0; id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        for (int kind = 0; kind < SPENT_KINDS; kind++) spent_s[kind] += t->spent_s[kind];
        if (t->state == ENDED) continue;
        const spell present = spell_of(s, t);
        add_up(spent_s, &present);
    }
}

int sim_accounts(sim *s, const call_account **list)
{
    for (int id = 0; id < s->timelines.n; id++)
        if (s->timelines.at[id].state != ENDED) account_time(s, &s->timelines.at[id]);
    *list = s->accounts.at + (s->accounts.n > 0);
    return s->accounts.n;
}

void sim_kept_waiting_s(const sim *s, double *kept_s)
{
    for (int rank = 0; rank < s->timelines.n_ranks; rank++) kept_s[rank] = s->timelines.rank[rank].kept_waiting_s;
}
