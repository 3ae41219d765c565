/* device.h -- accelerators of hosts: operations that they perform beside their ranks, in streams.
 *
 * A device has servers, each of which serves its operations in equal shares: one computes, one carries bytes to the host, one from
 * it, and two carry bytes to and from the other devices of the host. A kernel takes the time of its operations at the speed of
 * their type, or that of its bytes at the bandwidth of the device's memory, whichever is more; n simultaneous kernels are
 * time-sliced, and each take n times as long. The devices of a host are dealt to its ranks in turn.
 *
 * An operation takes a delay, then amounts of several servers at once, and ends with the last. Operations of one stream of a rank
 * follow one another in the order they come.
 *
 * Invariants: (1) an operation lives until its last part is over, and then tells its owner;
 *             (2) of a stream, the first operation is under way, and the others wait for it. */
#ifndef SMPY_DEVICE_H
#define SMPY_DEVICE_H
#include <stdint.h>

#include "basics/errors.h"
#include "world/disk.h"

/* cdef */
enum { DEVICE_64, DEVICE_32, DEVICE_16, DEVICE_TYPES }; /* bits of floating-point numbers */
enum { DEVICE_STREAMS = 16 };         /* of a rank, from 0 on */

typedef struct {
    double flop_per_s[DEVICE_TYPES];  /* 0: it does not compute with the type */
    double memory_bytes_per_s;        /* 0: bytes of its memory take no time */
    double link_bytes_per_s, link_latency_s; /* to its host, each way */
    double peer_bytes_per_s, peer_latency_s; /* to other devices of the host; 0: over both links */
    int is_direct;                    /* messages take its memory themselves, without a copy in that of the host */
} device_numbers;

int sim_device_new(sim *s, int host, const device_numbers *is); /* before its host's ranks have theirs: its number, or an error */
int sim_device_of(sim *s, int rank);  /* the device of a rank; -1: its host has none; or an error < -1 */
double sim_device_busy_s(const sim *s, int device); /* time in which it has computed */
/* end cdef */

enum { DEVICE_COMPUTES, DEVICE_TO_HOST, DEVICE_FROM_HOST, DEVICE_TO_PEERS, DEVICE_FROM_PEERS, DEVICE_SERVERS };
enum { DEVICE_PARTS_MAX = 2 };

typedef void device_owner(sim *s, int number);   /* the operation of an owner's number begins, or is over */

typedef struct {
    int device, server;
    double amount;               /* seconds of what computes, else bytes */
} device_part;

typedef struct {
    double delay_s;
    device_part part[DEVICE_PARTS_MAX];
    int n_parts;
    int rank, stream;            /* stream -1: it waits for none */
    device_owner *begins, *ended;/* begins: or NULL */
    int number;                  /* the owner's */
} device_work;

typedef struct {
    device_work is;
    int n_left;                  /* parts that are not over, or the delay */
    int is_delayed;
    int next;                    /* in its stream or the free list; -1: none */
} device_operation;

typedef struct {
    device_numbers is;
    int host, next_of_host;      /* -1: none */
    int n_computing;
    double since_s, busy_s;      /* begin of the present computing; time of computing before it */
} device;

typedef struct { int first, last; } device_stream; /* operations, or -1 */

typedef struct {
    disks servers;               /* DEVICE_SERVERS of each device, which read; the owner's ids are operations */
    device *at;
    int n, room;
    int *first_of_host;          /* [hosts], or NULL: there are none; -1: the host has none */
    int *next_of_host;           /* [hosts]: the device that its next rank has */
    int *of_rank;                /* of those up to n_ranks */
    int n_ranks, rank_room;
    device_operation *operation;
    int n_operations, operation_room, free_operation;
    device_stream *stream;       /* [ranks][DEVICE_STREAMS] */
    int n_streams;
} devices;

int devices_init(devices *all);
void devices_free(devices *all);
int device_begin(sim *s, const device_work *work);       /* begins an operation, or has it wait: 0, or an error */
/* Time that a kernel takes on a device which does nothing else; -1: it has no speed for the type. */
double device_alone_s(const device *d, int type, double flop, double bytes);

#ifdef SMPY_CHECK
void devices_check(const devices *all);
#endif
#endif
