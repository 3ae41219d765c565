/* sim.h -- one simulated world: ranks as timelines over a modelled machine.
 *
 * A timeline is a queue of actions that the kernel executes in simulated time; a rank has one, or one for each of its threads. The
 * program's side appends (sim_append_*), then asks "who runs next?" (sim_next). The kernel never calls the program and holds no
 * global state.
 *
 * Functions for the outside stand in the room of their part, a header a topic. This header has the world as a whole.
 *
 * Laws:
 *   (1) at one date every runnable timeline performs one call in turn, in the order their events fired, then comes the next turn;
 *   (2) sim_next names a timeline only when all that was appended to it has been executed;
 *   (3) sim_next returns after at most about 50 ms of its own work, and what cannot be divided: the events of one date, some
 *       1 us each, and a full fair-share solve (fair.h);
 *   (4) a function that answers with an error checks every number it is given (timeline, rank, communicator, request, schedule)
 *       before it uses it: SIM_BAD_*; a query about a timeline is given one that exists;
 *   (5) payload of a transfer is moved (payload.h) when the transfer ends, before either side's next action;
 *   (6) any timeline of a rank may complete the rank's requests, but two do not wait for one, or test it, at the same time (MPI
 *       forbids it to threads). */
#ifndef SMPY_SIM_H
#define SMPY_SIM_H
#include <stdint.h>

#include "basics/errors.h"
#include "machine/platform.h"
#include "mpi/accesses.h"
#include "mpi/costs.h"
#include "mpi/messages.h"
#include "watchers/records.h"
#include "world/background.h"
#include "world/device.h"
#include "world/governor.h"
#include "world/noise.h"
#include "world/host_state.h"
#include "world/ranks.h"
#include "world/rows.h"
#include "world/storage.h"

/* cdef */
enum {                                /* answers of sim_next besides a rank */
    SIM_YIELD = -1,                   /* nothing yet: let signals and the progress line live, then call again */
    SIM_STUCK = -2,                   /* no rank can run and none will wake */
    SIM_DONE = -3,                    /* every rank has ended */
    SIM_STOPPED = -4,                 /* a stop action was executed: see sim_stop_id */
    SIM_BROKEN = -5                   /* the kernel cannot go on: see sim_error */
};

/* Loss that broke a world when a host or link was off (SIM_HOST_OFF, SIM_HOST_STOPPED, SIM_LINK_OFF), or a rank's device lacked
 * something (SIM_NO_DEVICE, SIM_NO_DEVICE_SPEED); -1: nothing of that kind. */
typedef struct {
    int host, rank;                   /* the host, and the lowest rank on it; or the rank alone */
    int link, source_host, target_host; /* the link, and the ends of the transfer that needs it */
    int request;                      /* request that sends it; 0: not the send of a message */
    int64_t bytes;
} loss_report;

sim *sim_new(const platform *p, const model *m, int n_ranks, const int *host_of_rank); /* NULL: no memory, or no such host */
void sim_free(sim *s);

/* ---- the loop ---- */
int sim_next(sim *s);                 /* a timeline whose rank is to run it, or SIM_* */
void sim_interrupt(sim *s);           /* the next sim_next says SIM_YIELD at once; async-signal safe */
int sim_running(const sim *s);        /* the timeline last named by sim_next, or -1 */
int sim_running_rank(const sim *s);   /* its rank, or -1 */
double sim_now_s(const sim *s);
void sim_statistics(const sim *s, statistics *out);
int sim_error(const sim *s);           /* reason why it is SIM_BROKEN */
int sim_unreached_host(const sim *s, int end); /* SIM_NO_ROUTE: from (0) and to (1) which */
void sim_lost(const sim *s, loss_report *out);
const char *sim_network_name(const sim *s);

/* ---- a replay (replay.c) ---- */
int sim_replay_begin(sim *s);                                    /* before the first call: 0, or an error */
int sim_replay_feed(sim *s, int n, const trace_action *rows);    /* 0, or an error */
int sim_replay_next(sim *s);          /* in place of sim_next; a timeline: its next rows are to be fed, then it is called again */
int sim_replay_is_in_vain(sim *s);    /* have ranks done nothing since its last call but poll for messages that will not come? */
int64_t sim_replay_left_alone(const sim *s); /* sends that nobody waits for, because in the trace they were complete at once */
/* end cdef */
#endif
