#include "networks/network_ib.h"

#include <math.h>
#include <stdlib.h>

#include "networks/network_flow.h"

/* The hosts that messages join are a graph. Its edges are pairs of a sender and a receiver; a pair has the messages between them,
 * which are slowed down alike. A pair lives while it has messages, and is in its sender's list and in its receiver's.
 *
 * A message that begins or ends changes what its sender's pairs are due, and the pairs of others to its receiver. The sender's are
 * judged at once; the others' senders are stale, until they are reached.
 *
 * Invariants: (1) n_out and n_in of a host are the numbers of messages of its pairs, n_targets and n_sources those of its pairs,
 *                 n_crowded that of its pairs to hosts with more than CROWD messages coming in;
 *             (2) the pairs of a host that is not stale have the slowdown that they are due, and of one that is, those but
 *                 stale_pair, or some (ALL);
 *             (3) a pair with a message whose flow has another slowdown is in `changed`, until the next date is asked for.
 *
 * A message costs O(pairs of its sender and of its receiver), and while hosts stay stale O(the pairs that its sender reaches). */

enum { NONE = -1, ALL = -2, CROWD = 2 };

typedef struct {
    int first_out, first_in;     /* pairs */
    int n_out, n_in, n_targets, n_sources, n_crowded;
    int stale_pair;              /* NONE: it is not stale */
    int visit;                   /* the last one that came here */
} ib_host;

typedef struct {
    int source, target;
    int n, first;                /* messages; `first` starts their list */
    int next_out, previous_out, next_in, previous_in; /* next_out: in the free list, too */
    double slowdown;             /* NAN: to be judged */
    int is_in_changed;
} ib_pair;

typedef struct {
    int pair;                    /* NONE: not under way, or within a host */
    int next, previous;          /* neighbours in its pair's list */
    double slowdown;             /* present slowdown of its flow; NAN: none, its latency has changed since */
} ib_message;

typedef struct {
    double inbound, outbound, crowded;
    void *flows;                 /* the state of network_flow */
    ib_host *host;
    int n_hosts, n_stale;
    ib_pair *pair;
    int n_pairs, pair_room, free_pair;
    ib_message *message;         /* by transfer */
    int message_room;
    int *changed;                /* pairs, some of them over */
    int n_changed, changed_room;
    int *to_visit;               /* [n_hosts] */
    int visit;
    int error;                   /* error that no caller could be told: out of memory */
} ib_network;

static void ended(void *watcher, int id);
static void rebounded(void *watcher, int id);

static void free_state(void *state)
{
    ib_network *n = state;
    if (n->flows) network_flow.free(n->flows);
    free(n->host);
    free(n->pair);
    free(n->message);
    free(n->changed);
    free(n->to_visit);
    free(n);
}

static void *begin(sim *s, const network_calls *kernel, const void *parameters)
{
    const ib_parameters *m = parameters;
    ib_network *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->inbound = m->inbound;
    n->outbound = m->outbound;
    n->crowded = m->crowded;
    n->free_pair = NONE;
    n->n_hosts = platform_n_hosts(network_platform(s));
    n->flows = network_flow.begin(s, kernel, &m->flow);
    n->host = calloc((size_t)n->n_hosts + 1, sizeof *n->host);
    n->to_visit = calloc((size_t)n->n_hosts + 1, sizeof *n->to_visit);
    if (!n->flows || !n->host || !n->to_visit) {
        free_state(n);
        return NULL;
    }
    for (int h = 0; h < n->n_hosts; h++) n->host[h].first_out = n->host[h].first_in = n->host[h].stale_pair = NONE;
    flow_watch(n->flows, &(flow_watcher){ended, rebounded, n});
    return n;
}

/* ---- the graph ---- */

/* Room for `needed` items of a size: the array, perhaps moved, or NULL without memory. */
static void *grown(void *array, int *room, int needed, size_t size)
{
    if (needed <= *room) return array;
    const int more = needed > 64 ? (needed > INT32_MAX / 2 ? needed : 2 * needed) : 64;
    void *new = realloc(array, (size_t)more * size);
    if (new) *room = more;
    return new;
}

