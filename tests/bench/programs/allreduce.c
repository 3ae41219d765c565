/* allreduce ITERATIONS: one number summed over all ranks, asserted. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    double mine = rank, sum = 0;
    for (int i = 0; i < atoi(argv[1]); i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (sum != 0.5 * n_ranks * (n_ranks - 1))
            abort();
    }
    MPI_Finalize();
}
