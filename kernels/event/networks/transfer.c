#include "networks/transfer.h"

#include <stdlib.h>

#include "networks/network.h"

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

/* The number of living transfers of its kind. */
static int *n_alive(transfers *all, const transfer *t)
{
    return t->is_background ? &all->n_background : &all->n_live;
}

int transfer_begin(sim *s, const transfer *what)
{
    network *net = network_of(s);
    const int id = transfer_new(&net->transfers);
    if (id < 0) return id;
    net->transfers.at[id] = *what;
    net->transfers.at[id].order = (*net->order)++;
    *n_alive(&net->transfers, what) += 1;
    if (what->is_background) return id;
    if (net->listener) net->listener->set_out(s, id);
    if (what->is_bare) return id;
    net->counts.messages++;
    if (__builtin_add_overflow(net->counts.bytes, what->bytes, &net->counts.bytes)) net->counts.bytes = INT64_MAX;
    return id;
}

/* `collective`: NULL, or what is to start instead of bytes. */
static int start(sim *s, const transfer *what, const network_collective *collective)
{
    network *net = network_of(s);
    const int id = transfer_begin(s, what);
    if (id < 0) return id;
    const int error =
        collective ? net->kind->start_collective(s, net->state, id, collective) : net->kind->start(s, net->state, id);
    if (error < 0) {
        if (error == SIM_LINK_OFF) net->lost.transfer = id;
        transfer_free(&net->transfers, id);
        *n_alive(&net->transfers, what) -= 1;
        return error;
    }
    return 0;
}

int transfer_start(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number0, int number1)
{
    const transfer what = {.source_host = source_host, .target_host = target_host, .bytes = bytes, .owner = owner,
                           .number = {number0, number1}};
    return start(s, &what, NULL);
}

int transfer_start_bare(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number)
{
    const transfer what = {.source_host = source_host, .target_host = target_host, .bytes = bytes, .owner = owner,
                           .number = {number}, .is_bare = 1};
    return start(s, &what, NULL);
}

int transfer_start_background(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number)
{
    const transfer what = {.source_host = source_host, .target_host = target_host, .bytes = bytes, .owner = owner,
                           .number = {number}, .is_background = 1};
    return start(s, &what, NULL);
}

int transfer_start_collective(sim *s, const network_collective *is, const transfer_owner *owner, int number)
{
    const transfer what = {.source_host = -1, .target_host = -1, .owner = owner, .number = {number}, .is_bare = 1};
    return network_of(s)->kind->start_collective ? start(s, &what, is) : SIM_BAD_SCHEDULE;
}

const transfer *transfer_at(const sim *s, int id)
{
    return &network_of(s)->transfers.at[id];
}

void transfer_end(sim *s, int id)
{
    network *net = network_of(s);
    const transfer t = net->transfers.at[id];
    if (net->listener && !t.is_background) net->listener->arrived(s, id);
    transfer_free(&net->transfers, id);
    *n_alive(&net->transfers, &t) -= 1;
    net->counts.ended += !t.is_background;
    t.owner->ended(s, &t);
}

#ifdef SMPY_CHECK
#include <assert.h>

void transfers_check(const sim *s)
{
    const transfers *all = &network_of(s)->transfers;
    int n_free = 0;
    for (int id = all->free; id >= 0; id = all->at[id].next) n_free++;
    assert(all->n_live + all->n_background == all->n - n_free);
}
#endif
