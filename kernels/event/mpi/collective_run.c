#include "mpi/collective_run.h"

#include <math.h>
#include <stdlib.h>

collective_run *collective_run_new(collective_runs *all, comms *c, int comm)
{
    collective_run *run = all->free;
    if (run)
        all->free = run->next;
    else if (!(run = malloc(sizeof *run)))
        return NULL;
    *run = (collective_run){.comm = comm, .met_s = INFINITY, .met_rank = -1, .next = run};
    comm_use(c, comm);
    return run;
}

void collective_run_free(collective_runs *all, comms *c, collective_run *run)
{
    instance_leave(&c->instances, run->instance);
    comm_leave(c, run->comm);
    free((void *)run->frame.tables);
    free(run->made);
    free(run->owed_of_s);
    run->next = all->free;
    all->free = run;
}

void collective_runs_free(collective_runs *all)
{
    for (collective_run *run = all->free, *next; run; run = next) {
        next = run->next;
        free(run);
    }
}

static int make_room(collective_run *run, int has_overheads)
{
    int room = run->made_room ? 2 * run->made_room : 16;
    uint8_t *made = realloc(run->made, (size_t)room * sizeof *made);
    if (!made) return SIM_OUT_OF_MEMORY;
    run->made = made;
    if (has_overheads) {
        double *owed_of_s = realloc(run->owed_of_s, (size_t)room * sizeof *owed_of_s);
        if (!owed_of_s) return SIM_OUT_OF_MEMORY;
        run->owed_of_s = owed_of_s;
    }
    run->made_room = room;
    return 0;
}

int collective_run_made(collective_run *run, int is_detached, int has_overheads)
{
    if (run->n_made == run->made_room && make_room(run, has_overheads) < 0) return SIM_OUT_OF_MEMORY;
    run->made[run->n_made] = is_detached ? DETACHED : UNDER_WAY;
    return run->n_made++;
}
