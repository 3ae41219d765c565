/* request.h -- the pool of requests: sends, receives, and collectives that were started.
 *
 * Numbers, not pointers, name requests: the pool grows.
 *
 * Invariants: (1) a request lives from its append until it is done and released, and no cancel of it is to come (n_cancels);
 *             (2) a released one that is not done is freed when it is; a detached send releases itself;
 *             (3) is_queued: it is in one of the queues of match.h, and has no match. */
#ifndef SMPY_REQUEST_H
#define SMPY_REQUEST_H
#include "mpi/collective_run.h"
#include "mpi/comm.h"
#include "mpi/payload.h"
#include "mpi/messages.h"

enum { ACCESSES_NOTHING, ACCESSES_FILE, ACCESSES_DEVICE };

typedef struct {
    _Alignas(64) request is;     /* part that the outside sees */
    int context;                 /* 2 comm for programs, 2 comm + 1 for collectives: they never match each other */
    int target;                  /* world rank of the receiver */
    union {
        int next;                /* in its queue (match.h), or in the free list */
        int partner;             /* before it is posted, a receive's of a matched probe: the send it found; a matched early
                                  * send's: its receive */
    };
    union {
        int next_arrival;        /* an unexpected send's: next one in its receiver's list of arrivals, */
        int entry;               /* or in the index of them */
    };
    int previous;                /* previous one in that list; a posted receive's: in its queue */
    int waiter;                  /* timeline to tell, or -1; see request_waiter */
    int waiter_index;            /* index of the request in the waiter's call, or among its started collective's */
    int made_by;                 /* the request of a started collective whose calls made this one; or 0 */
    int instance;                /* a collective's own request: number of the instance (instance.h), or 0 */
    int payload;                 /* or 0 */
    int account;                 /* account of the call that posted it, or 0 */
    int device_message;          /* a send's that is under way; or 0 */
    int n_cancels;               /* actions that are to take it back, not yet executed */
    uint8_t is_released : 1;
    uint8_t has_overhead : 1;    /* a receive that pays the receive overhead: see protocol.h */
    uint8_t is_queued : 1;
    uint8_t is_collective : 1;   /* request of a started collective */
    uint8_t access : 2;          /* ACCESSES_*: what it stands for, if not for a message */
    uint8_t is_held : 1;         /* a send that a matched probe found, and that no receive has been appended for */
    uint8_t has_matched : 1;
    uint8_t is_early : 1;        /* a send that has set out without a receive: see protocol.h */
    uint8_t has_arrived : 1;     /* an early send whose message has arrived */
    uint8_t is_accumulate : 1;   /* a receive that an accumulate has posted */
    uint8_t is_free : 1;         /* no request has this number */
    uint8_t is_on_device : 1;    /* a message's: its memory is on the device of its rank (device_message.h) */
    union {
        int64_t posted;          /* date of its posting, as a count */
        double matched_s;        /* date at which its transfer started */
        double arrived_s;        /* an early send's without a match: date at which its message arrived */
        collective_run *run;     /* run of a started collective */
    };
    double date_s;               /* date of its making, then of its posting; once it is done, of its completion */
    void (*told)(sim *s, int request); /* told when it is done, with a waiter, instead of that one's first action; or NULL */
} slot;

typedef struct {
    slot *at;                    /* numbered from 1, in `memory`; 0 is nobody */
    void *memory;
    int n, room, free;
} slot_pool;

int request_new(sim *s, request is);              /* a slot; or SIM_OUT_OF_MEMORY */
void request_belongs(sim *s, int id, int timeline); /* to the open call of a timeline */
void request_free(sim *s, int id);
void request_let_go(sim *s, int id);              /* frees one that is done and released, unless an action names it */
void requests_free(sim *s);

static inline int is_request(const slot_pool *pool, int id) /* does the number name one? */
{
    return id > 0 && id <= pool->n && !pool->at[id].is_free;
}

static inline int is_collective_request(const slot_pool *pool, int id)
{
    return id > 0 && pool->at[id].is_collective;
}

/* The timeline to tell when it is done, or -1: of a started collective's request, the one that waits for the collective. */
static inline int request_waiter(const slot_pool *pool, int id)
{
    const slot *x = &pool->at[id];
    return x->made_by && x->waiter >= 0 ? pool->at[x->made_by].run->timeline : x->waiter;
}

/* A rank completes its own requests. */
static inline int is_own_request(const slot_pool *pool, int rank, int id)
{
    return is_request(pool, id) && pool->at[id].is.rank == rank;
}

waiting request_describe(const slot_pool *pool, int id, int n_requests);

#ifdef SMPY_CHECK
void requests_check(const sim *s);
#endif
#endif
