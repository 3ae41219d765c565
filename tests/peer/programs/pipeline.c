/* pipeline BYTES BLOCKS FLOP: blocks pass through all ranks, each of which works on them. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int bytes = atoi(argv[1]), blocks = atoi(argv[2]);
    double flop = atof(argv[3]);
    char *data = buffer(bytes);
    for (int block = 0; block < blocks; block++) {
        if (rank > 0)
            MPI_Recv(data, bytes, MPI_BYTE, rank - 1, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        execute(flop * (1 + (rank + block) % 2));
        if (rank < n_ranks - 1)
            MPI_Send(data, bytes, MPI_BYTE, rank + 1, block, MPI_COMM_WORLD);
    }
    finish();
}
