/* phases PATTERN:SEED:BYTES ...: one pattern after the other, a barrier between them; prints rank, phase and date when a rank is
 * through with a phase. No rank sends to itself but in the pattern "self": some machines have no such route. */
#include "peer.h"

static unsigned seed;
static int bytes;

static void exchange(int dest, int source)
{
    char *out = buffer(bytes), *in = buffer(bytes);
    MPI_Request request[2];
    MPI_Irecv(in, bytes, MPI_BYTE, source, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, bytes, MPI_BYTE, dest, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
}

/* Two ranks that differ. */
static void draw_pair(int *one, int *other)
{
    *one = draw(&seed, n_ranks);
    *other = (*one + 1 + draw(&seed, n_ranks - 1)) % n_ranks;
}

static void pingpong(void)
{
    char *data = buffer(bytes);
    for (int pair = 0; pair < 4; pair++) {
        int one, other;
        draw_pair(&one, &other);
        for (int turn = 0; turn < 2; turn++) {
            if (rank == (turn ? other : one))
                MPI_Send(data, bytes, MPI_BYTE, turn ? one : other, pair, MPI_COMM_WORLD);
            else if (rank == (turn ? one : other))
                MPI_Recv(data, bytes, MPI_BYTE, turn ? other : one, pair, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    free(data);
}

static void ring(void)
{
    char *out = buffer(bytes), *in = buffer(bytes);
    int distance = 1 + draw(&seed, n_ranks - 1);
    for (int round = 0; round < 3; round++)
        MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + distance) % n_ranks, 2, in, bytes, MPI_BYTE,
                     (rank + n_ranks - distance) % n_ranks, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(out);
    free(in);
}

/* One drawn cycle through all ranks. */
static void permutation(void)
{
    int order[n_ranks], at = 0;
    for (int i = 0; i < n_ranks; i++)
        order[i] = i;
    for (int i = n_ranks - 1; i > 0; i--) {
        int j = draw(&seed, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    while (order[at] != rank)
        at++;
    exchange(order[(at + 1) % n_ranks], order[(at + n_ranks - 1) % n_ranks]);
}

static void halo(void)
{
    int rows = 1, n = 0;
    for (int i = 2; i * i <= n_ranks; i++)
        if (n_ranks % i == 0)
            rows = i;
    int columns = n_ranks / rows, row = rank / columns, column = rank % columns;
    int next[4] = {row * columns + (column + 1) % columns, row * columns + (column + columns - 1) % columns,
                   (row + 1) % rows * columns + column, (row + rows - 1) % rows * columns + column};
    MPI_Request request[8];
    for (int side = 0; side < 4; side++)
        if (next[side] != rank)
            MPI_Irecv(buffer(bytes), bytes, MPI_BYTE, next[side], side ^ 1, MPI_COMM_WORLD, &request[n++]);
    for (int side = 0; side < 4; side++)
        if (next[side] != rank)
            MPI_Isend(buffer(bytes), bytes, MPI_BYTE, next[side], side, MPI_COMM_WORLD, &request[n++]);
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

static void alltoall(void)
{
    char *out = buffer((long)bytes * n_ranks), *in = buffer((long)bytes * n_ranks);
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    free(out);
    free(in);
}

static void allreduce(void)
{
    char *out = buffer(bytes), *in = buffer(bytes);
    MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    free(out);
    free(in);
}

static void incast(void)
{
    char *data = buffer(bytes);
    int root = draw(&seed, n_ranks);
    if (rank != root)
        MPI_Send(data, bytes, MPI_BYTE, root, 4, MPI_COMM_WORLD);
    else
        for (int i = 1; i < n_ranks; i++)
            MPI_Recv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(data);
}

/* Messages between any two ranks, of bytes / 4 to 2 bytes, and work between them. */
static void mixed(void)
{
    enum { MESSAGES = 20 };
    MPI_Request request[2 * MESSAGES];
    int n = 0;
    for (int i = 0; i < MESSAGES; i++) {
        int source, dest;
        draw_pair(&source, &dest);
        int size = bytes / 4 * (1 + draw(&seed, 8)), worker = draw(&seed, n_ranks);
        double flop = 1e4 * (1 + draw(&seed, 100));
        if (rank == dest)
            MPI_Irecv(buffer(size), size, MPI_BYTE, source, i, MPI_COMM_WORLD, &request[n++]);
        if (rank == source)
            MPI_Isend(buffer(size), size, MPI_BYTE, dest, i, MPI_COMM_WORLD, &request[n++]);
        if (rank == worker)
            execute(flop);
    }
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

/* Every rank computes, the longer the more bytes. */
static void compute(void)
{
    for (int i = 0; i < n_ranks; i++) {
        double flop = (1e4 + 10.0 * bytes) * (1 + draw(&seed, 20));
        if (i == rank)
            execute(flop);
    }
}

/* One rank works and sends; another asks for the message, in one of two ways. */
static void poll(void)
{
    int one, other, done = 0;
    draw_pair(&one, &other);
    double flop = 1e5 * (1 + draw(&seed, 30));
    int probes = draw(&seed, 2);
    char *data = buffer(bytes);
    MPI_Request request;
    if (rank == one) {
        execute(flop);
        MPI_Send(data, bytes, MPI_BYTE, other, 5, MPI_COMM_WORLD);
    } else if (rank == other && probes) {
        while (!done)
            MPI_Iprobe(one, 5, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
        MPI_Recv(data, bytes, MPI_BYTE, one, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == other) {
        MPI_Irecv(data, bytes, MPI_BYTE, one, 5, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void self(void) { exchange(rank, rank); }

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*perform)(void);
    } patterns[] = {{"pingpong", pingpong}, {"ring", ring},     {"permutation", permutation}, {"halo", halo},
                    {"alltoall", alltoall}, {"allreduce", allreduce}, {"incast", incast},     {"mixed", mixed},
                    {"compute", compute},   {"poll", poll},     {"self", self}};
    begin(&argc, &argv);
    for (int phase = 1; phase < argc; phase++) {
        char name[32];
        if (sscanf(argv[phase], "%31[^:]:%u:%d", name, &seed, &bytes) != 3)
            abort();
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
            if (is(name, patterns[i].name))
                patterns[i].perform();
        printf("%d %d %.17g\n", rank, phase, MPI_Wtime());
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
