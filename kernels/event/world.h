/* world.h -- a world is its parts, put together. Each part's header says what it keeps, and its invariants. */
#ifndef SMPY_WORLD_H
#define SMPY_WORLD_H
#include <signal.h>

#include "account.h"
#include "change.h"
#include "clock.h"
#include "collective_run.h"
#include "comm.h"
#include "critical_path.h"
#include "elapse.h"
#include "host.h"
#include "latch.h"
#include "match.h"
#include "memory.h"
#include "message_matrix.h"
#include "network.h"
#include "payload.h"
#include "poll.h"
#include "replay.h"
#include "request.h"
#include "schedule.h"
#include "sim.h"
#include "timeline.h"
#include "trace.h"
#include "transfer.h"

struct sim {
    const platform *machine;
    model model;
    sim_clock clock;
    int64_t order;               /* counts creations of everything that fires */
    int64_t date_order;          /* `order` when this date began */

    timelines timelines;
    int running;                 /* the timeline last named by sim_next, or -1 */
    hosts hosts;
    call_costs *own_costs;       /* costs of hosts that do not have the model's */
    int n_own_costs;
    int *costs_of_host;          /* [hosts]: index of their own, or -1; NULL: all have the model's */
    elapsing elapsing;
    memories memories;
    critical_paths *paths;       /* NULL: nothing has been added to any */
    accounts accounts;
    message_matrix matrix;
    trace *trace;                /* or NULL */
    replay *replay;              /* likewise */
    changes changes;
    polling polling;

    network network;
    transfers transfers;
    int unreached_host[2];

    comms comms;
    slot_pool requests;
    payloads payloads;
    matching match;
    int sends_are_synchronous;
    int counts_links;            /* do links count their traffic? */

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
