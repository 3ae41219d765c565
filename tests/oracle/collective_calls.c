/* collective_calls FILE: performs the collective calls of a file, one a line: operation, count, root, bytes of an entry,
 * commutative, predefined. Rank 0 calls call_mark(i) before call i and call_mark(-1) after it, for collective_calls.gdb.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void call_mark(int number) { __asm__ volatile("" ::"r"(number) : "memory"); }
static void first(void *in, void *inout, int *n, MPI_Datatype *t) { (void)in; (void)inout; (void)n; (void)t; }
int main(int argc, char **argv)
{
    int provided, rank, n, number = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (provided != MPI_THREAD_MULTIPLE) return 3;
    FILE *f = fopen(argv[1], "r");
    char op[64];
    int count, root, type_bytes, commutative, predefined;
    MPI_Op user[2];
    MPI_Op_create(first, 0, &user[0]);
    MPI_Op_create(first, 1, &user[1]);
    size_t most = (size_t)64 << 20;
    char *a = calloc(most, 1), *b = calloc(most, 1);
    int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int));
    MPI_Datatype types[64];
    while (fscanf(f, "%63s %d %d %d %d %d", op, &count, &root, &type_bytes, &commutative, &predefined) == 6) {
        MPI_Datatype t = type_bytes == 1 ? MPI_SIGNED_CHAR : type_bytes == 4 ? MPI_INT : MPI_DOUBLE;
        MPI_Op o = predefined ? MPI_SUM : user[commutative];
        /* uneven blocks of the v operations: rank i has count + (i % 3) entries */
        int total = 0;
        for (int i = 0; i < n; i++) { counts[i] = count + i % 3; places[i] = total; total += counts[i]; types[i] = t; }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) call_mark(number);
        number++;
        if (!strcmp(op, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
        else if (!strcmp(op, "bcast")) MPI_Bcast(a, count, t, root, MPI_COMM_WORLD);
        else if (!strcmp(op, "reduce")) MPI_Reduce(a, b, count, t, o, root, MPI_COMM_WORLD);
        else if (!strcmp(op, "allreduce")) MPI_Allreduce(a, b, count, t, o, MPI_COMM_WORLD);
        else if (!strcmp(op, "gather")) MPI_Gather(a, count, t, b, count, t, root, MPI_COMM_WORLD);
        else if (!strcmp(op, "scatter")) MPI_Scatter(a, count, t, b, count, t, root, MPI_COMM_WORLD);
        else if (!strcmp(op, "allgather")) MPI_Allgather(a, count, t, b, count, t, MPI_COMM_WORLD);
        else if (!strcmp(op, "alltoall")) MPI_Alltoall(a, count, t, b, count, t, MPI_COMM_WORLD);
        else if (!strcmp(op, "allgatherv")) MPI_Allgatherv(a, counts[rank], t, b, counts, places, t, MPI_COMM_WORLD);
        else if (!strcmp(op, "gatherv")) MPI_Gatherv(a, counts[rank], t, b, counts, places, t, root, MPI_COMM_WORLD);
        else if (!strcmp(op, "scatterv")) MPI_Scatterv(a, counts, places, t, b, counts[rank], t, root, MPI_COMM_WORLD);
        else if (!strcmp(op, "reduce_scatter")) MPI_Reduce_scatter(a, b, counts, t, o, MPI_COMM_WORLD);
        else if (!strcmp(op, "reduce_scatter_block")) MPI_Reduce_scatter_block(a, b, count, t, o, MPI_COMM_WORLD);
        else if (!strcmp(op, "scan")) MPI_Scan(a, b, count, t, o, MPI_COMM_WORLD);
        else if (!strcmp(op, "exscan")) MPI_Exscan(a, b, count, t, o, MPI_COMM_WORLD);
        else if (!strcmp(op, "alltoallv")) {
            for (int i = 0; i < n; i++) { counts[i] = count; places[i] = i * count; }
            MPI_Alltoallv(a, counts, places, t, b, counts, places, t, MPI_COMM_WORLD);
        } else if (!strcmp(op, "alltoallw")) {
            for (int i = 0; i < n; i++) { counts[i] = count; places[i] = i * count * type_bytes; }
            MPI_Alltoallw(a, counts, places, types, b, counts, places, types, MPI_COMM_WORLD);
        } else return 4;
        if (rank == 0) call_mark(-1);
    }
    if (rank == 0) call_mark(-1);
    MPI_Finalize();
    return 0;
}