static int pair_new(ib_network *n, int source, int target)
{
    int p = n->free_pair;
    if (p >= 0) {
        n->free_pair = n->pair[p].next_out;
    } else {
        ib_pair *pair = grown(n->pair, &n->pair_room, n->n_pairs + 1, sizeof *pair);
        if (!pair) return SIM_OUT_OF_MEMORY;
        n->pair = pair;
        p = n->n_pairs++;
        n->pair[p].is_in_changed = 0;
    }
    ib_host *from = &n->host[source], *to = &n->host[target];
    n->pair[p] = (ib_pair){.source = source, .target = target, .first = NONE, .next_out = from->first_out, .previous_out = NONE,
                           .next_in = to->first_in, .previous_in = NONE, .slowdown = 1,
                           .is_in_changed = n->pair[p].is_in_changed};
    if (from->first_out >= 0) n->pair[from->first_out].previous_out = p;
    if (to->first_in >= 0) n->pair[to->first_in].previous_in = p;
    from->first_out = to->first_in = p;
    from->n_targets++;
    from->n_crowded += to->n_in > CROWD;
    to->n_sources++;
    return p;
}

static void pair_free(ib_network *n, int p)
{
    const ib_pair gone = n->pair[p];
    if (gone.next_out >= 0) n->pair[gone.next_out].previous_out = gone.previous_out;
    if (gone.next_in >= 0) n->pair[gone.next_in].previous_in = gone.previous_in;
    *(gone.previous_out >= 0 ? &n->pair[gone.previous_out].next_out : &n->host[gone.source].first_out) = gone.next_out;
    *(gone.previous_in >= 0 ? &n->pair[gone.previous_in].next_in : &n->host[gone.target].first_in) = gone.next_in;
    n->host[gone.source].n_targets--;
    n->host[gone.source].n_crowded -= n->host[gone.target].n_in > CROWD;
    n->host[gone.target].n_sources--;
    n->pair[p].next_out = n->free_pair;
    n->free_pair = p;
}

static int pair_between(ib_network *n, int source, int target)
{
    int p = n->host[source].first_out;
    while (p >= 0 && n->pair[p].target != target) p = n->pair[p].next_out;
    return p >= 0 ? p : pair_new(n, source, target);
}

/* One message more comes to a host, or one less: whether its senders are due something else because of a crowd. */
static int count_in(ib_network *n, int target, int more)
{
    ib_host *to = &n->host[target];
    const int was_crowded = to->n_in > CROWD, is_crowded = (to->n_in += more) > CROWD;
    for (int p = to->first_in; p >= 0 && was_crowded != is_crowded; p = n->pair[p].next_in)
        n->host[n->pair[p].source].n_crowded += is_crowded - was_crowded;
    return was_crowded != is_crowded;
}

static void pair_add(ib_network *n, int p, int id)
{
    ib_pair *pair = &n->pair[p];
    n->message[id] = (ib_message){.pair = p, .next = pair->first, .previous = NONE, .slowdown = 1};
    if (pair->first >= 0) n->message[pair->first].previous = id;
    pair->first = id;
    pair->n++;
    n->host[pair->source].n_out++;
}

static void pair_remove(ib_network *n, int id)
{
    const ib_message gone = n->message[id];
    ib_pair *pair = &n->pair[gone.pair];
    if (gone.next >= 0) n->message[gone.next].previous = gone.previous;
    *(gone.previous >= 0 ? &n->message[gone.previous].next : &pair->first) = gone.next;
    n->message[id].pair = NONE;
    n->host[pair->source].n_out--;
    if (--pair->n == 0) pair_free(n, gone.pair);
}

/* ---- penalties ---- */

static double penalty_out(const ib_network *n, const ib_host *from)
{
    if (from->n_out == 1) return 1.0;
    const double plain = from->n_out * n->outbound, crowded = plain * n->crowded;
    return !from->n_crowded ? plain : from->n_crowded == from->n_targets ? crowded : fmax(plain, crowded);
}

static int note_change(ib_network *n, int p)
{
    if (n->pair[p].is_in_changed) return 0;
    int *changed = grown(n->changed, &n->changed_room, n->n_changed + 1, sizeof *changed);
    if (!changed) return SIM_OUT_OF_MEMORY;
    n->changed = changed;
    n->changed[n->n_changed++] = p;
    n->pair[p].is_in_changed = 1;
    return 0;
}

