/* permutation SEED BYTES ROUNDS: in every round each rank sends to its image under a drawn permutation. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = (unsigned)atoi(argv[1]);
    int bytes = atoi(argv[2]), rounds = atoi(argv[3]);
    char *out = buffer(bytes), *in = buffer(bytes);
    int *image = calloc((size_t)n_ranks, sizeof *image);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n_ranks; i++)
            image[i] = i;
        for (int i = n_ranks - 1; i > 0; i--) {
            int j = draw(&seed, i + 1), swap = image[i];
            image[i] = image[j];
            image[j] = swap;
        }
        int source = 0;
        while (image[source] != rank)
            source++;
        MPI_Request request[2];
        MPI_Irecv(in, bytes, MPI_BYTE, source, round, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, bytes, MPI_BYTE, image[rank], round, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    finish();
}
