/* collectives OPERATION BYTES ROOT ROUNDS FLOP: the operation, rounds in a row, after an unequal start. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *operation = argv[1];
    int bytes = atoi(argv[2]), root = atoi(argv[3]), rounds = atoi(argv[4]);
    char *out = buffer((long)bytes * n_ranks), *in = buffer((long)bytes * n_ranks);
    MPI_Comm world = MPI_COMM_WORLD;
    execute(atof(argv[5]) * (rank * 7 % n_ranks));
    for (int i = 0; i < rounds; i++) {
        if (is(operation, "barrier"))
            MPI_Barrier(world);
        else if (is(operation, "bcast"))
            MPI_Bcast(out, bytes, MPI_BYTE, root, world);
        else if (is(operation, "reduce"))
            MPI_Reduce(out, in, bytes, MPI_BYTE, MPI_BOR, root, world);
        else if (is(operation, "allreduce"))
            MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BOR, world);
        else if (is(operation, "gather"))
            MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, world);
        else if (is(operation, "allgather"))
            MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, world);
        else if (is(operation, "alltoall"))
            MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, world);
        else
            MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, world);
    }
    finish();
}
