/* anything SEED STEPS: drawn calls of all kinds, in one order that all ranks agree on, so that none waits for ever. */
#include "peer.h"
#include <unistd.h>

static const int SIZES[] = {0, 1, 241, 242, 717, 1411, 3469, 5761, 9361, 15409, 40000, 65456, 65535, 65536, 300000};
static const int PARTS[] = {0, 1, 700, 5000, 40000};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES, N_SMALL = 13, MOST = 300000, NUMBERED = 0, WILD = 1 };

static unsigned seed;
static MPI_Comm comm;
static char *out, *in, *every;
static MPI_Request *request, *sent;
static int n_requests, n_sent;

static void send(int how, int bytes, int dest)
{
    if (how == 0)
        MPI_Send(out, bytes, MPI_BYTE, dest, NUMBERED, MPI_COMM_WORLD);
    else if (how == 1)
        MPI_Ssend(out, bytes, MPI_BYTE, dest, NUMBERED, MPI_COMM_WORLD);
    else if (how == 2)
        MPI_Isend(out, bytes, MPI_BYTE, dest, NUMBERED, MPI_COMM_WORLD, &request[n_requests++]);
    else
        MPI_Issend(out, bytes, MPI_BYTE, dest, NUMBERED, MPI_COMM_WORLD, &request[n_requests++]);
}

static void receive(int how, int source)
{
    int done = 0;
    if (how == 1)
        while (!done)
            MPI_Iprobe(source, NUMBERED, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    if (how < 2) {
        MPI_Recv(in, MOST, MPI_BYTE, source, NUMBERED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(buffer(MOST), MOST, MPI_BYTE, source, NUMBERED, MPI_COMM_WORLD, &request[n_requests++]);
    while (how == 2 && !done)
        MPI_Test(&request[n_requests - 1], &done, MPI_STATUS_IGNORE);
}

static void message(void)
{
    int source = draw(&seed, n_ranks), dest = draw(&seed, n_ranks), bytes = SIZES[draw(&seed, N_SIZES)];
    int how_sent = draw(&seed, 4), how_received = draw(&seed, 4);
    if (source == dest)
        return;
    if (rank == source)
        send(how_sent, bytes, dest);
    if (rank == dest)
        receive(how_received, source);
}

static void wild_message(void)
{
    int source = draw(&seed, n_ranks), dest = draw(&seed, n_ranks), bytes = SIZES[draw(&seed, N_SMALL)];
    double flop = 1e3 * (1 + draw(&seed, 50));
    if (rank == source)
        MPI_Isend(out, bytes, MPI_BYTE, dest, WILD, MPI_COMM_WORLD, &sent[n_sent++]);
    if (rank == dest) {
        MPI_Status status;
        MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, WILD, MPI_COMM_WORLD, &status);
        execute(flop * (1 + status.MPI_SOURCE));
    }
}

static void exchange(void)
{
    int distance = 1 + draw(&seed, n_ranks), bytes = SIZES[draw(&seed, N_SIZES)];
    int dest = (rank + distance) % n_ranks, source = (rank + n_ranks - distance) % n_ranks;
    MPI_Sendrecv(out, bytes, MPI_BYTE, dest, 2, in, MOST, MPI_BYTE, source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void complete(void)
{
    int who = draw(&seed, n_ranks), how = draw(&seed, 3), index;
    if (rank != who)
        return;
    if (how == 0)
        MPI_Waitall(n_requests, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n_requests && how == 1; i++)
        MPI_Waitany(n_requests, request, &index, MPI_STATUS_IGNORE);
    for (int i = n_requests - 1; i >= 0 && how == 2; i--)
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    n_requests = 0;
}

static void work(void)
{
    int who = draw(&seed, n_ranks);
    double flop = 1e3 * (1 + draw(&seed, 1000));
    if (rank == who)
        execute(flop);
}

static void idle(void)
{
    int who = draw(&seed, n_ranks), microseconds = 1 + draw(&seed, 1000);
    if (rank == who)
        usleep((useconds_t)microseconds);
}

static void together(void)
{
    MPI_Comm group = draw(&seed, 2) ? comm : MPI_COMM_WORLD;
    int operation = draw(&seed, 7), bytes = PARTS[draw(&seed, 5)], size, root = draw(&seed, n_ranks);
    MPI_Comm_size(group, &size);
    root %= size;
    switch (operation) {
    case 0: MPI_Barrier(group); break;
    case 1: MPI_Bcast(out, bytes, MPI_BYTE, root, group); break;
    case 2: MPI_Reduce(out, in, bytes, MPI_BYTE, MPI_BOR, root, group); break;
    case 3: MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BOR, group); break;
    case 4: MPI_Gather(out, bytes, MPI_BYTE, every, bytes, MPI_BYTE, root, group); break;
    case 5: MPI_Allgather(out, bytes, MPI_BYTE, every, bytes, MPI_BYTE, group); break;
    default: MPI_Scatter(every, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, group);
    }
}

int main(int argc, char **argv)
{
    static void (*const kinds[])(void) = {message,  message,  message,  message, wild_message, wild_message,
                                          exchange, complete, complete, work,    idle,         together};
    begin(&argc, &argv);
    seed = (unsigned)atoi(argv[1]);
    int steps = atoi(argv[2]);
    if (draw(&seed, 2)) {
        int has_colours = draw(&seed, 2);
        MPI_Comm_split(MPI_COMM_WORLD, has_colours * (rank % 3 == 0), -rank, &comm);
    } else {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    out = buffer(MOST);
    in = buffer(MOST);
    every = buffer(40000L * n_ranks);
    request = calloc((size_t)steps, sizeof *request);
    sent = calloc((size_t)steps, sizeof *sent);
    for (int i = 0; i < steps; i++)
        kinds[draw(&seed, 12)]();
    MPI_Waitall(n_requests, request, MPI_STATUSES_IGNORE);
    MPI_Waitall(n_sent, sent, MPI_STATUSES_IGNORE);
    finish();
}
