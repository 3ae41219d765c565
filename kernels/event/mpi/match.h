/* match.h -- matching of sends and receives in the order of their posting (algorithm: match.c).
 *
 * Invariants: (1) a queue holds requests of one key, either all sends or all receives: others would have matched;
 *             (2) a queue is in order of posting; an empty one does not exist;
 *             (3) every unexpected send of a program is in its receiver's list of arrivals, or, when that has n_indexed, in the
 *                 index: one queue for each pattern with a wildcard. */
#ifndef SMPY_MATCH_H
#define SMPY_MATCH_H
#include "mpi/request.h"

typedef struct {
    int head, tail;              /* slots in posting order: all sends or all receives of one key, which is the head's */
    int next;                    /* in its bucket, or in the free list */
    uint32_t hash;               /* hash of the key: saves looking at the head of another one */
} match_queue;

typedef struct {
    int queue, next, previous;   /* slots of the same queue, or 0 */
} match_place;

typedef struct {
    match_place in[3];           /* places of an unexpected send, in the queue of each pattern that has a wildcard */
} match_entry;

/* Unexpected sends of programs to a receiver, and its posted receives with wildcards. */
typedef struct {
    int first_send, last_send;   /* unexpected sends in order of arrival, */
    int n_indexed;               /* unless so many of them, which are all, are in the index */
    int n_wild[4];               /* posted receives of each pattern that has a wildcard; [0]: 0 */
} match_arrivals;

typedef struct {
    match_queue *queue;          /* numbered from 1 */
    int n, room, free, used;
    int *bucket;
    int n_buckets;               /* a power of two */
    match_arrivals *arrivals;    /* [n_ranks] */
    match_entry *entry;          /* numbered from 1; of a free one, in[0].next is the next free one */
    int n_entries, entry_room, free_entry;
    int64_t posted;
    int64_t steps;               /* under SMPY_CHECK: queues and sends that searches looked at */
} matching;

int match_init(matching *m, int n_ranks);
int match_add_rank(matching *m, int n_ranks);    /* adds a rank to n_ranks: 0, or SIM_OUT_OF_MEMORY */
void match_free(matching *m);
/* Posts slot `id`: the partner it matches, or 0 after queueing it; negative without memory. */
int match_send(matching *m, slot_pool *pool, int id);
int match_recv(matching *m, slot_pool *pool, int id);
int match_probe(matching *m, slot_pool *pool, int context, int target, int source, int tag); /* send, or 0; or an error */
/* Would a send of the target to itself match a receive of it from `source`, which is itself, both posted now? */
int match_is_free(matching *m, slot_pool *pool, int context, int target, int source, int send_tag, int recv_tag);
void match_take_send(matching *m, slot_pool *pool, int id);      /* the one match_probe found: nothing will match it */
int match_withdraw(matching *m, slot_pool *pool, int id);        /* 1, or 0 when it has matched */

#ifdef SMPY_CHECK
void match_check(const matching *m, const slot_pool *pool);
#endif
#endif
