/* storage.h -- places of files, and accesses to files.
 *
 * A host has places for files, numbered from 0; a place is one or several disks (disk.h), of its own or of other hosts. With
 * several, a file lies on them in stripes: the n-th stripe of any file on the n-th disk, round and round. An access to a range of a
 * file has a part on each disk that it reaches. A part that writes to another host's disk is a transfer, then an operation of the
 * disk; one that reads is the operation, then the transfer; in a place that streams both go on at once. The transfers have no
 * envelope.
 *
 * Accesses that queue together take place one after the other, in the order they come.
 *
 * Invariants: (1) an access lives until its last part is over, and then tells its owner; n_under_way counts them;
 *             (2) of a queue, the first access is under way, and the others wait for it;
 *             (3) a host without the place that an access asks for uses its first one. Without any, or with the place -1, the
 *                 access takes no time; else one of no bytes is an operation of its first disk, which ends at the same date. */
#ifndef SMPY_STORAGE_H
#define SMPY_STORAGE_H
#include <stdint.h>

#include "basics/errors.h"
#include "world/disk.h"

/* cdef */
/* ---- disks and places: before the first access to a place; numbers, or errors < 0 ---- */
int sim_disk_new(sim *s, int host, double read_bytes_per_s, double write_bytes_per_s, double latency_s);
/* The next place of a host. Stripes of so many bytes lie on its disks in turn; `streams`: the network carries while disks work. */
int sim_place_new(sim *s, int host, int n_disks, const int *disk, int64_t stripe_bytes, int streams);
void sim_disks_round(sim *s);         /* to whole bytes at each date, as SimGrid's do */
/* end cdef */

typedef void access_owner(sim *s, int number);   /* the access of an owner's number is over */

typedef struct storage_range {
    int host, place, is_write;
    int queue;                   /* from 1 on, below STORAGE_QUEUES_MAX; 0: none */
    int64_t offset, bytes;
} storage_range;

enum { STORAGE_QUEUES_MAX = 1 << 20 };

typedef struct {
    int64_t stripe_bytes;
    int first_disk, n_disks;     /* in `disk_of_place` */
    int streams;
    int next_of_host;
} file_place;

typedef struct {
    storage_range range;
    access_owner *begins, *ended;
    int number;                  /* the owner's */
    int n_parts;                 /* not over */
    int next;                    /* in its queue or the free list; -1: none */
} file_access;

typedef struct {
    int access, disk;
    int64_t bytes;
    int n_left;                  /* steps that are not over: a delay, an operation, a transfer */
    int stage;
    int next;                    /* in the free list */
} access_part;

typedef struct {
    disks disks;
    file_place *place;
    int n_places, place_room;
    int *disk_of_place;
    int n_disks_of_places, disk_of_place_room;
    int *first_place;            /* [hosts], or NULL: there are none; -1: the host has none */
    file_access *access;
    int n_accesses, access_room, free_access;
    access_part *part;
    int n_parts, part_room, free_part;
    struct { int first, last; } *queue; /* by number; accesses, or -1 */
    int n_queues;
    int n_under_way;
} storage;

int storage_init(storage *all);
void storage_free(storage *all);

/* Begins an access, or has it queue: 0, or an error. `begins` and `ended` are told with the number, perhaps before it returns. */
int storage_access(sim *s, const storage_range *range, access_owner *begins, access_owner *ended, int number);

#ifdef SMPY_CHECK
void storage_check(const storage *all);
#endif
#endif
