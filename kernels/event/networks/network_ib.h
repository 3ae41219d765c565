/* network_ib.h -- the flow model with InfiniBand's penalties for hosts that send or receive several messages at once (Vienne,
 * Martinasso, Vincent, Mehaut 2008).
 *
 * Each of k > 1 messages going out of a host is slowed down by k Bs, and by k Bs ys if its receiver has more than two coming
 * in; the host's worst counts for all. A message to a receiver with several coming in is slowed down by Be times the number
 * of messages between the two hosts times the number of hosts that send there. The larger one divides the bound of its flow, from
 * the match of the message to its end. Messages within a host neither count nor are slowed down.
 *
 * Like in the peer, a message that begins or ends only updates messages whose sender is reached from its own sender over the
 * messages then under way: if a receiver loses one of two senders, messages of the other one are not updated. */
#ifndef SMPY_NETWORK_IB_H
#define SMPY_NETWORK_IB_H
#include "networks/network.h"
#include "networks/network_flow.h"

extern const network_kind network_ib;

typedef struct {
    flow_parameters flow;
    double inbound, outbound, crowded; /* Be, Bs, ys */
} ib_parameters;
#endif
