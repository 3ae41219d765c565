/* memory.h -- the memory of hosts: the bytes that executions move, over a bandwidth that the cores of a host share.
 *
 * Whoever moves bytes on a host is served at one rate: as fast as one core can, or a fair part of the host's bandwidth when that
 * is less. It is a resource like cores (host.h), whose unit is what one core can move. Where only the bandwidth of a core is
 * known, the host has that of all its cores together. Where neither is known there is no such resource, and bytes take no time.
 *
 * Invariant: a host is in `hosts` exactly while somebody moves bytes on it, with the date of the first one's end. */
#ifndef SMPY_MEMORY_H
#define SMPY_MEMORY_H
#include "basics/heap.h"
#include "basics/errors.h"
#include "world/host.h"

typedef struct {
    heap hosts;
} memories;

int memories_init(memories *all);
void memories_free(memories *all);

/* The shortest time in which so many cores move so many bytes there; 0 where the bandwidth is not known. */
double memory_alone_s(const host *h, double bytes, int n_cores);
/* The threads of its execution move bytes on its host, whose bandwidth is known: 0, or an error. */
int memory_join(sim *s, int timeline, double bytes);
double memory_next_s(const memories *all);               /* date at which some timeline will have moved all; INFINITY: never */
int memory_take_served(sim *s, int host);                /* a timeline that has moved all, -1, or SIM_OUT_OF_MEMORY */

#ifdef SMPY_CHECK
void memories_check(const sim *s);
#endif
#endif
