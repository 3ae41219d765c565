/* message_matrix.c -- messages and bytes sent: by pair of ranks as long as these are few, then by pair of hosts.
 *
 * Invariants: (1) at most half of `at` is used; a place whose count is 0 is empty;
 *             (2) if it is counted, its counts and bytes add up to those of all messages that have set out. */
#include <stdlib.h>

#include "mpi/mpi_world.h"
#include "mpi/protocol.h"
#include "watchers/records.h"

typedef struct {
    message_pair *at;            /* open addressing */
    int n, room;                 /* a power of two, or 0 */
    int is_complete;             /* pairs of ranks, however many they are */
    int is_of_hosts;
} message_matrix;

enum { RANK_PAIRS_MAX = 1000000, FIRST_ROOM = 64 };

static message_pair *find(const message_matrix *m, int source, int target)
{
    const uint64_t key = ((uint64_t)(uint32_t)source << 32 | (uint32_t)target) * 0x9E3779B97F4A7C15u;
    const uint32_t mask = (uint32_t)m->room - 1;
    uint32_t at = (uint32_t)(key >> 32) & mask;
    while (m->at[at].messages && (m->at[at].source != source || m->at[at].target != target)) at = (at + 1) & mask;
    return &m->at[at];
}

static void put(message_matrix *m, const message_pair *more)
{
    message_pair *pair = find(m, more->source, more->target);
    m->n += !pair->messages;
    *pair = (message_pair){more->source, more->target, pair->messages + more->messages, pair->bytes + more->bytes};
}

/* Moves all pairs into a table of `room` places, those of ranks as those of their hosts where hosts become the pairs. */
static int rebuild(const sim *s, message_matrix *m, int room, int as_hosts)
{
    message_matrix grown = *m;
    grown.at = calloc((size_t)room, sizeof *grown.at);
    grown.room = room;
    grown.n = 0;
    if (!grown.at) return SIM_OUT_OF_MEMORY;
    for (int i = 0; i < m->room; i++) {
        message_pair pair = m->at[i];
        if (!pair.messages) continue;
        if (as_hosts) pair.source = s->timelines.rank[pair.source].host;
        if (as_hosts) pair.target = s->timelines.rank[pair.target].host;
        put(&grown, &pair);
    }
    free(m->at);
    *m = grown;
    m->is_of_hosts |= as_hosts;
    return 0;
}

static int add(const sim *s, message_matrix *m, int source, int target, int64_t bytes)
{
    if (2 * (m->n + 1) > m->room) {
        const int turns = m->n >= RANK_PAIRS_MAX && !m->is_of_hosts && !m->is_complete;
        const int error = rebuild(s, m, turns || !m->room ? (m->room ? m->room : FIRST_ROOM) : 2 * m->room, turns);
        if (error < 0) return error;
        if (turns) return add(s, m, source, target, bytes);
    }
    if (m->is_of_hosts) {
        source = s->timelines.rank[source].host;
        target = s->timelines.rank[target].host;
    }
    put(m, &(message_pair){source, target, 1, bytes});
    return 0;
}

/* ---- the watcher ---- */

static void set_out(sim *s, void *own, int transfer)
{
    const int send = protocol_send_of(transfer_at(s, transfer));
    if (!send) return;
    const slot *x = &mpi_of(s)->requests.at[send];
    keep_error(s, add(s, own, x->is.rank, x->target, x->is.bytes));
}

static void free_matrix(sim *s, void *own)
{
    message_matrix *m = own;
    (void)s;
    free(m->at);
    free(m);
}

static const watcher matrix_watcher = {.set_out = set_out, .free = free_matrix};

/* ---- queries from outside ---- */

int sim_count_pairs(sim *s, int all_pairs)
{
    message_matrix *m = calloc(1, sizeof *m);
    if (!m || watch_begin(s, &matrix_watcher, m) < 0) {
        free(m);
        return SIM_OUT_OF_MEMORY;
    }
    m->is_complete = all_pairs;
    return 0;
}

int sim_message_pairs(const sim *s, int *is_of_hosts, message_pair *list)
{
    const message_matrix *m = watch_own(s, &matrix_watcher);
    int n = 0;
    *is_of_hosts = m && m->is_of_hosts;
    for (int i = 0; m && i < m->room && list; i++)
        if (m->at[i].messages) list[n++] = m->at[i];
    return m ? m->n : 0;
}
