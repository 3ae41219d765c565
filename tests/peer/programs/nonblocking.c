/* nonblocking OPERATION BYTES ROOT HOW FLOP: a non-blocking collective twice, with computing and perhaps another one
 * between start and end; the end is a Wait (wait), a Test at a time (test), one Waitall with a receive from the left and
 * a send to the right (all), or two collectives in flight, waited for in turn (two) or from the last (back). */
#include "peer.h"

static const char *operation;
static int bytes, root;
static int *own, *own_at, *to, *to_at, *from, *from_at;
static MPI_Datatype *type;
static char *out, *in;

static void start(MPI_Request *request)
{
    MPI_Comm world = MPI_COMM_WORLD;
    *request = MPI_REQUEST_NULL;
    if (is(operation, "ibarrier"))
        MPI_Ibarrier(world, request);
    else if (is(operation, "ibcast"))
        MPI_Ibcast(out, bytes, MPI_BYTE, root, world, request);
    else if (is(operation, "ireduce"))
        MPI_Ireduce(out, in, bytes, MPI_BYTE, MPI_BOR, root, world, request);
    else if (is(operation, "iallreduce"))
        MPI_Iallreduce(out, in, bytes, MPI_BYTE, MPI_BOR, world, request);
    else if (is(operation, "igather"))
        MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, world, request);
    else if (is(operation, "iscatter"))
        MPI_Iscatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, world, request);
    else if (is(operation, "iallgather"))
        MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, world, request);
    else if (is(operation, "ialltoall"))
        MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, world, request);
    else if (is(operation, "iscan"))
        MPI_Iscan(out, in, bytes, MPI_BYTE, MPI_BOR, world, request);
    else if (is(operation, "iexscan"))
        MPI_Iexscan(out, in, bytes, MPI_BYTE, MPI_BOR, world, request);
    else if (is(operation, "ireduce_scatter_block"))
        MPI_Ireduce_scatter_block(out, in, bytes, MPI_BYTE, MPI_BOR, world, request);
    else if (is(operation, "ireduce_scatter"))
        MPI_Ireduce_scatter(out, in, own, MPI_BYTE, MPI_BOR, world, request);
    else if (is(operation, "igatherv"))
        MPI_Igatherv(out, own[rank], MPI_BYTE, in, own, own_at, MPI_BYTE, root, world, request);
    else if (is(operation, "iscatterv"))
        MPI_Iscatterv(out, own, own_at, MPI_BYTE, in, own[rank], MPI_BYTE, root, world, request);
    else if (is(operation, "iallgatherv"))
        MPI_Iallgatherv(out, own[rank], MPI_BYTE, in, own, own_at, MPI_BYTE, world, request);
    else if (is(operation, "ialltoallv"))
        MPI_Ialltoallv(out, to, to_at, MPI_BYTE, in, from, from_at, MPI_BYTE, world, request);
    else
        MPI_Ialltoallw(out, to, to_at, type, in, from, from_at, type, world, request);
}

static void polls(MPI_Request *request, double flop)
{
    for (int done = 0; !done;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done) execute(flop);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    operation = argv[1], bytes = atoi(argv[2]), root = atoi(argv[3]);
    const char *how = argv[4];
    double flop = atof(argv[5]);
    int sizes[6][n_ranks];
    MPI_Datatype types[n_ranks];
    own = sizes[0], own_at = sizes[1], to = sizes[2], to_at = sizes[3], from = sizes[4], from_at = sizes[5], type = types;
    for (int i = 0; i < n_ranks; i++) {
        own[i] = own_size(bytes, i);
        to[i] = pair_size(bytes, rank, i);
        from[i] = pair_size(bytes, i, rank);
        type[i] = MPI_BYTE;
    }
    long all = (long)bytes * n_ranks + displace(own, own_at) + displace(to, to_at) + displace(from, from_at);
    out = buffer(all), in = buffer(all);
    char *one = buffer(bytes), *other = buffer(bytes);
    execute(flop * (rank * 7 % n_ranks));
    for (int i = 0; i < 2; i++) {
        MPI_Request request[3];
        start(&request[0]);
        if (is(how, "wait")) {
            execute(flop * (1 + rank % 3));
            MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        } else if (is(how, "test")) {
            execute(flop * (1 + rank % 3));
            polls(&request[0], flop / 7);
        } else if (is(how, "all")) {
            MPI_Irecv(one, bytes, MPI_BYTE, (rank + n_ranks - 1) % n_ranks, 0, MPI_COMM_WORLD, &request[1]);
            execute(flop * (1 + rank % 3));
            MPI_Isend(other, bytes, MPI_BYTE, (rank + 1) % n_ranks, 0, MPI_COMM_WORLD, &request[2]);
            MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
        } else {
            execute(flop * (1 + rank % 3));
            start(&request[1]);
            int first = is(how, "back");
            MPI_Wait(&request[first], MPI_STATUS_IGNORE);
            execute(flop);
            MPI_Wait(&request[1 - first], MPI_STATUS_IGNORE);
        }
    }
    finish();
}
