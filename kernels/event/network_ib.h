/* network_ib.h -- the flow model with InfiniBand's penalties for hosts that send or receive several messages at once (Vienne,
 * Martinasso, Vincent, Mehaut 2008). Its parameters are a network_model.
 *
 * Of a host with k messages going out, k > 1, each is slowed down by k Bs, and by k Bs ys if its receiver has more than two
 * coming in; the host's worst counts for all. A message to a receiver with several coming in is slowed down by Be times the number
 * of messages between the two hosts times the number of hosts that send there. The larger one divides the bound of its flow, from
 * the match of the message to its end. Messages within a host neither count nor are slowed down.
 *
 * As the peer has it, a message that begins or ends has only those judged anew whose sender is reached from its own sender, over
 * the messages then under way: a receiver that loses one of two senders is not told to the other. */
#ifndef SMPY_NETWORK_IB_H
#define SMPY_NETWORK_IB_H
#include "network.h"

extern const network_kind network_ib;
#endif
