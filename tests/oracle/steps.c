/* The twin of steps.py for smpirun, which prints the date at which every rank is through. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, n_ranks, n_requests;
static MPI_Request request[1000];

static void alltoall(int bytes)
{
    char *out = calloc((size_t)bytes, 1), *in = calloc((size_t)bytes, (size_t)n_ranks);
    for (int i = 1; i < n_ranks; i++)
        MPI_Irecv(in + (long)i * bytes, bytes, MPI_BYTE, (rank + i) % n_ranks, 0, MPI_COMM_WORLD, &request[n_requests++]);
    for (int i = 1; i < n_ranks; i++)
        MPI_Isend(out, bytes, MPI_BYTE, (rank - i + n_ranks) % n_ranks, 0, MPI_COMM_WORLD, &request[n_requests++]);
    MPI_Waitall(n_requests, request, MPI_STATUSES_IGNORE);
}

static void perform(char *step)
{
    char word[32] = "";
    double a = 0, b = 0;
    int done = 0;
    sscanf(step, "%31[^,],%lf,%lf", word, &a, &b);
    int peer = (int)a < 0 ? MPI_ANY_SOURCE : (int)a, bytes = (int)b;
    char *data = calloc((size_t)bytes + 1, 1), *more = calloc((size_t)bytes + 1, 1);
    MPI_Comm world = MPI_COMM_WORLD;
    if (!strcmp(word, "send"))
        MPI_Send(data, bytes, MPI_BYTE, peer, 0, world);
    else if (!strcmp(word, "ssend"))
        MPI_Ssend(data, bytes, MPI_BYTE, peer, 0, world);
    else if (!strcmp(word, "isend"))
        MPI_Isend(data, bytes, MPI_BYTE, peer, 0, world, &request[n_requests++]);
    else if (!strcmp(word, "recv"))
        MPI_Recv(data, bytes, MPI_BYTE, peer, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
    else if (!strcmp(word, "irecv"))
        MPI_Irecv(data, bytes, MPI_BYTE, peer, MPI_ANY_TAG, world, &request[n_requests++]);
    else if (!strcmp(word, "waitall"))
        MPI_Waitall(n_requests, request, MPI_STATUSES_IGNORE);
    else if (!strcmp(word, "test"))
        while (!done)
            MPI_Test(&request[n_requests - 1], &done, MPI_STATUS_IGNORE);
    else if (!strcmp(word, "iprobe"))
        while (!done)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &done, MPI_STATUS_IGNORE);
    else if (!strcmp(word, "sendrecv"))
        MPI_Sendrecv(data, bytes, MPI_BYTE, peer, 0, more, bytes, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE);
    else if (!strcmp(word, "execute"))
        smpi_execute_flops(a);
    else if (!strcmp(word, "sleep"))
        usleep((useconds_t)(a * 1e6));
    else if (!strcmp(word, "barrier"))
        MPI_Barrier(world);
    else if (!strcmp(word, "bcast"))
        MPI_Bcast(calloc((size_t)a, 1), (int)a, MPI_BYTE, 0, world);
    else if (!strcmp(word, "alltoall"))
        alltoall((int)a);
}

int main(int argc, char **argv)
{
    char mine[16], *part_end, *step_end, *part, *step;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    snprintf(mine, sizeof mine, "%d", rank);
    char *script = strdup(argv[1]);
    for (part = strtok_r(script, "/", &part_end); part; part = strtok_r(NULL, "/", &part_end)) {
        char *steps = strchr(part, ':');
        *steps++ = 0;
        if (strcmp(part, mine) && strcmp(part, "all"))
            continue;
        for (step = strtok_r(steps, ";", &step_end); step; step = strtok_r(NULL, ";", &step_end))
            perform(step);
    }
    printf("%d %.17g\n", rank, MPI_Wtime());
    MPI_Finalize();
}
