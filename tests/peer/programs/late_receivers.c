/* late_receivers BYTES FLOP STEP ROUNDS: pairs of ranks; each receiver computes, by STEP longer for each rank before it, and only
 * then receives a synchronous send. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int bytes = atoi(argv[1]), rounds = atoi(argv[4]);
    double flop = atof(argv[2]), step = atof(argv[3]);
    char *data = buffer(bytes);
    for (int i = 0; i < rounds; i++)
        if (rank % 2 == 0) {
            MPI_Ssend(data, bytes, MPI_BYTE, rank + 1, i, MPI_COMM_WORLD);
        } else {
            execute(flop + step * rank);
            MPI_Recv(data, bytes, MPI_BYTE, rank - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    finish();
}
