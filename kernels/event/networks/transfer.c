#include "networks/transfer.h"

#include <stdlib.h>

#include "world/tell.h"

static void transfer_free(transfers *all, int id)
{
    all->at[id].next = all->free;
    all->free = id;
}

static int transfer_new(transfers *all)
{
    int id = all->free;
    if (id >= 0) {
        all->free = all->at[id].next;
        return id;
    }
    if (all->n == all->room) {
        int room = all->room ? 2 * all->room : 64;
        transfer *grown = realloc(all->at, (size_t)room * sizeof *grown);
        if (!grown) return SIM_OUT_OF_MEMORY;
        all->at = grown;
        all->room = room;
    }
    return all->n++;
}

static int start(sim *s, const transfer *what)
{
    const int id = transfer_new(&s->transfers);
    if (id < 0) return id;
    s->transfers.at[id] = *what;
    s->transfers.at[id].order = s->order++;
    tell_set_out(s, id);
    const int error = s->network.kind->start(s, s->network.state, id);
    if (error < 0) {
        if (error == SIM_LINK_OFF) s->changes.lost.transfer = id;
        transfer_free(&s->transfers, id);
        return error;
    }
    s->transfers.n_live++;
    return 0;
}

int transfer_start(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number0, int number1)
{
    const transfer what = {.source_host = source_host, .target_host = target_host, .bytes = bytes, .owner = owner,
                           .number = {number0, number1}};
    const int error = start(s, &what);
    if (error < 0) return error;
    s->stats.messages++;
    if (__builtin_add_overflow(s->stats.bytes, bytes, &s->stats.bytes)) s->stats.bytes = INT64_MAX;
    return 0;
}

int transfer_start_bare(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number)
{
    const transfer what = {.source_host = source_host, .target_host = target_host, .bytes = bytes, .owner = owner,
                           .number = {number}, .is_bare = 1};
    return start(s, &what);
}

const transfer *transfer_at(const sim *s, int id)
{
    return &s->transfers.at[id];
}

void transfer_end(sim *s, int id)
{
    const transfer t = s->transfers.at[id];
    tell_arrived(s, id);
    transfer_free(&s->transfers, id);
    s->transfers.n_live--;
    s->stats.progress++;
    t.owner->ended(s, &t);
}

#ifdef SMPY_CHECK
#include <assert.h>

void transfers_check(const sim *s)
{
    const transfers *all = &s->transfers;
    int n_free = 0;
    for (int id = all->free; id >= 0; id = all->at[id].next) n_free++;
    assert(all->n_live == all->n - n_free);
}
#endif
