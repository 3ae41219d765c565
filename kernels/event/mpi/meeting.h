/* meeting.h -- a meeting: ranks of a communicator wait for the last of them, and then for the network.
 *
 * Each rank comes with a request. When the last one has come, the network times the collective as a whole
 * (network_kind.start_collective); all requests are complete at its end, in the order in which their ranks came.
 *
 * Invariant: an instance (instance.h) has one meeting, and each of its runs comes to it once. */
#ifndef SMPY_MEETING_H
#define SMPY_MEETING_H
#include <stdint.h>

#include "basics/errors.h"

/* A rank comes: 0, or an error. SIM_BAD_SCHEDULE: there is no instance, as between groups, or the network times messages alone. */
int meeting_join(sim *s, int instance, int comm, int request, int64_t sent_bytes, int64_t received_bytes);
#endif
