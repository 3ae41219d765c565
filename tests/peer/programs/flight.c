/* flight SEED STEPS: in each step drawn non-blocking collectives, messages and persistent requests are in flight while
 * the ranks compute, perhaps meet, and then complete them in a drawn way. */
#include "peer.h"

static const int SIZES[] = {0, 1, 242, 1411, 9361, 40000, 65535, 65536, 200000};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES, MOST = 200000, MANY = 16 };

static unsigned seed;
static char *out, *every;
static int *own, *own_at, *to, *to_at, *from, *from_at;
static MPI_Request request[MANY];
static int n_requests, n_collectives;

static void collective(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int which = draw(&seed, 12), bytes = SIZES[draw(&seed, N_SIZES)] / 4, root = draw(&seed, n_ranks);
    MPI_Request *next = &request[n_requests];
    for (int i = 0; i < n_ranks; i++) {
        own[i] = own_size(bytes, i);
        to[i] = pair_size(bytes / 2, rank, i);
        from[i] = pair_size(bytes / 2, i, rank);
    }
    displace(own, own_at), displace(to, to_at), displace(from, from_at);
    char *in = every + (long)n_requests * n_ranks * MOST;
    n_requests++, n_collectives++;
    switch (which) {
    case 0: MPI_Ibcast(in, bytes, MPI_BYTE, root, world, next); break;
    case 1: MPI_Ireduce(out, in, bytes, MPI_BYTE, MPI_BOR, root, world, next); break;
    case 2: MPI_Iallreduce(out, in, bytes, MPI_BYTE, MPI_BOR, world, next); break;
    case 3: MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, world, next); break;
    case 4: MPI_Iscatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, world, next); break;
    case 5: MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, world, next); break;
    case 6: MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, world, next); break;
    case 7: MPI_Iscan(out, in, bytes, MPI_BYTE, MPI_BOR, world, next); break;
    case 8: MPI_Igatherv(out, own[rank], MPI_BYTE, in, own, own_at, MPI_BYTE, root, world, next); break;
    case 9: MPI_Iscatterv(out, own, own_at, MPI_BYTE, in, own[rank], MPI_BYTE, root, world, next); break;
    case 10: MPI_Iallgatherv(out, own[rank], MPI_BYTE, in, own, own_at, MPI_BYTE, world, next); break;
    default: MPI_Ialltoallv(out, to, to_at, MPI_BYTE, in, from, from_at, MPI_BYTE, world, next);
    }
}

static void messages(void)
{
    int distance = 1 + draw(&seed, n_ranks - 1), bytes = SIZES[draw(&seed, N_SIZES)], kind = draw(&seed, 3);
    int dest = (rank + distance) % n_ranks, source = (rank + n_ranks - distance) % n_ranks;
    MPI_Comm world = MPI_COMM_WORLD;
    char *in = every + (long)n_requests * n_ranks * MOST;
    MPI_Request *next = &request[n_requests];
    n_requests += 2;
    if (kind < 2) {
        MPI_Irecv(in, MOST, MPI_BYTE, source, 7, world, &next[0]);
        if (kind)
            MPI_Issend(out, bytes, MPI_BYTE, dest, 7, world, &next[1]);
        else
            MPI_Isend(out, bytes, MPI_BYTE, dest, 7, world, &next[1]);
        return;
    }
    MPI_Recv_init(in, MOST, MPI_BYTE, source, 7, world, &next[0]);
    MPI_Send_init(out, bytes, MPI_BYTE, dest, 7, world, &next[1]);
    MPI_Startall(2, next);
}

static void complete(void)
{
    int how = draw(&seed, 6), done[MANY], n = 0, index;
    double flop = 1e4 * (1 + draw(&seed, 20));
    if (n_collectives > 0) how %= 5; /* smpirun's Waitsome waits for the first collective it meets */
    if (how == 0) {
        MPI_Waitall(n_requests, request, MPI_STATUSES_IGNORE);
    } else if (how == 1) {
        for (int i = 0; i < n_requests; i++) MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    } else if (how == 2) {
        for (int i = n_requests - 1; i >= 0; i--) MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    } else if (how == 3) {
        for (int i = 0; i < n_requests; i++) MPI_Waitany(n_requests, request, &index, MPI_STATUS_IGNORE);
    } else if (how == 4) {
        for (int i = 0; i < n_requests; i++)
            for (int ended = 0; !ended;) {
                MPI_Test(&request[i], &ended, MPI_STATUS_IGNORE);
                if (!ended) execute(flop);
            }
    } else {
        while (n != MPI_UNDEFINED) MPI_Waitsome(n_requests, request, &n, done, MPI_STATUSES_IGNORE);
    }
    n_requests = n_collectives = 0;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    seed = (unsigned)atoi(argv[1]);
    int sizes[6][n_ranks], steps = atoi(argv[2]);
    own = sizes[0], own_at = sizes[1], to = sizes[2], to_at = sizes[3], from = sizes[4], from_at = sizes[5];
    out = buffer((long)n_ranks * MOST), every = buffer((long)n_ranks * MOST * MANY);
    for (int step = 0; step < steps; step++) {
        for (int n = 1 + draw(&seed, 5); n > 0; n--) {
            double flop = 1e3 * draw(&seed, 300);
            int worker = draw(&seed, n_ranks), what = draw(&seed, 3);
            if (what)
                collective();
            else if (n_ranks > 1)
                messages();
            if (rank == worker) execute(flop);
        }
        int meets = draw(&seed, 3), bytes = SIZES[draw(&seed, N_SIZES)];
        if (meets == 1) MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (meets == 2) MPI_Barrier(MPI_COMM_WORLD);
        complete();
    }
    finish();
}
