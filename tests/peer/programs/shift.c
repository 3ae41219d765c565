/* shift BYTES DISTANCE ROUNDS OPEN: Sendrecv along the ranks; open ends talk to nobody. */
#include "peer.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int bytes = atoi(argv[1]), distance = atoi(argv[2]), rounds = atoi(argv[3]), open = atoi(argv[4]);
    int dest = rank + distance, source = rank - distance;
    if (open) {
        dest = dest < n_ranks ? dest : MPI_PROC_NULL;
        source = source >= 0 ? source : MPI_PROC_NULL;
    } else {
        dest = dest % n_ranks;
        source = (source % n_ranks + n_ranks) % n_ranks;
    }
    char *out = buffer(bytes), *in = buffer(bytes);
    for (int i = 0; i < rounds; i++)
        MPI_Sendrecv(out, bytes, MPI_BYTE, dest, i, in, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    finish();
}
