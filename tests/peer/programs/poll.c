/* poll HOW BYTES FLOP ROUNDS: odd ranks poll for the messages of the even ranks below them, which compute first. */
#include "peer.h"

static void probe(const char *how, char *data, int bytes, int source)
{
    for (int i = 0; i < 2; i++) {
        int done = is(how, "probe");
        if (done)
            MPI_Probe(source, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (!done)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
        MPI_Recv(data, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void test(const char *how, char *data, int bytes, int source)
{
    MPI_Request request[2];
    int done = 0, index[2], count;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(data + (long)i * bytes, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < 2 && is(how, "test"); i++)
        for (done = 0; !done;)
            MPI_Test(&request[i], &done, MPI_STATUS_IGNORE);
    while (!done && is(how, "testall"))
        MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 && is(how, "testany"); i++)
        for (done = 0; !done;)
            MPI_Testany(2, request, index, &done, MPI_STATUS_IGNORE);
    for (; done < 2 && is(how, "testsome"); done += count)
        MPI_Testsome(2, request, &count, index, MPI_STATUSES_IGNORE);
}

static void poll(const char *how, char *data, int bytes, int source)
{
    if (is(how, "iprobe") || is(how, "probe"))
        probe(how, data, bytes, source);
    else
        test(how, data, bytes, source);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *how = argv[1];
    int bytes = atoi(argv[2]) + 40 * (rank / 2), rounds = atoi(argv[4]);
    double flop = atof(argv[3]);
    char *data = buffer(2L * bytes);
    for (int round = 0; round < rounds; round++) {
        if (rank % 2) {
            execute(flop * 0.0137 * rank);
            poll(how, data, bytes, rank - 1);
        } else if (rank + 1 < n_ranks)
            for (int i = 0; i < 2; i++) {
                execute(flop * (1 + rank + i));
                MPI_Send(data, bytes, MPI_BYTE, rank + 1, i, MPI_COMM_WORLD);
            }
    }
    finish();
}
