/* comm.h -- communicators: rank tables, numbered densely from SIM_COMM_WORLD on.
 *
 * A communicator speaks to its other side: itself, or the remote group of an intercommunicator, whose number the ranks over
 * there use. Communicators whose world ranks are consecutive store no table.
 *
 * Invariants: (1) a number is used again when both sides are freed and nothing under way names either;
 *             (2) `sorted` lists the ranks by their world rank. */
#ifndef SMPY_COMM_H
#define SMPY_COMM_H
#include "mpi/instance.h"
#include "mpi/messages.h"

typedef struct {
    int n;
    int first;                   /* rank r is world rank first + r when world is NULL */
    int *world, *sorted;
    int *entered;                /* the instance each rank entered last; NULL before the first collective */
    int n_hosts, ranks_on_host_max; /* of its ranks; 0 before the first meeting (meeting.h) */
    struct window_part *window;  /* parts of its window (window.h); NULL: nobody has accessed it */
    int other;                   /* number of the side it talks to: its own, unless it is an intercommunicator */
    int is_freed, n_uses;        /* by its ranks; by requests, collectives and accesses under way */
    int serial;                  /* number of tables made before it */
    int next;                    /* in the free list */
} comm_table;

typedef struct {
    comm_table *at;
    int n, room, free, n_made;
    comm_table nobody;           /* the table of a number that no communicator has */
    int *self;                   /* [n_ranks] the communicator of a rank alone, 0 before it is asked for */
    int n_ranks;                 /* ranks of the world that it knows */
    instances instances;
} comms;

int comms_init(comms *all, int n_ranks);
int comms_add_rank(comms *all, int n_ranks);      /* to a world of so many: it is in no communicator. 0, or SIM_OUT_OF_MEMORY */
void comms_free(comms *all);
void comm_use(comms *all, int comm);              /* something under way names it; then, no longer */
void comm_leave(comms *all, int comm);
/* `rank` of the communicator enters its next collective by a timeline: the instance, 0 between groups and for one rank alone; or an
 * error. */
int comm_enter_collective(comms *all, int comm, int rank, int timeline, double now_s);

static inline const comm_table *comm_at(const comms *all, int comm)
{
    return comm >= 0 && comm < all->n ? &all->at[comm] : &all->nobody;
}

static inline int comm_size(const comms *all, int comm)
{
    return comm_at(all, comm)->n;
}

static inline int comm_other(const comms *all, int comm)
{
    return comm_at(all, comm)->other;
}

static inline int comm_peers(const comms *all, int comm)
{
    return comm_size(all, comm_other(all, comm));
}

/* May a receive or a probe ask for the source? */
static inline int comm_has_source(const comms *all, int comm, int source)
{
    return source == SIM_ANY || (source >= 0 && source < comm_peers(all, comm));
}

int comm_rank(const comms *all, int comm, int world_rank);
int comm_world_rank(const comms *all, int comm, int rank);

#ifdef SMPY_CHECK
void comms_check(const comms *all);
#endif
#endif
