/* incast KIND BYTES COUNT FLOP ACK: every rank sends COUNT messages to rank 0, which takes them from anybody. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argv[1];
    int bytes = atoi(argv[2]), count = atoi(argv[3]), ack = atoi(argv[5]);
    double flop = atof(argv[4]);
    char *data = buffer((long)bytes + 100 * n_ranks);
    MPI_Request *request = calloc((size_t)count, sizeof *request);
    if (rank == 0) {
        for (int i = 0; i < count * (n_ranks - 1); i++) {
            MPI_Status status;
            MPI_Recv(data, bytes + 100 * n_ranks, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            execute(flop * (1 + status.MPI_SOURCE + status.MPI_TAG));
            if (ack)
                MPI_Send(data, 1, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD);
        }
    } else {
        int mine = bytes + 100 * (rank % 3);
        for (int i = 0; i < count; i++) {
            if (is(kind, "isend"))
                MPI_Isend(data, mine, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request[i]);
            else if (is(kind, "ssend"))
                MPI_Ssend(data, mine, MPI_BYTE, 0, i, MPI_COMM_WORLD);
            else
                MPI_Send(data, mine, MPI_BYTE, 0, i, MPI_COMM_WORLD);
            if (ack)
                MPI_Recv(data, 1, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (is(kind, "isend"))
            MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    }
    finish();
}
