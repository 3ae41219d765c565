/* disk.h -- disks, and the operations that share them.
 *
 * An operation reads a number of bytes from a disk or writes them. All operations of a disk that are under way have max-min fair
 * shares of three limits, as in SimGrid: one of all reads, one of all writes, and the greater of the two of both together. So all
 * reads have one rate, and all writes have one: a disk only counts the bytes that one of each has had, and an operation ends when
 * that reaches its own mark.
 *
 * If disks round, as SimGrid's do, an operation has had a whole number of bytes at each date of the world.
 *
 * Operations and delays that end at one date end in the order of their start.
 *
 * Invariants: (1) served is the number of bytes that one operation of a direction has had since there were none, up to since_s;
 *             (2) ends holds the marks of all operations of a direction; its ids are those of the operations' owner;
 *             (3) a disk is in `next` exactly while it has operations, with the date of the first one's end;
 *             (4) all operations and delays of a world have one owner, whose ids are different. */
#ifndef SMPY_DISK_H
#define SMPY_DISK_H
#include "basics/clock.h"
#include "basics/errors.h"
#include "basics/heap.h"

enum { DISK_READ, DISK_WRITE, DISK_DIRECTIONS };

typedef void disk_owner(sim *s, int id);         /* an operation, or a delay, is over */

typedef struct {
    int64_t order;               /* of its start */
    int id;
} disk_end;

typedef struct {
    double bytes_per_s;          /* limit of all of them together */
    double served;
    heap ends;
} disk_direction;

typedef struct {
    int host;
    double latency_s;            /* before each operation */
    double since_s;
    double left_s;               /* from then to the first end */
    disk_direction of[DISK_DIRECTIONS];
} disk;

typedef struct {
    disk *at;
    int n, room;
    int rounds;
    heap next;                   /* ids are disks */
    heap delays;                 /* ids are the owner's */
    disk_owner *owner;
    int n_under_way;             /* operations and delays */
    int64_t n_started;
    disk_end *ended;             /* those that end at this date */
    int n_ended, ended_room;
} disks;

int disks_init(disks *all, disk_owner *owner);
void disks_free(disks *all);
int disk_new(disks *all, int host, double read_bytes_per_s, double write_bytes_per_s, double latency_s); /* or an error */

/* ---- operations, whose owner is told of their end ---- */
int disk_delay(disks *all, const sim_clock *c, double seconds, int id);                     /* 0, or SIM_OUT_OF_MEMORY */
int disk_start(disks *all, const sim_clock *c, int disk, int direction, double bytes, int id); /* likewise */

double disks_next_s(const disks *all);           /* the next date; INFINITY: none */
void disks_reach(disks *all, const sim_clock *c); /* the clock stands at a new date: needed where they round */
int disks_fire(sim *s, disks *all, const sim_clock *c); /* ends what is due: the number of it, or an error */

#ifdef SMPY_CHECK
void disks_check(const disks *all);
#endif
#endif