static int judge_pair(ib_network *n, int p, double out)
{
    ib_pair *pair = &n->pair[p];
    const ib_host *to = &n->host[pair->target];
    const double in = to->n_in == 1 ? 1.0 : pair->n * n->inbound * to->n_sources;
    const double slowdown = fmax(in, out);
    if (pair->slowdown == slowdown) return 0;
    pair->slowdown = slowdown;
    return note_change(n, p);
}

static int judge(ib_network *n, int h, int only)
{
    ib_host *from = &n->host[h];
    const double out = penalty_out(n, from);
    n->n_stale -= from->stale_pair != NONE;
    from->stale_pair = NONE;
    if (only >= 0) return judge_pair(n, only, out);
    for (int p = from->first_out; p >= 0; p = n->pair[p].next_out)
        if (judge_pair(n, p, out) < 0) return SIM_OUT_OF_MEMORY;
    return 0;
}

/* The senders of a host, but one, are stale: their pairs to it, or all if there has come or gone a crowd. */
static void make_stale(ib_network *n, int target, int but, int is_of_all)
{
    for (int p = n->host[target].first_in; p >= 0; p = n->pair[p].next_in) {
        ib_host *from = &n->host[n->pair[p].source];
        if (n->pair[p].source == but) continue;
        n->n_stale += from->stale_pair == NONE;
        from->stale_pair = is_of_all || (from->stale_pair != NONE && from->stale_pair != p) ? ALL : p;
    }
}

static int reach(ib_network *n, int h, int *n_to_visit)
{
    if (n->host[h].visit == n->visit) return 0;
    n->host[h].visit = n->visit;
    n->to_visit[(*n_to_visit)++] = h;
    return n->host[h].stale_pair == NONE ? 0 : judge(n, h, n->host[h].stale_pair);
}

/* Judges the stale hosts that messages join with this one. */
static int judge_from(ib_network *n, int first)
{
    int n_to_visit = 0, error = 0;
    if (!n->n_stale) return 0;
    if (++n->visit == INT32_MAX) {
        for (int h = 0; h < n->n_hosts; h++) n->host[h].visit = 0;
        n->visit = 1;
    }
    error = reach(n, first, &n_to_visit);
    for (int i = 0; i < n_to_visit && n->n_stale && !error; i++) {
        const ib_host *at = &n->host[n->to_visit[i]];
        for (int p = at->first_out; p >= 0 && !error; p = n->pair[p].next_out) error = reach(n, n->pair[p].target, &n_to_visit);
        for (int p = at->first_in; p >= 0 && !error; p = n->pair[p].next_in) error = reach(n, n->pair[p].source, &n_to_visit);
    }
    return error;
}

/* A message has come between two hosts, or gone: what it changes. */
static int update(ib_network *n, int source, int target, int more)
{
    const int is_of_all = count_in(n, target, more);
    make_stale(n, target, source, is_of_all);
    const int error = judge(n, source, ALL);
    return error < 0 ? error : judge_from(n, source);
}

/* ---- the network ---- */

static void keep(ib_network *n, int error)
{
    if (error < 0) n->error = error;
}

static int start(sim *s, void *state, int id)
{
    ib_network *n = state;
    const transfer *t = transfer_at(s, id);
    ib_message *message = grown(n->message, &n->message_room, id + 1, sizeof *message);
    if (!message) return SIM_OUT_OF_MEMORY;
    n->message = message;
    n->message[id].pair = NONE;
    const int is_local = t->source_host == t->target_host;
    const int pair = is_local ? NONE : pair_between(n, t->source_host, t->target_host);
    if (!is_local && pair < 0) return pair;
    const int error = network_flow.start(s, n->flows, id);
    if (error < 0 && !is_local && n->pair[pair].n == 0) pair_free(n, pair);
    if (error < 0 || is_local) return error;
    pair_add(n, pair, id);
    keep(n, note_change(n, pair));
    keep(n, update(n, t->source_host, t->target_host, 1));
    return 0;
}

