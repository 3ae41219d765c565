/* device_message.h -- messages of which a side, or both, have their memory on the device of their rank.
 *
 * The link of a direct device carries the message while the network does, after the latency of the link; between two
 * direct devices of one host the links of peers carry it, or both links to the host where there are none, and no network; on one
 * device its memory does, which is read and written. Otherwise the sender's link first carries all bytes to the host, and the
 * receiver's then from it. The receiver of an early message (protocol.h) always has it from its host.
 *
 * Invariant: a device message lives from when it sets out, or when an arrived one is brought in, until it is over. */
#ifndef SMPY_DEVICE_MESSAGE_H
#define SMPY_DEVICE_MESSAGE_H
#include "networks/transfer.h"

typedef struct {
    const transfer_owner *owner; /* of the message: ends it, with the numbers of its send and its receive */
    int send, recv;              /* recv 0: not known */
    int n_left;                  /* parts of the present step that are not over */
    int step;
    int next;                    /* in the free list */
} device_message;

typedef struct {
    device_message *at;          /* numbered from 1; 0 is none */
    int n, room, free;
} device_messages;

void device_messages_free(device_messages *all);

/* Sets out a message, as its owner's transfer and what the devices add: 0, or an error. */
int device_message_set_out(sim *s, const transfer_owner *owner, int send, int recv);
/* Brings a message that has arrived at the host of its receive to the device, and then has the owner end it. */
int device_message_bring(sim *s, const transfer_owner *owner, int send, int recv);
/* The owner of a message asks as a part of it ends: is the message over? If not, the owner is called again. */
int device_message_is_over(sim *s, int send);
#endif
