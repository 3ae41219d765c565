/* pingpong KIND BYTES ROUNDS PEER: ranks 0 and PEER exchange one message to and fro. */
#include "peer.h"

static void give(const char *kind, char *data, int bytes, int dest)
{
    MPI_Request request;
    if (is(kind, "send"))
        MPI_Send(data, bytes, MPI_BYTE, dest, 7, MPI_COMM_WORLD);
    else if (is(kind, "ssend"))
        MPI_Ssend(data, bytes, MPI_BYTE, dest, 7, MPI_COMM_WORLD);
    else {
        if (is(kind, "isend"))
            MPI_Isend(data, bytes, MPI_BYTE, dest, 7, MPI_COMM_WORLD, &request);
        else
            MPI_Issend(data, bytes, MPI_BYTE, dest, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argv[1];
    int bytes = atoi(argv[2]), rounds = atoi(argv[3]), peer = atoi(argv[4]);
    char *data = buffer(bytes);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            give(kind, data, bytes, peer);
            MPI_Recv(data, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == peer) {
            MPI_Recv(data, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            give(kind, data, bytes, 0);
        }
    }
    finish();
}
