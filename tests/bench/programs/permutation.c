/* permutation BYTES ROUNDS: every round each rank sends to its image under a scrambled permutation, memory shared by all.
 * The number of ranks is a power of two. */
#include <mpi.h>
#include <stdlib.h>

static unsigned fold(unsigned x) { return x ^ x >> 5; }
static unsigned unfold(unsigned x) { return x ^ x >> 5 ^ x >> 10 ^ x >> 15; }

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int bytes = atoi(argv[1]), rounds = atoi(argv[2]);
    unsigned mask = (unsigned)n_ranks - 1, me = (unsigned)rank;
    char *data = SMPI_SHARED_MALLOC((size_t)bytes);
    for (int i = 0; i < rounds; i++) {
        unsigned factor = (2 * (unsigned)i + 1) * 1597 | 1, offset = (unsigned)i * 7919 + 3, inverse = factor;
        for (int k = 0; k < 5; k++) /* Newton, modulo 2^32 */
            inverse *= 2 - factor * inverse;
        unsigned dest = fold((fold(me * factor & mask) + offset) * factor & mask);
        unsigned source = unfold((unfold(me) * inverse - offset) & mask) * inverse & mask;
        MPI_Request request[2];
        MPI_Irecv(data, bytes, MPI_BYTE, (int)source, i, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(data, bytes, MPI_BYTE, (int)dest, i, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    SMPI_SHARED_FREE(data);
    MPI_Finalize();
}
