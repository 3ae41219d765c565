#include "watchers/account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basics/cache_lines.h"
#include "basics/dates.h"
#include "mpi/late.h"
#include "mpi/mpi_world.h"
#include "watchers/charge.h"
#include "watchers/energy.h"
#include "watchers/poll_row.h"
#include "watchers/trace.h"

/* ---- accounts by rank and call site ---- */

_Static_assert(sizeof(call_account) % CACHE_LINE == 0, "an account fills its cache lines");

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
    const size_t used = all->room ? ((size_t)all->n + 1) * sizeof *all->at : 0;
    call_account *at = cache_lines_grow(&all->memory, all->at, used, (size_t)room * sizeof *at);
    if (at) all->at = at;
    int *follower = at ? realloc(all->follower, (size_t)room * sizeof *follower) : NULL;
    if (follower) all->follower = follower;
    int *bucket = follower ? calloc(2 * (size_t)room, sizeof *bucket) : NULL;
    if (!bucket) return SIM_OUT_OF_MEMORY;
    memset(&follower[all->room], 0, (size_t)(room - all->room) * sizeof *follower);
    free(all->bucket);
    all->bucket = bucket;
    all->room = room;
    for (int i = all->n; i > 0; i--) *find(all, &all->at[i]) = i;
    return 0;
}

