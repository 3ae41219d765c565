/* protocol.h -- MPI's point-to-point protocol above the network: eager (detached) and rendezvous sends, and their overheads.
 *
 * A send below the eager limit is detached: it completes for its sender when it is posted, and the kernel frees it when it has
 * arrived. A larger or synchronous one completes when its transfer, which begins when both sides have posted, has ended. A receive
 * of a detached message, or of any where the model says so, costs its receiver an overhead once it learns of it.
 *
 * A detached send that is small enough is early: it travels when it is posted, whether a receive is there or not. A receive that
 * finds it later is complete at once if it has arrived, and else when it does. An early send is not cancelled: it is on its way. */
#ifndef SMPY_PROTOCOL_H
#define SMPY_PROTOCOL_H
#include "mpi/costs.h"
#include "mpi/request.h"
#include "networks/transfer.h"

/* Overhead of a send to the rank `target`, whose usual one its call knows. */
double protocol_startup_s(const sim *s, int rank, int target, double usual_s);
double protocol_receive_overhead_s(const sim *s, int rank, const slot *recv); /* of the rank that completes it */

static inline uint8_t protocol_is_detached(const call_costs *costs, int64_t bytes)
{
    return bytes < costs->detached_below_bytes;
}

int protocol_send_of(const transfer *t); /* the request whose message it is, or 0 */
int protocol_recv_of(const sim *s, const transfer *t); /* the receive that such a message has matched, or 0 */
int protocol_post(sim *s, int request); /* matches it or queues it; a match starts its transfer. >= 0, or an error */
/* For a network that uses CPUs, a send is posted once the host's interface takes it, and its rank pays its overhead from then on.
 * The two functions answer as a step does: MADE_A_CALL, BLOCKED, or an error; after BLOCKED the first one is to be asked again. */
int protocol_await_interface(sim *s, int timeline);
int protocol_send(sim *s, int timeline, int request);
/* A send that travels without a match being looked for, and the receive that takes its message: >= 0, or an error. */
int protocol_set_out(sim *s, int send);
int protocol_receive(sim *s, int send, int recv);
int protocol_withdraw(sim *s, int request); /* 1 when it had no match and is done now, 0 when it had; or an error */
#endif
