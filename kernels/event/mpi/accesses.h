/* accesses.h -- one-sided communication as the outside sees it. */
#ifndef SMPY_ACCESSES_H
#define SMPY_ACCESSES_H
#include <stdint.h>

#include "basics/errors.h"

/* cdef */
/* Receives are completed with the window's, but for that of an RGET, which its caller completes. */
enum {
    ACCESS_PUT = 0, ACCESS_GET = 1, ACCESS_ACCUMULATE = 2, ACCESS_RPUT = 3, ACCESS_RGET = 4, ACCESS_RACCUMULATE = 5
};
enum {                                /* locks of a rank's part of a window; around what is atomic there; of all ranks' parts */
    LOCK_ALONE = 0, LOCK_SHARED = 1, LOCK_ATOMIC = 2, LOCK_ALL_SHARED = 3
};

/* The two sides of an access, both posted by its rank. The kernel frees the send. */
typedef struct {
    int send, recv;
} access_requests;

/* An access of the running rank to `target`'s part of the window of a communicator. */
int sim_append_access(sim *s, int timeline, int comm, int target, int64_t bytes, int access, access_requests *out);
/* Completes receives of a rank's part: all, or with `other` >= 0 those from and to that rank. */
int sim_append_complete(sim *s, int timeline, int comm, int rank, int other);
/* Locks when those that came before, and are not shared with it, have unlocked; unlocks. */
int sim_append_lock(sim *s, int timeline, int comm, int rank, int kind);
int sim_append_unlock(sim *s, int timeline, int comm, int rank, int kind);
/* end cdef */
#endif