/* Its number; 0 without memory: then the world is broken. */
static int number_of(sim *s, int rank, int call, int line, int comm)
{
    accounts *all = accounts_of(s);
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

int sim_new_accounts(sim *s, int n, const int *rank, const int *call, const int *line, const int *comm)
{
    accounts *all = accounts_of(s);
    const int first = all->n + 1;
    for (int i = 0; i < n; i++) {
        if (rank[i] < 0 || rank[i] >= s->timelines.n_ranks) return SIM_BAD_RANK;
        if (all->n + 1 >= all->room && grow(all) < 0) return SIM_OUT_OF_MEMORY;
        const call_account key = {.rank = rank[i], .call = call[i], .line = line[i], .comm = comm[i]};
        int *bucket = find(all, &key);
        all->at[++all->n] = key;
        if (!*bucket) *bucket = all->n; /* the first of equal ones, which freed communicators leave, is the one to be found */
    }
    return first;
}

/* ---- calls ---- */

/* Number of a call's account, or 0; without a search where the call follows the last one as it did before, as in a loop. */
static int number_of_next(sim *s, const timeline *t, const call_account *key)
{
    if (t->next_account && is_of(&accounts_of(s)->at[t->next_account], key)) return t->next_account;
    const int number = number_of(s, key->rank, key->call, key->line, key->comm);
    if (number && t->last_account) accounts_of(s)->follower[t->last_account] = number;
    return number;
}

void sim_begin_call(sim *s, int id, int call, int line, int comm)
{
    timeline *t = &s->timelines.at[id];
    if (t->n_open++) return;
    t->account_at_tail = number_of_next(s, t, &(call_account){.rank = t->rank, .call = call, .line = line, .comm = comm});
    if (!t->account_at_tail) return;
    t->line_at_tail = line;
    call_account *a = &accounts_of(s)->at[t->account_at_tail];
    a->count++;
    t->last_account = t->account_at_tail;
    t->next_account = accounts_of(s)->follower[t->account_at_tail];
    cache_lines_fetch(&accounts_of(s)->at[t->next_account], sizeof *a);
}

void sim_end_call(sim *s, int id)
{
    timeline *t = &s->timelines.at[id];
    if (--t->n_open == 0) t->account_at_tail = t->line_at_tail = 0;
}

int account_beside(sim *s, int id, int call, int n_calls)
{
    const timeline *t = &s->timelines.at[id];
    const int open = t->account_at_tail;
    const int number = number_of(s, t->rank, call, open ? accounts_of(s)->at[open].line : 0, -1);
    if (number) accounts_of(s)->at[number].count += n_calls;
    return number;
}

/* ---- time ----
 *
 * Whether a blocked timeline waited for others or for a transfer is told by the request that ends its wait (completion.h): nothing
 * is done when a transfer begins, or when the last rank enters a collective. */

/* Time that a timeline has spent in its present state: of one kind, and in a transfer that followed. */
typedef struct {
    int kind;
    double seconds, transfer_s;
} spell;

/* SPENT_LATE_*, SPENT_IO or SPENT_DEVICE of a wait that is not over. */
static int late_so_far(const sim *s, const timeline *t)
{
    waiting what = {0};
    const action *a = t->n ? &t->queue[t->first] : NULL;
    if (a && a->kind->describe) a->kind->describe(s, a, &what);
    if (what.kind == WAIT_STORAGE) return SPENT_IO;
    if (what.kind == WAIT_DEVICE) return SPENT_DEVICE;
    return what.kind == WAIT_SEND ? SPENT_LATE_RECEIVER : what.kind == WAIT_COLLECTIVE ? SPENT_LATE_MEMBERS : SPENT_LATE_SENDER;
}

static spell spell_of(const sim *s, const timeline *t)
{
    const double passed_s = s->clock.now_s - t->since_s;
    if (t->spends != SPENT_WAITING) return (spell){.kind = t->spends, .seconds = passed_s};
    if (!t->late) return (spell){.kind = late_so_far(s, t), .seconds = passed_s};
    const double waited_s = t->met_s < s->clock.now_s ? larger(t->met_s - t->since_s, 0) : passed_s;
    return (spell){.kind = t->late, .seconds = waited_s, .transfer_s = passed_s - waited_s};
}

static void add_up(double *spent_s, const spell *one)
{
    spent_s[one->kind] += one->seconds;
    spent_s[SPENT_TRANSFER] += one->transfer_s;
}

static void charge_wait(sim *s, timeline *t, double above_idle_j)
{
    const spell past = spell_of(s, t);
    const double now_s = s->clock.now_s, met_s = past.transfer_s > 0 ? larger(t->met_s, t->since_s) : now_s;
    held_time wait = {.start_s = t->since_s, .end_s = met_s, .above_idle_j = above_idle_j, .kind = past.kind};
    held_time after = {.start_s = met_s, .end_s = now_s, .above_idle_j = above_idle_j, .kind = SPENT_TRANSFER};
    wait.account = after.account = t->account;
    if (met_s > t->since_s) charge(s, t, &wait, past.seconds, t->late_rank);
    if (met_s < now_s) charge(s, t, &after, past.transfer_s, -1);
}

/* Charges the time that a timeline has spent in its present state. */
static void charge_time(sim *s, timeline *t)
{
    const double now_s = s->clock.now_s;
    if (now_s > t->since_s && t->spends != SPENT_NOTHING) {
        if (!t->account) t->account = number_of(s, t->rank, 0, 0, -1);
        const double above_idle_j = accounts_of(s)->trace ? energy_take_j(s, (int)(t - s->timelines.at)) : 0;
        if (t->spends == SPENT_WAITING || t->spends == SPENT_SKIPPED) poll_row_end(s, t);
        if (t->spends == SPENT_WAITING) {
            charge_wait(s, t, above_idle_j);
        } else {
            const held_time past = {.start_s = t->since_s, .end_s = now_s, .above_idle_j = above_idle_j, .kind = t->spends,
                                    .account = t->account};
            if (!poll_row_hold(s, t, &past)) charge(s, t, &past, now_s - t->since_s, -1);
        }
    }
    t->since_s = now_s;
    t->met_s = INFINITY;
    t->late = 0;
    t->late_rank = -1;
    if (accounts_of(s)->trace) trace_has_waited(s, t);
}

static void entered(sim *s, void *own, int id, int state)
{
    timeline *t = &s->timelines.at[id];
    const accounts *all = own;
    charge_time(s, t);
    if (state != ENDED) return;
    poll_row_end(s, t);
    if (all->trace) trace_ended(s, t);
}

/* A blocked timeline goes on because of a request: from when on nobody kept it waiting, and who did before. */
static void completed(sim *s, void *own, int request)
{
    const slot *x = &mpi_of(s)->requests.at[request];
    const accounts *all = own;
    if (x->waiter < 0) return;
    timeline *t = &s->timelines.at[request_waiter(&mpi_of(s)->requests, request)];
    if (t->state != WAITING) return;
    const late_side side = late_side_of(s, x);
    if (all->trace) trace_waited(s, t, x);
    t->met_s = side.met_s;
    t->late = side.kind;
    t->late_rank = side.met_s > t->since_s ? side.rank : -1;
}

static void let_in(sim *s, void *own, int id, int by)
{
    timeline *t = &s->timelines.at[id];
    (void)own;
    t->met_s = s->clock.now_s;
    t->late = SPENT_LATE_SENDER;
    t->late_rank = s->timelines.at[by].rank;
}

/* ---- messages ---- */

static void posted(sim *s, void *own, int request)
{
    const slot *send = &mpi_of(s)->requests.at[request];
    if (!send->is.is_send || !send->account) return;
    call_account *a = &((accounts *)own)->at[send->account];
    const int64_t bytes = send->is.bytes;
    const int size = bytes ? 1 + (63 - __builtin_clzll((unsigned long long)bytes)) / 2 : 0;
    a->sent_bytes += bytes;
    a->messages_of_size[size < ACCOUNT_SIZES ? size : ACCOUNT_SIZES - 1]++;
}

static void received(sim *s, void *own, int send, int recv)
{
    const slot *from = &mpi_of(s)->requests.at[send], *to = &mpi_of(s)->requests.at[recv];
    const int64_t bytes = from->is.bytes < to->is.bytes ? from->is.bytes : to->is.bytes;
    if (to->account) ((accounts *)own)->at[to->account].received_bytes += bytes;
}

/* ---- polls ---- */

static void looked(sim *s, void *own, int id, int request)
{
    (void)own;
    if (request) poll_row_finds(s, &s->timelines.at[id], request);
}

static void polled(sim *s, void *own, int id, const poll_question *asked, int is_found)
{
    timeline *t = &s->timelines.at[id];
    const poll_question *last = &t->poll.in_vain;
    (void)own;
    if (!asked) {
        poll_row_end(s, t);
    } else if (!is_found) {
        if (t->row.n && last->kind && !poll_is_same(asked, last)) poll_row_mixes(s, t, asked);
        poll_row_in_vain(s, t, asked);
    }
}

/* ---- the watcher ---- */

static void fetch(const void *own, const timeline *t)
{
    const accounts *all = own;
    cache_lines_fetch(&all->at[t->next_account], sizeof *all->at);
}

static void check(const sim *s, const void *own)
{
    (void)s, (void)own;
#ifdef SMPY_CHECK
    for (int id = 0; id < s->timelines.n; id++) poll_row_check(&s->timelines.at[id]);
#endif
}

static void free_accounts(sim *s, void *own)
{
    accounts *all = own;
    for (int id = 0; id < s->timelines.n; id++) free(s->timelines.at[id].row.held);
    free(all->memory);
    free(all->bucket);
    free(all->follower);
    free(all);
}

static const watcher accounts_watcher = {.entered = entered, .posted = posted, .received = received, .completed = completed,
                                         .let_in = let_in, .looked = looked, .polled = polled, .fetch = fetch, .check = check,
                                         .free = free_accounts};

int accounts_begin(sim *s)
{
    accounts *all = calloc(1, sizeof *all);
    return all ? watch_begin(s, &accounts_watcher, all) : SIM_OUT_OF_MEMORY;
}

/* ---- queries from outside ---- */

void sim_spent_s(const sim *s, double *spent_s)
{
    for (int kind = 0; kind < SPENT_KINDS; kind++) spent_s[kind] = 0;
    for (int i = 1; i <= accounts_of(s)->n; i++)
        for (int kind = 0; kind < SPENT_KINDS; kind++) spent_s[kind] += accounts_of(s)->at[i].spent_s[kind];
    for (int id = 0; id < s->timelines.n; id++) {
        const timeline *t = &s->timelines.at[id];
        poll_row_add_up(t, spent_s);
        if (t->state == ENDED || t->spends == SPENT_NOTHING || t->spends == SPENT_SKIPPED) continue;
        const spell present = spell_of(s, t);
        add_up(spent_s, &present);
    }
}

int sim_accounts(sim *s, const call_account **list)
{
    for (int id = 0; id < s->timelines.n; id++) {
        if (s->timelines.at[id].state == ENDED) continue;
        charge_time(s, &s->timelines.at[id]);
        poll_row_end(s, &s->timelines.at[id]);
    }
    return sim_accounts_so_far(s, list);
}

int sim_accounts_so_far(const sim *s, const call_account **list)
{
    *list = accounts_of(s)->at + (accounts_of(s)->n > 0);
    return accounts_of(s)->n;
}

void sim_skipped_s(const sim *s, double *skipped_s)
{
    for (int rank = 0; rank < s->timelines.n_ranks; rank++) skipped_s[rank] = s->timelines.rank[rank].skipped_s;
}

void sim_kept_waiting_s(const sim *s, double *kept_s)
{
    for (int rank = 0; rank < s->timelines.n_ranks; rank++) kept_s[rank] = s->timelines.rank[rank].kept_waiting_s;
}

void sim_caused_waits_s(const sim *s, double *caused_s)
{
    for (int rank = 0; rank < s->timelines.n_ranks; rank++) caused_s[rank] = s->timelines.rank[rank].caused_s;
}
