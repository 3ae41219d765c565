/* forced OPERATION BYTES ROOT CALLS KIND: calls of a collective whose results are checked; a rank with a wrong one says so.
 *
 * Bytes for a broadcast, else doubles: their sum, or an operation that joins ranges of ranks that follow each other (KIND
 * "ordered"): ranges in another order have no result. */
#include "peer.h"

enum { FIRST = 1000, NONE = -1 }; /* a range is its first rank times FIRST, and its last rank */

static void join(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const double *left = in;
    double *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++) {
        const int a = (int)left[i], b = (int)right[i], follow = a >= 0 && b >= 0 && a % FIRST + 1 == b / FIRST;
        right[i] = follow ? a / FIRST * FIRST + b % FIRST : NONE;
    }
}

static int is_wrong(const double *result, int n, double expected)
{
    for (int i = 0; i < n; i++)
        if (result[i] != expected) return 1;
    return 0;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *operation = argv[1];
    const int bytes = atoi(argv[2]), root = atoi(argv[3]), n_calls = atoi(argv[4]), is_ordered = is(argv[5], "ordered");
    const int n = bytes / (int)sizeof(double);
    int n_wrong = 0, counts[n_ranks];
    MPI_Op op = MPI_SUM;
    if (is_ordered) MPI_Op_create(join, 0, &op);
    double *in = (double *)buffer(16L * n * n_ranks), *out = (double *)buffer(16L * n * n_ranks), sum = 0;
    char *whole = buffer(bytes);
    for (int i = 0; i < n_ranks; i++) {
        sum += i + 1;
        counts[i] = is(operation, "reduce_scatter_block") ? n : own_size(n, i);
    }
    const double expected = is_ordered ? n_ranks - 1 : sum;
    for (int call = 0; call < n_calls; call++) {
        for (int i = 0; i < 2 * n * n_ranks; i++) {
            in[i] = is_ordered ? rank * FIRST + rank : rank + 1;
            out[i] = -1;
        }
        memset(whole, rank == root ? 7 + call : 0, (size_t)bytes);
        if (is(operation, "bcast")) {
            MPI_Bcast(whole, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            for (int i = 0; i < bytes; i++) n_wrong += whole[i] != 7 + call;
        } else if (is(operation, "reduce")) {
            MPI_Reduce(in, out, n, MPI_DOUBLE, op, root, MPI_COMM_WORLD);
            n_wrong += rank == root && is_wrong(out, n, expected);
        } else if (is(operation, "allreduce")) {
            MPI_Allreduce(in, out, n, MPI_DOUBLE, op, MPI_COMM_WORLD);
            n_wrong += is_wrong(out, n, expected);
        } else {
            MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, op, MPI_COMM_WORLD);
            n_wrong += is_wrong(out, counts[rank], expected);
        }
    }
    printf("%d %.17g %d\n", rank, MPI_Wtime(), n_wrong);
    MPI_Finalize();
}
