/* window BYTES WINDOW ROUNDS: the lower half of the ranks sends WINDOW messages at a time to the upper half. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int bytes = atoi(argv[1]), window = atoi(argv[2]), rounds = atoi(argv[3]), half = n_ranks / 2;
    int peer = rank < half ? rank + half : rank - half;
    char *data = buffer((long)bytes * window);
    MPI_Request *request = calloc((size_t)window, sizeof *request);
    for (int round = 0; round < rounds && peer < n_ranks && rank < 2 * half; round++) {
        for (int i = 0; i < window; i++) {
            char *part = data + (long)i * bytes;
            if (rank < half)
                MPI_Isend(part, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request[i]);
            else
                MPI_Irecv(part, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &request[i]);
        }
        MPI_Waitall(window, request, MPI_STATUSES_IGNORE);
        if (rank < half)
            MPI_Recv(data, 0, MPI_BYTE, peer, window, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(data, 0, MPI_BYTE, peer, window, MPI_COMM_WORLD);
    }
    finish();
}
