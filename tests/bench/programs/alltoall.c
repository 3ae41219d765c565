/* alltoall ITERATIONS DOUBLES: every rank sends every rank its own number, asserted. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, n_ranks, width = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int n = n_ranks * width;
    double *mine = malloc(n * sizeof *mine), *all_ranks = calloc(n, sizeof *all_ranks);
    for (int i = 0; i < n; i++)
        mine[i] = rank;
    for (int i = 0; i < atoi(argv[1]); i++) {
        MPI_Alltoall(mine, width, MPI_DOUBLE, all_ranks, width, MPI_DOUBLE, MPI_COMM_WORLD);
        if (all_ranks[0] != 0 || all_ranks[n - 1] != n_ranks - 1)
            abort();
    }
    MPI_Finalize();
}
