#include "watchers/message_checks.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/match.h"
#include "mpi/messages.h"
#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "networks/transfer.h"

enum { CHECKED_RECENT = 4, ROWS_MAX = 1 << 16, CACHE = 1 << 10, SEARCHED_MAX = 64 };

typedef struct {
    uint64_t type;
    int64_t known;               /* a send's: of its sender, as it was posted */
    const char *data;            /* a receive's buffer, and what it holds; NULL: nobody asks */
    int64_t bytes;
    uint64_t sum;
    int asks, nth;               /* a receive's from any source: its number of its rank's, from 1 */
} noted_request;

typedef struct {
    int context, tag;            /* of a receive from any source; tag as posted */
    int sender;                  /* world rank of the message it has taken; -1: there was no such receive */
    int line[2];                 /* its own, the sender's */
    int asks, kind, nth;         /* CHECK_RACE or CHECK_PROBED */
    int64_t serial;              /* number of such matches up to this one */
} wild_match;

typedef struct {
    int64_t known;               /* serial of the last match from any source that anything it has received follows from */
    wild_match recent[CHECKED_RECENT];
    int oldest;
    int n_receives;              /* from any source, so far */
} checked_rank;

typedef struct {
    int rank, nth, source, tag;  /* nth 0: nothing is chosen */
} chosen_message;

typedef struct {
    uint64_t *next;              /* of whoever posts next; or NULL */
    noted_request *of;           /* by the number of the request */
    checked_rank *rank;
    checked_messages *row;
    int64_t n_wild;              /* matches of receives from any source */
    chosen_message chosen;
    int request_room, n_ranks, n_rows, row_room;
    int cache[CACHE];            /* by hash of lines and types: 1 + the row last found */
} message_checks;

/* ---- rows ---- */

static uint64_t hash_of(const checked_messages *m)
{
    const uint64_t parts[] = {(uint64_t)m->line[0], (uint64_t)m->line[1], (uint64_t)m->line[2], m->type[0], m->type[1]};
    uint64_t hash = (uint64_t)m->kind;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) hash = (hash ^ parts[i]) * 0x9E3779B97F4A7C15u;
    return hash >> 32;
}

static int is_alike(const checked_messages *a, const checked_messages *b)
{
    return a->kind == b->kind && a->line[0] == b->line[0] && a->line[1] == b->line[1] && a->line[2] == b->line[2] &&
           a->type[0] == b->type[0] && a->type[1] == b->type[1];
}

static void add(sim *s, message_checks *own, const checked_messages *found)
{
    int *known = &own->cache[hash_of(found) % CACHE];
    if (*known && is_alike(&own->row[*known - 1], found)) {
        checked_messages *row = &own->row[*known - 1];
        row->n += row->n < INT32_MAX;
        if (found->bytes > row->bytes) row->bytes = found->bytes;
        row->asks |= found->asks;
        return;
    }
    if (own->n_rows == ROWS_MAX) return; /* these are enough to name */
    if (own->n_rows == own->row_room) {
        const int room = own->row_room ? 2 * own->row_room : 64;
        checked_messages *grown = realloc(own->row, (size_t)room * sizeof *grown);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return;
        }
        own->row = grown;
        own->row_room = room;
    }
    own->row[own->n_rows] = *found;
    *known = ++own->n_rows;
}

/* ---- requests and ranks, as far as they are known ---- */

static noted_request *noted(sim *s, message_checks *own, int request)
{
    if (request >= own->request_room) {
        int room = own->request_room ? own->request_room : 256;
        while (room <= request) room *= 2;
        noted_request *grown = realloc(own->of, (size_t)room * sizeof *grown);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        for (int i = own->request_room; i < room; i++) grown[i] = (noted_request){0};
        own->of = grown;
        own->request_room = room;
    }
    return &own->of[request];
}

static checked_rank *checked(sim *s, message_checks *own, int rank)
{
    if (rank >= own->n_ranks) {
        int n = own->n_ranks ? own->n_ranks : 64;
        while (n <= rank) n *= 2;
        checked_rank *grown = realloc(own->rank, (size_t)n * sizeof *grown);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        for (int i = own->n_ranks; i < n; i++) {
            grown[i] = (checked_rank){0};
            for (int r = 0; r < CHECKED_RECENT; r++) grown[i].recent[r].sender = -1;
        }
        own->rank = grown;
        own->n_ranks = n;
    }
    return &own->rank[rank];
}

uint64_t checked_sum(const char *data, int64_t bytes)
{
    uint64_t sum = (uint64_t)bytes, word = 0;
    for (; bytes >= (int64_t)sizeof word; bytes -= (int64_t)sizeof word, data += sizeof word) {
        memcpy(&word, data, sizeof word);
        sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 29;
    }
    word = 0;
    memcpy(&word, data, (size_t)bytes);
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    return sum ^ sum >> 29;
}

