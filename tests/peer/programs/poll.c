/* poll HOW BYTES FLOP ROUNDS: odd ranks poll for the messages of the even ranks below them, which compute first. */
#include "peer.h"

static void poll(const char *how, char *data, int bytes, int source)
{
    MPI_Request request[2];
    MPI_Status status;
    int done = 0, index[2], count;
    if (is(how, "iprobe"))
        while (!done)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &done, &status);
    if (is(how, "probe"))
        MPI_Probe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(data + (long)i * bytes, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, &request[i]);
    if (is(how, "test"))
        for (int i = 0; i < 2; i++)
            for (done = 0; !done;)
                MPI_Test(&request[i], &done, MPI_STATUS_IGNORE);
    if (is(how, "testall"))
        while (!done)
            MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
    if (is(how, "testany"))
        for (int i = 0; i < 2; i++)
            for (done = 0; !done;)
                MPI_Testany(2, request, index, &done, MPI_STATUS_IGNORE);
    if (is(how, "testsome"))
        for (; done < 2; done += count)
            MPI_Testsome(2, request, &count, index, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *how = argv[1];
    int bytes = atoi(argv[2]), rounds = atoi(argv[4]);
    double flop = atof(argv[3]);
    char *data = buffer(2L * bytes);
    for (int round = 0; round < rounds; round++) {
        if (rank % 2)
            poll(how, data, bytes, rank - 1);
        else if (rank + 1 < n_ranks)
            for (int i = 0; i < 2; i++) {
                execute(flop * (1 + rank + i));
                MPI_Send(data, bytes, MPI_BYTE, rank + 1, i, MPI_COMM_WORLD);
            }
    }
    finish();
}
