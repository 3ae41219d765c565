/* states SEED FLOP ROUNDS STATES: ranks compute and set the states of their hosts, a message to the right between. */
#include "peer.h"
#include <simgrid/host.h>
#include <simgrid/plugins/energy.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = (unsigned)atoi(argv[1]) + (unsigned)rank;
    double flop = atof(argv[2]);
    int rounds = atoi(argv[3]), states = atoi(argv[4]);
    char *out = buffer(70000), *in = buffer(70000);
    for (int i = 0; i < rounds; i++) {
        usleep((useconds_t)(1 + draw(&seed, 1000)));
        sg_host_set_pstate(sg_host_self(), (unsigned long)draw(&seed, states));
        execute(flop * (1 + draw(&seed, 100)));
        if (draw(&seed, 2))
            sg_host_set_pstate(sg_host_self(), (unsigned long)draw(&seed, states));
        MPI_Request request;
        MPI_Isend(out, 70000, MPI_BYTE, (rank + 1) % n_ranks, i, MPI_COMM_WORLD, &request);
        execute(flop * (1 + draw(&seed, 100)));
        MPI_Recv(in, 70000, MPI_BYTE, (rank + n_ranks - 1) % n_ranks, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    finish();
}
