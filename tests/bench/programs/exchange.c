/* exchange BYTES ITERATIONS FORM: every rank sends every rank BYTES, memory shared.
 *
 * FORM: even (Alltoall), irregular (Alltoallv, from half of BYTES to three halves). */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <string.h>

static int n_bytes, irregular;

static int length(long source, long dest)
{
    return irregular ? n_bytes / 2 + (int)((source * 7919 + dest * 104729 + source * dest * 31) % (n_bytes + 1)) : n_bytes;
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    n_bytes = atoi(argv[1]);
    irregular = !strcmp(argv[3], "irregular");
    int *sent = malloc(n_ranks * sizeof *sent), *sent_at = malloc(n_ranks * sizeof *sent_at), n_sent = 0;
    int *received = malloc(n_ranks * sizeof *received), *received_at = malloc(n_ranks * sizeof *received_at), n_received = 0;
    for (int i = 0; i < n_ranks; i++) {
        sent[i] = length(rank, i);
        received[i] = length(i, rank);
        sent_at[i] = n_sent;
        received_at[i] = n_received;
        n_sent += sent[i];
        n_received += received[i];
    }
    char *out = SMPI_SHARED_MALLOC(n_sent), *into = SMPI_SHARED_MALLOC(n_received);
    for (int i = 0; i < atoi(argv[2]); i++) {
        if (irregular)
            MPI_Alltoallv(out, sent, sent_at, MPI_BYTE, into, received, received_at, MPI_BYTE, MPI_COMM_WORLD);
        else
            MPI_Alltoall(out, n_bytes, MPI_BYTE, into, n_bytes, MPI_BYTE, MPI_COMM_WORLD);
    }
    SMPI_SHARED_FREE(out);
    SMPI_SHARED_FREE(into);
    MPI_Finalize();
}
