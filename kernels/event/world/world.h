/* world.h -- a world is its parts, put together. Each part's header says what it keeps, and its invariants. */
#ifndef SMPY_WORLD_H
#define SMPY_WORLD_H
#include <signal.h>

#include "basics/clock.h"
#include "mpi/collective_run.h"
#include "mpi/comm.h"
#include "mpi/latch.h"
#include "mpi/match.h"
#include "mpi/payload.h"
#include "mpi/poll.h"
#include "mpi/request.h"
#include "mpi/schedule.h"
#include "networks/network.h"
#include "networks/transfer.h"
#include "mpi/costs.h"
#include "world/machine_change.h"
#include "world/clock_events.h"
#include "world/governor.h"
#include "world/host.h"
#include "world/memory.h"
#include "world/performing.h"
#include "world/row_kind.h"
#include "world/shared_cores.h"
#include "world/storage.h"
#include "world/timeline.h"
#include "world/watch.h"

struct sim {
    const platform *machine;
    model model;
    sim_clock clock;
    int64_t order;               /* counts creations of everything that fires */
    int64_t date_order;          /* `order` when this date began */

    timelines timelines;
    int running;                 /* the timeline last named by sim_next, or -1 */
    hosts hosts;
    governor *governor;          /* or NULL */
    call_costs *own_costs;       /* costs of hosts that do not have the model's */
    int n_own_costs;
    int *costs_of_host;          /* [hosts]: index of their own, or -1; NULL: all have the model's */
    clock_events clock_events;
    shared_cores shared_cores;
    int cores_per_rank;          /* 0: one */
    memories memories;
    watching watching;
    row_kinds row_kinds;
    performing *performing;      /* in a replay; or NULL */
    changes changes;
    polling polling;

    network network;
    transfers transfers;
    storage storage;
    int unreached_host[2];

    comms comms;
    slot_pool requests;
    payloads payloads;
    matching match;
    int sends_are_synchronous;

    schedule **schedule;
    int n_schedules, schedule_room;
    collective_runs runs;
    latches latches;

    int64_t *note;
    int n_notes, note_room;
    int64_t stop_id;
    int is_stopped, error;

    unsigned effort;             /* calls, events and changed shares, to look at the clock now and then */
    double yielded_s;
    volatile sig_atomic_t is_interrupted;
    statistics stats;
};

/* Keeps an error that no caller can be told: sim_next answers SIM_BROKEN. The first one counts. */
static inline void keep_error(sim *s, int error)
{
    if (error < 0 && !s->error) s->error = error;
}
#endif
