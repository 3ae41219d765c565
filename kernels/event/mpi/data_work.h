/* data_work.h -- time that a rank takes for the bytes of its messages, beside their transfer: page faults, and blocks of a
 * datatype that leaves gaps. The kernel notes what a receive takes with its request; whoever collects that has it spent. */
#ifndef SMPY_DATA_WORK_H
#define SMPY_DATA_WORK_H
#include "mpi/costs.h"
#include "mpi/messages.h"

/* Time of a receive of so many bytes into its payload's memory, before they are there. */
double data_work_of_receive_s(const call_costs *costs, const payload *to, int64_t bytes);
#endif
