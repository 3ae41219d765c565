/* payload.h -- the payload ends of requests, and the deliveries that follow from a transfer.
 *
 * Invariants: (1) a payload is named by one request at most, and is free otherwise; number 0 carries nothing;
 *             (2) the copy of an OWNED payload, and the list of what a send carries, are freed by payload_move or payload_drop, or
 *                 with the delivery that carries them;
 *             (3) copied_bytes is the size of all such copies now alive. */
#ifndef SMPY_PAYLOAD_H
#define SMPY_PAYLOAD_H
#include "mpi/messages.h"

typedef struct {
    payload *at;                 /* numbered from 1; of a free one, `kind` is the next free one */
    int n, room, free;
    payload nothing;             /* number 0 */
    delivery *delivery;
    int n_deliveries, delivery_room;
    char **delivered;            /* copies to free with the deliveries */
    int n_delivered, delivered_room;
    int64_t copied_bytes;
    const folded_table *folded;  /* NULL: all memory has a content */
} payloads;

void payloads_free(payloads *all);
int payload_new(payloads *all);                  /* its number, or SIM_OUT_OF_MEMORY */
void payload_free(payloads *all, int number);    /* without its bytes */
/* Moves what a send carries to its receive: 0, or SIM_OUT_OF_MEMORY before anything has moved. */
int payload_move(payloads *all, int send, int send_payload, int recv, int recv_payload, int64_t bytes);
int payload_drop(payloads *all, int request, int number); /* there will be no transfer: 0, or SIM_OUT_OF_MEMORY */

#ifdef SMPY_CHECK
void payloads_check(const payloads *all);
#endif
#endif
