#include "message_matrix.h"

#include <stdlib.h>

#include "world.h"

enum { RANK_PAIRS_MAX = 1000000, FIRST_ROOM = 64 };

void message_matrix_free(message_matrix *m)
{
    free(m->at);
}

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
static int rebuild(sim *s, int room, int as_hosts)
{
    message_matrix *m = &s->matrix, grown = *m;
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

int message_matrix_add(sim *s, int source, int target, int64_t bytes)
{
    message_matrix *m = &s->matrix;
    if (2 * (m->n + 1) > m->room) {
        const int turns = m->n >= RANK_PAIRS_MAX && !m->is_of_hosts && !m->is_complete;
        const int error = rebuild(s, turns || !m->room ? (m->room ? m->room : FIRST_ROOM) : 2 * m->room, turns);
        if (error < 0) return error;
        if (turns) return message_matrix_add(s, source, target, bytes);
    }
    if (m->is_of_hosts) {
        source = s->timelines.rank[source].host;
        target = s->timelines.rank[target].host;
    }
    put(m, &(message_pair){source, target, 1, bytes});
    return 0;
}

/* ---- queries from outside ---- */

void sim_count_pairs(sim *s, int all_pairs)
{
    s->matrix.is_counted = 1;
    s->matrix.is_complete = all_pairs;
}

int sim_message_pairs(const sim *s, int *is_of_hosts, message_pair *list)
{
    int n = 0;
    *is_of_hosts = s->matrix.is_of_hosts;
    for (int i = 0; i < s->matrix.room && list; i++)
        if (s->matrix.at[i].messages) list[n++] = s->matrix.at[i];
    return s->matrix.n;
}