static int is_of_program(const slot *x)
{
    return !(x->context & 1);
}

/* A message is about to be put into the buffer of its receive. */
static void look_at(sim *s, message_checks *own, int recv)
{
    const slot *to = &mpi_of(s)->requests.at[recv];
    const noted_request *of = recv < own->request_room && is_of_program(to) ? &own->of[recv] : NULL;
    if (!of || !of->data || checked_sum(of->data, of->bytes) == of->sum) return;
    add(s, own, &(checked_messages){.kind = CHECK_WRITTEN, .n = 1, .rank = {to->is.rank, -1, -1}, .line = {to->is.line, 0, 0}});
}

/* ---- events ---- */

/* A receive of the program's from any source is about to be posted. */
static void note_receive(sim *s, message_checks *own, noted_request *of, request *is)
{
    checked_rank *rank = checked(s, own, is->rank);
    if (!rank) return;
    of->nth = ++rank->n_receives;
    if (of->nth != own->chosen.nth || is->rank != own->chosen.rank) return;
    is->peer = own->chosen.source;
    is->tag = own->chosen.tag;
}

static void appended(sim *s, void *state, int timeline, const appended_action *did)
{
    mpi_state *mpi = mpi_of(s);
    message_checks *own = state;
    const int starts = ROW_STARTS | ROW_BYTES | ROW_TAG, request = did->row.request;
    (void)timeline;
    if ((did->kind->is.columns & starts) != starts || request <= 0 || mpi->requests.at[request].is_collective) return;
    noted_request *of = noted(s, own, request);
    if (!of) return;
    *of = (noted_request){0};
    slot *x = &mpi->requests.at[request];
    if (!x->is.is_send && x->is.peer == SIM_ANY && is_of_program(x)) note_receive(s, own, of, &x->is);
    if (!own->next) return;
    const int end = mpi->requests.at[request].is.is_send ? CHECKED_SEND : CHECKED_RECV;
    of->type = own->next[end];
    own->next[end] = 0;
    if (end == CHECKED_SEND) return;
    of->asks = own->next[CHECKED_ASKS] != 0;
    own->next[CHECKED_ASKS] = 0;
}

static int takes(const wild_match *w, const slot *send)
{
    return w->context == send->context && w->sender != send->is.rank && (w->tag == SIM_ANY || w->tag == send->is.tag);
}

static void race(sim *s, message_checks *own, int receiver, const wild_match *w, const slot *other)
{
    add(s, own, &(checked_messages){.kind = w->kind, .n = 1, .asks = w->asks, .rank = {receiver, w->sender, other->is.rank},
                                    .line = {w->line[0], w->line[1], other->is.line}, .nth = w->nth,
                                    .source = other->is.matched_source, .tag = other->is.tag});
}

/* A message follows from no match after the last one that its sender knows of. */
static void posted(sim *s, void *state, int request)
{
    message_checks *own = state;
    const slot *x = &mpi_of(s)->requests.at[request];
    if (!x->is.is_send || !own->n_wild) return;
    noted_request *of = noted(s, own, request);
    if (!of) return;
    of->known = x->is.rank < own->n_ranks ? own->rank[x->is.rank].known : 0;
    if (!is_of_program(x) || x->target >= own->n_ranks) return;
    const checked_rank *target = &own->rank[x->target];
    for (int i = 0; i < CHECKED_RECENT; i++)
        if (target->recent[i].sender >= 0 && of->known < target->recent[i].serial && takes(&target->recent[i], x))
            race(s, own, x->target, &target->recent[i], x);
}

/* Messages that wait at a match. Where they are too many to look at, the oldest is looked at. */
static void compare_with_waiting(sim *s, message_checks *own, int receiver, const wild_match *w)
{
    mpi_state *mpi = mpi_of(s);
    const match_arrivals *arrivals = &mpi->match.arrivals[receiver];
    if (arrivals->n_indexed) {
        const int other = match_probe(&mpi->match, &mpi->requests, w->context, receiver, SIM_ANY, w->tag);
        if (other > 0 && takes(w, &mpi->requests.at[other])) race(s, own, receiver, w, &mpi->requests.at[other]);
        return;
    }
    int other = arrivals->first_send;
    for (int n = 0; other && n < SEARCHED_MAX; n++) {
        const slot *x = &mpi->requests.at[other];
        if (takes(w, x)) race(s, own, receiver, w, x);
        other = x->next_arrival;
    }
}

/* Receiver `rank` has taken, or found, a message from any source. */
static void note_match(sim *s, message_checks *own, int rank, wild_match found)
{
    checked_rank *receiver = checked(s, own, rank);
    if (!receiver) return;
    wild_match *w = &receiver->recent[receiver->oldest];
    receiver->oldest = (receiver->oldest + 1) % CHECKED_RECENT;
    *w = found;
    w->serial = receiver->known = ++own->n_wild;
    compare_with_waiting(s, own, rank, w);
}

