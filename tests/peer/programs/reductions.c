/* reductions OPERATION COUNT KIND ROOT ROUNDS FLOP: reductions of ints, with MPI_SUM (sum), an operation of the
 * program's own that may be reordered (own) or not (ordered), or a datatype of two doubles (pairs, ordered_pairs). */
#include "peer.h"

static void keep(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *operation = argv[1], *kind = argv[3];
    int count = atoi(argv[2]), root = atoi(argv[4]), rounds = atoi(argv[5]);
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    if (!is(kind, "sum")) MPI_Op_create(keep, is(kind, "own") || is(kind, "pairs"), &op);
    if (strstr(kind, "pairs")) {
        MPI_Type_contiguous(2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
    }
    int counts[n_ranks];
    for (int i = 0; i < n_ranks; i++) counts[i] = is(operation, "reduce_scatter") ? own_size(count, i) : count;
    char *out = buffer((long)count * n_ranks * 32), *in = buffer((long)count * n_ranks * 32);
    MPI_Comm world = MPI_COMM_WORLD;
    execute(atof(argv[6]) * (rank * 7 % n_ranks));
    for (int i = 0; i < rounds; i++) {
        if (is(operation, "scan"))
            MPI_Scan(out, in, count, type, op, world);
        else if (is(operation, "exscan"))
            MPI_Exscan(out, in, count, type, op, world);
        else if (is(operation, "reduce"))
            MPI_Reduce(out, in, count, type, op, root, world);
        else if (is(operation, "allreduce"))
            MPI_Allreduce(out, in, count, type, op, world);
        else if (is(operation, "reduce_scatter_block"))
            MPI_Reduce_scatter_block(out, in, count, type, op, world);
        else
            MPI_Reduce_scatter(out, in, counts, type, op, world);
    }
    finish();
}
