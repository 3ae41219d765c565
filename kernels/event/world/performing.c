#include "world/performing.h"

#include <stdlib.h>
#include <string.h>

#include "basics/reserve.h"
#include "world/world.h"

performing *performing_new(int n_ranks)
{
    performing *p = calloc(1, sizeof *p);
    if (p) p->rank = calloc((size_t)(n_ranks > 0 ? n_ranks : 1), sizeof *p->rank);
    if (!p || !p->rank) {
        free(p);
        return NULL;
    }
    p->n_ranks = n_ranks;
    p->quiet_since = -1;
    return p;
}

void performing_free(performing *p)
{
    if (!p) return;
    for (int rank = 0; rank < p->n_ranks; rank++) {
        free(p->rank[rank].row);
        free(p->rank[rank].due);
    }
    free(p->rank);
    free(p->name);
    free(p->latch);
    free(p->point);
    free(p->list);
    free(p->entry);
    free(p);
}

/* ---- names of requests ---- */

static uint64_t key_of(int rank, int name)
{
    return (uint64_t)(uint32_t)rank << 32 | (uint32_t)name;
}

static uint32_t place_of(const performing *p, uint64_t key)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 32) & ((uint32_t)p->name_room - 1);
}

static uint32_t find(const performing *p, uint64_t key)
{
    uint32_t at = place_of(p, key);
    while (p->name[at].key && p->name[at].key != key) at = (at + 1) & ((uint32_t)p->name_room - 1);
    return at;
}

int perform_name(sim *s, int rank, int name, int request)
{
    performing *p = s->performing;
    if (2 * (p->n_names + 1) > p->name_room) {
        const int room = p->name_room ? 2 * p->name_room : 256, before_room = p->name_room;
        request_name *before = p->name, *grown = calloc((size_t)room, sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        p->name = grown;
        p->name_room = room;
        for (int i = 0; i < before_room; i++)
            if (before[i].key) p->name[find(p, before[i].key)] = before[i];
        free(before);
    }
    const uint32_t at = find(p, key_of(rank, name));
    p->n_names += !p->name[at].key;
    p->name[at] = (request_name){key_of(rank, name), request};
    return 0;
}

int perform_request(const sim *s, int rank, int name)
{
    const performing *p = s->performing;
    return p->n_names && name > 0 ? p->name[find(p, key_of(rank, name))].number : 0;
}

/* Removes a name. Entries behind it move up, so that each is found from its own place on. */
void perform_forget(sim *s, int rank, int name)
{
    performing *p = s->performing;
    if (!perform_request(s, rank, name)) return;
    const uint32_t mask = (uint32_t)p->name_room - 1;
    uint32_t hole = find(p, key_of(rank, name)), at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (!p->name[at].key) break;
        if (((at - place_of(p, p->name[at].key)) & mask) < ((at - hole) & mask)) continue;
        p->name[hole] = p->name[at];
        hole = at;
    }
    p->name[hole] = (request_name){0};
    p->n_names--;
}

/* ---- rows ---- */

int rows_push(rank_rows *of, const trace_action *row)
{
    if (of->n == of->room) {
        const int room = of->room ? 2 * of->room : 16;
        trace_action *grown = malloc((size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        for (int i = 0; i < of->n; i++) grown[i] = *rows_at(of, i);
        free(of->row);
        of->row = grown;
        of->first = 0;
        of->room = room;
    }
    of->n++;
    *rows_at(of, of->n - 1) = *row;
    return 0;
}

void rows_drop(rank_rows *of, int n)
{
    of->first = (of->first + n) & (of->room - 1);
    of->n -= n;
}

/* ---- what kinds of rows ask for ---- */

const trace_action *perform_row(const sim *s, int rank, int i)
{
    return rows_at(&s->performing->rank[rank], i);
}

int perform_due(sim *s, int rank, int request)
{
    rank_rows *of = &s->performing->rank[rank];
    void *list = of->due;
    const int error = reserve(&list, &of->due_room, of->n_due + 1, sizeof *of->due);
    of->due = list;
    if (!error) of->due[of->n_due++] = request;
    return error;
}

int perform_over(sim *s, int rank, int name, int request)
{
    perform_forget(s, rank, name);
    return perform_due(s, rank, request);
}

int *perform_list(sim *s, int n)
{
    performing *p = s->performing;
    void *list = p->list;
    const int error = reserve(&list, &p->list_room, n > 0 ? n : 1, sizeof *p->list);
    p->list = list;
    return error ? NULL : p->list;
}

int64_t *perform_entries(sim *s, int n)
{
    performing *p = s->performing;
    void *list = p->entry;
    const int error = reserve(&list, &p->entry_room, n > 0 ? n : 1, sizeof *p->entry);
    p->entry = list;
    return error ? NULL : p->entry;
}

int *perform_latch(sim *s, int serial)
{
    performing *p = s->performing;
    void *list = p->latch;
    const int before = p->latch_room, error = reserve(&list, &p->latch_room, serial + 1, sizeof *p->latch);
    p->latch = list;
    if (error) return NULL;
    memset(p->latch + before, 0, (size_t)(p->latch_room - before) * sizeof *p->latch);
    return &p->latch[serial];
}
