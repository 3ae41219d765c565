/* sampled.c -- visits a sampled loop several times: SCOPE ITERS THRES VISITS ITERATIONS TIME... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, n_run = 0, i = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void (*advance)(double) = (void (*)(double))dlsym(RTLD_DEFAULT, "advance_clock");
    const int is_world = argv[1][0] == 'w', iters = atoi(argv[2]), n_visits = atoi(argv[4]), n = atoi(argv[5]);
    const double thres = atof(argv[3]);
    for (int visit = 0; visit < n_visits; visit++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_world) {
            SMPI_SAMPLE_GLOBAL(i = 0, i < n, i++, iters, thres)
            {
                advance(atof(argv[6 + (5 * rank + 3 * visit + i) % (argc - 6)]));
                n_run++;
            }
        } else {
            SMPI_SAMPLE_LOCAL(i = 0, i < n, i++, iters, thres)
            {
                advance(atof(argv[6 + (5 * rank + 3 * visit + i) % (argc - 6)]));
                n_run++;
            }
        }
        const double date_s = MPI_Wtime();
        printf("%d %d %d %.12f\n", visit, rank, n_run, date_s);
    }
    MPI_Finalize();
    return 0;
}
