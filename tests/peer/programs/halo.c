/* halo COLUMNS ROW_BYTES COLUMN_BYTES STEPS FLOP PERIODIC: borders of a 2-D grid go to four neighbours. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int columns = atoi(argv[1]), bytes[2] = {atoi(argv[2]), atoi(argv[3])}, steps = atoi(argv[4]);
    double flop = atof(argv[5]);
    int periodic = atoi(argv[6]), rows = n_ranks / columns;
    const int move[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    int neighbour[4];
    char *out[4], *in[4];
    for (int k = 0; k < 4; k++) {
        int row = rank / columns + move[k][0], column = rank % columns + move[k][1];
        int inside = row >= 0 && row < rows && column >= 0 && column < columns;
        neighbour[k] = inside || periodic ? (row + rows) % rows * columns + (column + columns) % columns : MPI_PROC_NULL;
        out[k] = buffer(bytes[k / 2]);
        in[k] = buffer(bytes[k / 2]);
    }
    for (int step = 0; step < steps; step++) {
        MPI_Request request[8];
        for (int k = 0; k < 4; k++)
            MPI_Irecv(in[k], bytes[k / 2], MPI_BYTE, neighbour[k], k ^ 1, MPI_COMM_WORLD, &request[k]);
        for (int k = 0; k < 4; k++)
            MPI_Isend(out[k], bytes[k / 2], MPI_BYTE, neighbour[k], k, MPI_COMM_WORLD, &request[4 + k]);
        MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
        execute(flop * (1 + rank % 3));
    }
    finish();
}
