/* link_uses.h -- the transfers that use each link that changes while a world runs.
 *
 * Invariants: (1) a use is on the list of its link and on that of its transfer, or free;
 *             (2) links that no profile changes have no list, and machines without such profiles no lists at all. */
#ifndef SMPY_LINK_USES_H
#define SMPY_LINK_USES_H
#include "machine/platform.h"

enum { USE_NONE = -1, USE_NEVER = -2 };

typedef struct {
    int link, transfer;
    int next, prev;              /* on the list of the link */
    int next_of_transfer;        /* or in the free list */
} link_use;

typedef struct {
    int *first_of_link;          /* USE_NONE: none now; USE_NEVER: the link does not change. NULL: no link does */
    int *first_of_transfer;
    int transfer_room;
    link_use *at;
    int n, room, free;
} link_uses;

int link_uses_init(link_uses *all, const platform *p);   /* 0, or -1 without memory; then it can be freed */
void link_uses_free(link_uses *all);
int link_uses_reserve(link_uses *all, int n_transfers);  /* likewise */
int link_uses_add(link_uses *all, int transfer, int n, const int *link); /* for a transfer without uses; likewise, and adds none */
void link_uses_leave(link_uses *all, int transfer);

#ifdef SMPY_CHECK
void link_uses_check(const link_uses *all, int n_links);
#endif
#endif
