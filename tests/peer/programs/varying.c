/* varying OPERATION BYTES ROOT ROUNDS FLOP: collectives on blocks of different sizes, rounds in a row. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *operation = argv[1];
    int bytes = atoi(argv[2]), root = atoi(argv[3]), rounds = atoi(argv[4]);
    int own[n_ranks], own_at[n_ranks], to[n_ranks], to_at[n_ranks], from[n_ranks], from_at[n_ranks];
    MPI_Datatype type[n_ranks];
    for (int i = 0; i < n_ranks; i++) {
        own[i] = own_size(bytes, i);
        to[i] = pair_size(bytes, rank, i);
        from[i] = pair_size(bytes, i, rank);
        type[i] = MPI_BYTE;
    }
    long all = displace(own, own_at), out_all = displace(to, to_at), in_all = displace(from, from_at);
    char *out = buffer(all + out_all), *in = buffer(all + in_all);
    MPI_Comm world = MPI_COMM_WORLD;
    execute(atof(argv[5]) * (rank * 7 % n_ranks));
    for (int i = 0; i < rounds; i++) {
        if (is(operation, "gatherv"))
            MPI_Gatherv(out, own[rank], MPI_BYTE, in, own, own_at, MPI_BYTE, root, world);
        else if (is(operation, "scatterv"))
            MPI_Scatterv(out, own, own_at, MPI_BYTE, in, own[rank], MPI_BYTE, root, world);
        else if (is(operation, "allgatherv"))
            MPI_Allgatherv(out, own[rank], MPI_BYTE, in, own, own_at, MPI_BYTE, world);
        else if (is(operation, "alltoallv"))
            MPI_Alltoallv(out, to, to_at, MPI_BYTE, in, from, from_at, MPI_BYTE, world);
        else if (is(operation, "alltoallw"))
            MPI_Alltoallw(out, to, to_at, type, in, from, from_at, type, world);
        else
            MPI_Reduce_scatter(out, in, own, MPI_BYTE, MPI_BOR, world);
    }
    finish();
}
