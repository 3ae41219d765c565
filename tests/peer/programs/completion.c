/* completion HOW BYTES COUNT FLOP: rank 0 posts COUNT receives from every other rank, then completes them. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *how = argv[1];
    int bytes = atoi(argv[2]), count = atoi(argv[3]), n = rank == 0 ? count * (n_ranks - 1) : count;
    double flop = atof(argv[4]);
    char *data = buffer((long)n * bytes * 2);
    MPI_Request *request = calloc((size_t)n, sizeof *request);
    int *index = calloc((size_t)n, sizeof *index), done;
    if (rank)
        execute(flop * (n_ranks - rank));
    for (int i = 0; i < n; i++) {
        char *part = data + 2L * i * bytes;
        if (rank == 0)
            MPI_Irecv(part, 2 * bytes, MPI_BYTE, 1 + i % (n_ranks - 1), i / (n_ranks - 1), MPI_COMM_WORLD, &request[i]);
        else
            MPI_Isend(part, bytes + bytes * ((rank + i) % 3) / 3, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request[i]);
    }
    if (rank || is(how, "waitall"))
        MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
    else if (is(how, "backwards"))
        for (int i = n - 1; i >= 0; i--)
            MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    else if (is(how, "waitany"))
        for (int i = 0; i < n; i++) {
            MPI_Waitany(n, request, index, MPI_STATUS_IGNORE);
            execute(flop * 0.01 * (1 + index[0]));
        }
    else
        for (int i = 0; i < n; i += done) {
            MPI_Waitsome(n, request, &done, index, MPI_STATUSES_IGNORE);
            execute(flop * 0.01 * done);
        }
    finish();
}
