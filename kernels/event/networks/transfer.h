/* transfer.h -- bytes on their way between two hosts, for an owner that wants to know when they have arrived.
 *
 * The owner may be a matched pair of requests, an access to a window, a file: the network (network.h) does not know. A collective
 * that the network times as a whole is a transfer, too: from the date at which its last rank has come, without hosts and bytes.
 *
 * A transfer of the background is another job's: it shares the network, and no record of the run tells of it.
 *
 * Invariants: (1) a transfer lives from transfer_start to transfer_end; n_live counts those of the run, n_background the others;
 *             (2) `order` is that of creation, and decides between transfers that end at one date. */
#ifndef SMPY_TRANSFER_H
#define SMPY_TRANSFER_H
#include <stdint.h>

#include "basics/errors.h"
#include "networks/network_kind.h"

struct transfer;

typedef struct {
    void (*ended)(sim *s, const struct transfer *t); /* the bytes have arrived; the transfer's number is free again */
    int (*receiver)(const sim *s, const struct transfer *t); /* the rank whose CPU takes it; NULL: none does */
} transfer_owner;

typedef struct transfer {
    int source_host, target_host;/* -1: of a collective */
    int64_t bytes;
    int64_t order;
    const transfer_owner *owner;
    int number[2];               /* the owner's own */
    int is_bare;                 /* without the envelope of a message */
    int is_background;
    int next;                    /* in the free list */
} transfer;

typedef struct {
    transfer *at;                /* numbered from 0 */
    int n, room, free;           /* -1: none */
    int n_live, n_background;
} transfers;

/* Begins a transfer that devices carry instead of the network, and end: its number, or an error. */
int transfer_begin(sim *s, const transfer *what);
/* Hands a transfer to the network: 0, or an error. Its order, owner, hosts, bytes and the owner's numbers are kept. */
int transfer_start(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number0, int number1);
int transfer_start_bare(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number);
int transfer_start_collective(sim *s, const network_collective *is, const transfer_owner *owner, int number);
int transfer_start_background(sim *s, int source_host, int target_host, int64_t bytes, const transfer_owner *owner, int number);
const transfer *transfer_at(const sim *s, int id);
void transfer_end(sim *s, int id);               /* for what carries it: tells the owner */

#ifdef SMPY_CHECK
void transfers_check(const sim *s);
#endif
#endif
