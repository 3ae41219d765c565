/* ring BYTES ROUNDS FLOP: each rank passes a message to its right neighbour and computes. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int bytes = atoi(argv[1]), rounds = atoi(argv[2]);
    double flop = atof(argv[3]);
    int right = (rank + 1) % n_ranks, left = (rank + n_ranks - 1) % n_ranks;
    char *out = buffer(bytes), *in = buffer(bytes);
    for (int i = 0; i < rounds; i++) {
        MPI_Request request;
        MPI_Isend(out, bytes, MPI_BYTE, right, i, MPI_COMM_WORLD, &request);
        MPI_Recv(in, bytes, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        execute(flop * (1 + (rank + i) % 3));
    }
    finish();
}
