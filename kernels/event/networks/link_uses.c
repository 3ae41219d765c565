#include "networks/link_uses.h"

#include <stdlib.h>

#include "machine/profile.h"

int link_uses_init(link_uses *all, const platform *p)
{
    const profile_table *table = platform_profiles(p);
    const int n_links = platform_n_links(p);
    *all = (link_uses){.free = USE_NONE};
    for (int i = 0; i < table->n; i++) {
        if (!profile_is_of_link(&table->at[i])) continue;
        if (!all->first_of_link) {
            all->first_of_link = malloc((size_t)n_links * sizeof *all->first_of_link);
            if (!all->first_of_link) return -1;
            for (int link = 0; link < n_links; link++) all->first_of_link[link] = USE_NEVER;
        }
        all->first_of_link[table->at[i].resource] = USE_NONE;
    }
    return 0;
}

void link_uses_free(link_uses *all)
{
    free(all->first_of_link);
    free(all->first_of_transfer);
    free(all->at);
}

int link_uses_reserve(link_uses *all, int n_transfers)
{
    if (n_transfers <= all->transfer_room) return 0;
    int *first = realloc(all->first_of_transfer, (size_t)n_transfers * sizeof *first);
    if (!first) return -1;
    for (int i = all->transfer_room; i < n_transfers; i++) first[i] = USE_NONE;
    all->first_of_transfer = first;
    all->transfer_room = n_transfers;
    return 0;
}

static int new_use(link_uses *all)
{
    const int id = all->free;
    if (id >= 0) {
        all->free = all->at[id].next_of_transfer;
        return id;
    }
    if (all->n == all->room) {
        const int room = all->room ? 2 * all->room : 64;
        link_use *grown = realloc(all->at, (size_t)room * sizeof *grown);
        if (!grown) return -1;
        all->at = grown;
        all->room = room;
    }
    return all->n++;
}

int link_uses_add(link_uses *all, int transfer, int n, const int *link)
{
    for (int i = 0; i < n; i++) {
        int *first = &all->first_of_link[link[i]];
        if (*first == USE_NEVER) continue;
        const int id = new_use(all);
        if (id < 0) {
            link_uses_leave(all, transfer);
            return -1;
        }
        all->at[id] = (link_use){.link = link[i], .transfer = transfer, .next = *first, .prev = USE_NONE,
                                 .next_of_transfer = all->first_of_transfer[transfer]};
        if (*first >= 0) all->at[*first].prev = id;
        *first = all->first_of_transfer[transfer] = id;
    }
    return 0;
}

void link_uses_leave(link_uses *all, int transfer)
{
    for (int id = all->first_of_transfer[transfer], next; id >= 0; id = next) {
        link_use *u = &all->at[id];
        next = u->next_of_transfer;
        if (u->next >= 0) all->at[u->next].prev = u->prev;
        if (u->prev >= 0)
            all->at[u->prev].next = u->next;
        else
            all->first_of_link[u->link] = u->next;
        u->next_of_transfer = all->free;
        all->free = id;
    }
    all->first_of_transfer[transfer] = USE_NONE;
}

#ifdef SMPY_CHECK
#include <assert.h>

void link_uses_check(const link_uses *all, int n_links)
{
    int n_free = 0, n_of_links = 0, n_of_transfers = 0;
    for (int id = all->free; id >= 0; id = all->at[id].next_of_transfer) n_free++;
    for (int link = 0; all->first_of_link && link < n_links; link++)
        for (int id = all->first_of_link[link], prev = USE_NONE; id >= 0; prev = id, id = all->at[id].next, n_of_links++)
            assert(all->at[id].link == link && all->at[id].prev == prev);
    for (int transfer = 0; transfer < all->transfer_room; transfer++)
        for (int id = all->first_of_transfer[transfer]; id >= 0; id = all->at[id].next_of_transfer, n_of_transfers++)
            assert(all->at[id].transfer == transfer);
    assert(n_of_links == n_of_transfers && n_of_links + n_free == all->n);
}
#endif
