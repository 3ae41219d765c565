/* ring DOUBLES ITERATIONS DATA: Isend to the right, Recv from the left, Wait.
 * DATA: every (each number asserted), sample (one in each 32 KiB), none (memory shared by all ranks). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(int holds)
{
    if (!holds) {
        fputs("wrong data\n", stderr);
        abort();
    }
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int n = atoi(argv[1]), iterations = atoi(argv[2]), right = (rank + 1) % n_ranks, left = (rank + n_ranks - 1) % n_ranks;
    const char *data = argv[3];
    size_t bytes = (size_t)n * sizeof(double);
    int is_none = !strcmp(data, "none"), is_every = !strcmp(data, "every");
    double *out[2], *in, *wanted[2];
    in = is_none ? SMPI_SHARED_MALLOC(bytes) : malloc(bytes);
    for (int turn = 0; turn < 2; turn++) {
        out[turn] = is_none ? in : malloc(bytes);
        wanted[turn] = is_none ? in : malloc(bytes);
        for (int k = 0; k < n && !is_none; k++) {
            out[turn][k] = rank + 0.5 * turn;
            wanted[turn][k] = left + 0.5 * turn;
        }
    }
    for (int i = 0; i < iterations; i++) {
        MPI_Request request;
        if (!is_none && !is_every)
            for (int k = 0; k < n; k += 4096)
                out[i % 2][k] = rank + i;
        MPI_Isend(out[i % 2], n, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(in, n, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (is_every)
            demand(!memcmp(in, wanted[i % 2], bytes));
        else if (!is_none)
            for (int k = 0; k < n; k += 4096)
                demand(in[k] == left + i);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
}
