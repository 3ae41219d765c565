#include "mpi/mpi_world.h"

#include <stdlib.h>

int mpi_begin(sim *s, const call_costs *costs, const poll_costs *polls, int n_ranks)
{
    mpi_state *mpi = mpi_of(s);
    mpi->costs = *costs;
    mpi->poll_costs = *polls;
    mpi->polling = (polling){.tests_in_a_row = 1, .test_anys_in_a_row = 1, .iprobes_in_a_row = 1};
    const int error = match_init(&mpi->match, n_ranks);
    return error ? error : comms_init(&mpi->comms, n_ranks);
}

int mpi_add_rank(sim *s, int rank)
{
    const int error = match_add_rank(&mpi_of(s)->match, rank);
    return error < 0 ? error : comms_add_rank(&mpi_of(s)->comms, rank);
}

void mpi_end(sim *s)
{
    mpi_state *mpi = mpi_of(s);
    requests_free(s);
    collective_runs_free(&mpi->runs);
    for (int i = 0; i < mpi->n_schedules; i++) schedule_free(mpi->schedule[i]);
    payloads_free(&mpi->payloads);
    comms_free(&mpi->comms);
    match_free(&mpi->match);
    device_messages_free(&mpi->device_messages);
    free(mpi->own_costs);
    free(mpi->costs_of_host);
    free(mpi->schedule);
    free(mpi->latches.at);
}

#ifdef SMPY_CHECK
void mpi_check(const sim *s)
{
    const mpi_state *mpi = mpi_of(s);
    requests_check(s);
    payloads_check(&mpi->payloads);
    match_check(&mpi->match, &mpi->requests);
    comms_check(&mpi->comms);
}
#endif