static void matched(sim *s, void *state, int send, int recv)
{
    message_checks *own = state;
    const slot *from = &mpi_of(s)->requests.at[send], *to = &mpi_of(s)->requests.at[recv];
    if (!is_of_program(to)) return;
    if (!noted(s, own, send > recv ? send : recv)) return;
    const uint64_t sent = own->of[send].type, wanted = own->of[recv].type;
    if (sent != wanted && sent && wanted)
        add(s, own, &(checked_messages){.kind = CHECK_TYPES, .n = 1, .bytes = from->is.bytes, .type = {sent, wanted},
                                        .rank = {to->is.rank, from->is.rank, -1}, .line = {to->is.line, from->is.line, 0}});
    if (from->has_arrived) look_at(s, own, recv);
    if (to->is.peer != SIM_ANY) return;
    note_match(s, own, to->is.rank, (wild_match){.context = to->context, .tag = to->is.tag, .sender = from->is.rank,
                                                 .line = {to->is.line, from->is.line}, .asks = own->of[recv].asks,
                                                 .kind = CHECK_RACE, .nth = own->of[recv].nth});
}

/* A poll has found a request: that of a message, if it is a probe's. */
static void looked(sim *s, void *state, int id, int request)
{
    const timeline *t = &s->timelines.at[id];
    const slot *x = request > 0 ? &mpi_of(s)->requests.at[request] : NULL;
    if (!x || !x->is.is_send || x->target != t->rank || x->context != 2 * t->wanted.comm || t->wanted.source != SIM_ANY) return;
    note_match(s, state, t->rank, (wild_match){.context = x->context, .tag = t->wanted.tag, .sender = x->is.rank,
                                               .line = {t->line_at_tail, x->is.line}, .kind = CHECK_PROBED});
}

static void arrived(sim *s, void *state, int transfer)
{
    const int send = protocol_send_of(transfer_at(s, transfer));
    const int recv = send ? protocol_recv_of(s, transfer_at(s, transfer)) : 0;
    if (recv) look_at(s, state, recv);
}

static void received(sim *s, void *state, int send, int recv)
{
    message_checks *own = state;
    const int is_noted = recv < own->request_room && is_of_program(&mpi_of(s)->requests.at[recv]) && own->of[recv].data;
    if (is_noted) own->of[recv].sum = checked_sum(own->of[recv].data, own->of[recv].bytes);
    if (!own->n_wild || !noted(s, own, send)) return;
    const int64_t known = own->of[send].known;
    checked_rank *rank = known ? checked(s, own, mpi_of(s)->requests.at[recv].is.rank) : NULL;
    if (rank && rank->known < known) rank->known = known;
}

static void free_checks(sim *s, void *state)
{
    message_checks *own = state;
    (void)s;
    free(own->of);
    free(own->rank);
    free(own->row);
    free(own);
}

static const watcher checks_watcher = {.appended = appended, .posted = posted, .matched = matched, .looked = looked,
                                       .arrived = arrived, .received = received, .free = free_checks};

/* ---- from outside ---- */

int sim_check_messages(sim *s, uint64_t *next)
{
    message_checks *own = calloc(1, sizeof *own);
    if (!own || watch_begin(s, &checks_watcher, own) < 0) {
        free(own);
        return SIM_OUT_OF_MEMORY;
    }
    own->next = next;
    return 0;
}

void sim_check_message(sim *s, int request, uint64_t type)
{
    message_checks *own = watch_own(s, &checks_watcher);
    noted_request *of = own && request > 0 ? noted(s, own, request) : NULL;
    if (of) of->type = type;
}

void sim_check_buffer(sim *s, int request, const char *data, int64_t bytes)
{
    message_checks *own = watch_own(s, &checks_watcher);
    noted_request *of = own && request > 0 ? noted(s, own, request) : NULL;
    if (!of) return;
    of->data = data;
    of->bytes = bytes;
    of->sum = checked_sum(data, bytes);
}

int sim_buffer_has_changed(sim *s, int request, const char *data)
{
    const message_checks *own = watch_own(s, &checks_watcher);
    if (!own || request <= 0 || request >= own->request_room || !data) return 0;
    const noted_request *of = &own->of[request];
    return of->data == data && checked_sum(of->data, of->bytes) != of->sum;
}

int sim_choose_message(sim *s, int rank, int nth, int source, int tag)
{
    message_checks *own = watch_own(s, &checks_watcher);
    if (!own) return SIM_BAD_RANK;
    own->chosen = (chosen_message){rank, nth, source, tag};
    return 0;
}

int sim_checked_messages(const sim *s, const checked_messages **list)
{
    const message_checks *own = watch_own(s, &checks_watcher);
    *list = own ? own->row : NULL;
    return own ? own->n_rows : 0;
}
