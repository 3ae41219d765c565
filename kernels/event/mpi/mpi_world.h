/* mpi_world.h -- a world with what MPI keeps in it.
 *
 * The world is the first part of this record, so that functions of a world find MPI's parts behind it: rooms below know none of
 * them. Each part's header says what it keeps, and its invariants. */
#ifndef SMPY_MPI_WORLD_H
#define SMPY_MPI_WORLD_H
#include "mpi/collective_run.h"
#include "mpi/comm.h"
#include "mpi/costs.h"
#include "mpi/device_message.h"
#include "mpi/latch.h"
#include "mpi/match.h"
#include "mpi/payload.h"
#include "mpi/poll.h"
#include "mpi/request.h"
#include "mpi/schedule.h"
#include "world/world.h"

typedef struct {
    call_costs costs;            /* of hosts that have none of their own */
    call_costs *own_costs;
    int n_own_costs;
    int *costs_of_host;          /* [hosts]: index of their own, or -1; NULL: all have `costs` */
    poll_costs poll_costs;
    polling polling;
    comms comms;
    slot_pool requests;
    payloads payloads;
    matching match;
    device_messages device_messages;
    int sends_are_synchronous;
    schedule **schedule;
    int n_schedules, schedule_room;
    collective_runs runs;
    latches latches;
} mpi_state;

typedef struct {
    sim world;
    mpi_state mpi;
} mpi_world;

/* Every world is a mpi_world: sim_new makes no other. */
static inline mpi_state *mpi_of(const sim *s)
{
    return &((mpi_world *)s)->mpi;
}

int mpi_begin(sim *s, const call_costs *costs, const poll_costs *polls, int n_ranks); /* 0, or an error */
int mpi_add_rank(sim *s, int rank);
void mpi_end(sim *s);
#ifdef SMPY_CHECK
void mpi_check(const sim *s);
#endif
#endif
