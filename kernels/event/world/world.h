/* world.h -- a world is its parts, put together. Each part's header says what it keeps, and its invariants. */
#ifndef SMPY_WORLD_H
#define SMPY_WORLD_H
#include <signal.h>
#include <stddef.h>

#include "basics/clock.h"
#include "networks/network.h"
#include "networks/transfer.h"
#include "world/background.h"
#include "world/machine_change.h"
#include "world/clock_events.h"
#include "world/device.h"
#include "world/governor.h"
#include "world/host.h"
#include "world/memory.h"
#include "world/noise.h"
#include "world/performing.h"
#include "world/row_kind.h"
#include "world/shared_cores.h"
#include "world/storage.h"
#include "world/timeline.h"
#include "world/watch.h"

struct sim {
    network network;             /* the first part (network.h) */
    const platform *machine;
    sim_clock clock;
    int64_t order;               /* counts creations of everything that fires */
    int64_t date_order;          /* `order` when this date began */

    timelines timelines;
    int running;                 /* the timeline last named by sim_next, or -1 */
    hosts hosts;
    governor *governor;          /* or NULL */
    noise *noise;                /* or NULL */
    background *background;      /* or NULL */
    clock_events clock_events;
    shared_cores shared_cores;
    int cores_per_rank;          /* at least 1 */
    memories memories;
    watching watching;
    row_kinds row_kinds;
    performing *performing;      /* in a replay; or NULL */
    changes changes;

    storage storage;
    devices devices;

    int64_t *note;
    int n_notes, note_room;
    int64_t stop_id;
    int is_stopped, error;

    unsigned effort;             /* calls, events and changed shares, to look at the clock now and then */
    double yielded_s;
    volatile sig_atomic_t is_interrupted;
    statistics stats;
};

_Static_assert(offsetof(struct sim, network) == 0, "network_of finds it");

/* Keeps an error that no caller can be told: sim_next answers SIM_BROKEN. The first one counts. */
static inline void keep_error(sim *s, int error)
{
    if (error < 0 && !s->error) s->error = error;
}
#endif
