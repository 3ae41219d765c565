/* delay SEED SECONDS ROUNDS: drawn seconds of computing that are told, some below the threshold, on shared cores; a message between. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = (unsigned)atoi(argv[1]) + (unsigned)rank;
    const double seconds = atof(argv[2]);
    const int rounds = atoi(argv[3]);
    char out[100] = {0}, in[100];
    for (int i = 0; i < rounds; i++) {
        const double drawn = seconds * (1 + draw(&seed, 100));
        SMPI_SAMPLE_DELAY(drawn) {}
        MPI_Sendrecv(out, 100, MPI_BYTE, (rank + 1) % n_ranks, i, in, 100, MPI_BYTE, (rank + n_ranks - 1) % n_ranks, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    finish();
}
