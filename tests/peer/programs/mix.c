/* mix SEED STEPS MESSAGES: every step draws messages between any two ranks, sized around the thresholds, and work. */
#include "peer.h"

static const int SIZES[] = {0, 1, 241, 242, 717, 1411, 3469, 5761, 9361, 15409, 40000, 65456, 65457, 65535, 65536, 300000};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    unsigned seed = (unsigned)atoi(argv[1]);
    int steps = atoi(argv[2]), messages = atoi(argv[3]);
    MPI_Request *request = calloc(2 * (size_t)messages, sizeof *request);
    char *out = buffer(300000), *in = buffer(300000L * messages);
    for (int step = 0; step < steps; step++) {
        int n = 0;
        for (int i = 0; i < messages; i++) {
            int source = draw(&seed, n_ranks), dest = draw(&seed, n_ranks), bytes = SIZES[draw(&seed, N_SIZES)];
            int worker = draw(&seed, n_ranks);
            double flop = 1e4 * (1 + draw(&seed, 100));
            if (rank == dest)
                MPI_Irecv(in + 300000L * i, 300000, MPI_BYTE, source, i, MPI_COMM_WORLD, &request[n++]);
            if (rank == source)
                MPI_Isend(out, bytes, MPI_BYTE, dest, i, MPI_COMM_WORLD, &request[n++]);
            if (rank == worker)
                execute(flop);
        }
        MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
        if (draw(&seed, 4) == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    finish();
}
