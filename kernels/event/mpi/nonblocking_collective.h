/* nonblocking_collective.h -- collectives that a rank has started and goes on beside: MPI_Ibcast and the like.
 *
 * Each is a request. It is complete when its calls are made, every request of theirs is done, and its latch is open. As the
 * peer has it, waiting for it is waiting for all of its requests, and testing it is testing each of them, again and again. */
#ifndef SMPY_NONBLOCKING_COLLECTIVE_H
#define SMPY_NONBLOCKING_COLLECTIVE_H
#include "mpi/request.h"

int nonblocking_made(const sim *s, collective_run *run, slot *made); /* one more request of its calls: its index, or an error */
void nonblocking_halts(sim *s, collective_run *run);         /* its calls are made */
int nonblocking_learn(sim *s, int timeline, collective_run *run, int index); /* of one that was over; as wait_after_overheads */
int nonblocking_learn_first(sim *s, int timeline, collective_run *run);
#endif