static void ended(void *watcher, int id)
{
    ib_network *n = watcher;
    if (n->message[id].pair < 0) return;
    const int source = n->pair[n->message[id].pair].source, target = n->pair[n->message[id].pair].target;
    pair_remove(n, id);
    keep(n, update(n, source, target, -1));
}

/* The message is not slowed down any more, until its sender is judged again. */
static void rebounded(void *watcher, int id)
{
    ib_network *n = watcher;
    const int p = n->message[id].pair;
    if (p < 0) return;
    ib_host *from = &n->host[n->pair[p].source];
    n->message[id].slowdown = n->pair[p].slowdown = NAN;
    n->n_stale += from->stale_pair == NONE;
    from->stale_pair = from->stale_pair == NONE || from->stale_pair == p ? p : ALL;
}

static int link_changed(sim *s, void *state, int kind, int link, double before)
{
    ib_network *n = state;
    return network_flow.link_changed(s, n->flows, kind, link, before);
}

static int apply(sim *s, ib_network *n, int p)
{
    n->pair[p].is_in_changed = 0;
    for (int id = n->pair[p].n ? n->pair[p].first : NONE; id >= 0; id = n->message[id].next) {
        ib_message *x = &n->message[id];
        if (x->slowdown == n->pair[p].slowdown) continue;
        x->slowdown = n->pair[p].slowdown;
        const int error = flow_slow_down(s, n->flows, id, x->slowdown);
        if (error < 0) return error;
    }
    return 0;
}

static int next_date(sim *s, void *state, double *date_s)
{
    ib_network *n = state;
    if (n->error < 0) return n->error;
    for (int i = 0; i < n->n_changed; i++) {
        const int error = apply(s, n, n->changed[i]);
        if (error < 0) return error;
    }
    n->n_changed = 0;
    return network_flow.next_date(s, n->flows, date_s);
}

static int fire(sim *s, void *state)
{
    ib_network *n = state;
    return network_flow.fire(s, n->flows);
}

static double alone_s(sim *s, void *state, int source_host, int target_host, int64_t bytes)
{
    ib_network *n = state;
    return network_flow.alone_s(s, n->flows, source_host, target_host, bytes);
}

static void watch_links(void *state, const link_watcher *watcher)
{
    const ib_network *n = state;
    network_flow.watch_links(n->flows, watcher);
}

static void check(const sim *s, const void *state)
{
    const ib_network *n = state;
    network_flow.check(s, n->flows);
#ifdef SMPY_CHECK
    int n_stale = 0;
    for (int h = 0; h < n->n_hosts; h++) {
        const ib_host *at = &n->host[h];
        int n_out = 0, n_in = 0, n_targets = 0, n_sources = 0, n_crowded = 0;
        for (int p = at->first_out; p >= 0; p = n->pair[p].next_out, n_targets++) {
            const ib_host *to = &n->host[n->pair[p].target];
            const double in = to->n_in == 1 ? 1.0 : n->pair[p].n * n->inbound * to->n_sources;
            n_out += n->pair[p].n;
            n_crowded += to->n_in > CROWD;
            if (at->stale_pair != ALL && at->stale_pair != p && n->pair[p].slowdown != fmax(in, penalty_out(n, at))) abort();
        }
        for (int p = at->first_in; p >= 0; p = n->pair[p].next_in, n_sources++) n_in += n->pair[p].n;
        if (n_out != at->n_out || n_in != at->n_in || n_targets != at->n_targets) abort();
        if (n_sources != at->n_sources || n_crowded != at->n_crowded) abort();
        n_stale += at->stale_pair != NONE;
    }
    if (n_stale != n->n_stale) abort();
#endif
}

static const network_parameter parameters[] = {{"inbound", 1}, {"outbound", 1}, {"crowded", 1}, {NULL, 0}};

const network_kind network_ib = {
    .abi = {NETWORK_ABI, sizeof(network_kind)}, .name = "ib", .parameters = parameters, .extends = &network_flow,
    .block_bytes = sizeof(ib_parameters), .begin = begin, .start = start, .next_date = next_date, .fire = fire,
    .free = free_state, .check = check,
    .link_changed = link_changed, .watch_links = watch_links, .alone_s = alone_s};
