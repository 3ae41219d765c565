/* message_matrix.h -- messages and bytes sent: by pair of ranks as long as these are few, then by pair of hosts.
 *
 * Invariants: (1) at most half of `at` is used; a place whose count is 0 is empty;
 *             (2) if it is counted, its counts and bytes add up to those of all messages that have set out. */
#ifndef SMPY_MESSAGE_MATRIX_H
#define SMPY_MESSAGE_MATRIX_H
#include "sim.h"

typedef struct {
    message_pair *at;            /* open addressing */
    int n, room;                 /* a power of two, or 0 */
    int is_counted;              /* 0: nothing is counted, and the matrix stays empty */
    int is_complete;             /* pairs of ranks, however many they are */
    int is_of_hosts;
} message_matrix;

void message_matrix_free(message_matrix *m);
/* A message sets out: 0, or SIM_OUT_OF_MEMORY. */
int message_matrix_add(sim *s, int source, int target, int64_t bytes);
#endif
