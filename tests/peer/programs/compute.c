/* compute SEED FLOP ROUNDS BYTES: drawn amounts of work and idling on shared cores, a message to the right between. */
#include "peer.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = (unsigned)atoi(argv[1]) + (unsigned)rank;
    double flop = atof(argv[2]);
    int rounds = atoi(argv[3]), bytes = atoi(argv[4]);
    char *out = buffer(bytes), *in = buffer(bytes);
    for (int i = 0; i < rounds; i++) {
        if (draw(&seed, 3) == 0)
            usleep((useconds_t)(1 + draw(&seed, 1000)));
        execute(flop * (1 + draw(&seed, 100)));
        MPI_Request request;
        MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % n_ranks, i, MPI_COMM_WORLD, &request);
        execute(flop * (1 + draw(&seed, 100)));
        MPI_Recv(in, bytes, MPI_BYTE, (rank + n_ranks - 1) % n_ranks, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    finish();
}
