/* modes MODE BYTES DISTANCE ROUNDS FLOP: every rank sends to the one DISTANCE ahead and receives from the one behind,
 * with a mode of sending: bsend, rsend, ibsend, irsend, persistent requests started one by one (start) or together
 * (startall) of kind send, bsend, rsend or ssend, Sendrecv_replace (replace), or requests freed at once (free). */
#include "peer.h"

static int bytes, dest, source;
static char *out, *in;

static void persistent(const char *kind, int together, int rounds, double flop)
{
    MPI_Request request[2];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Recv_init(in, bytes, MPI_BYTE, source, 0, world, &request[0]);
    if (is(kind, "send"))
        MPI_Send_init(out, bytes, MPI_BYTE, dest, 0, world, &request[1]);
    else if (is(kind, "bsend"))
        MPI_Bsend_init(out, bytes, MPI_BYTE, dest, 0, world, &request[1]);
    else if (is(kind, "rsend"))
        MPI_Rsend_init(out, bytes, MPI_BYTE, dest, 0, world, &request[1]);
    else
        MPI_Ssend_init(out, bytes, MPI_BYTE, dest, 0, world, &request[1]);
    for (int i = 0; i < rounds; i++) {
        if (together) {
            MPI_Startall(2, request);
        } else {
            MPI_Start(&request[0]);
            MPI_Start(&request[1]);
        }
        execute(flop * (1 + rank % 2));
        if (i % 2) {
            MPI_Wait(&request[1], MPI_STATUS_IGNORE);
            MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *mode = argv[1];
    bytes = atoi(argv[2]);
    int distance = atoi(argv[3]), rounds = atoi(argv[4]);
    double flop = atof(argv[5]);
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request, other;
    dest = (rank + distance) % n_ranks, source = (rank + n_ranks - distance) % n_ranks;
    out = buffer(bytes), in = buffer(bytes);
    int room = rounds * (bytes + MPI_BSEND_OVERHEAD) + MPI_BSEND_OVERHEAD;
    char *attached = buffer(room);
    MPI_Buffer_attach(attached, room);
    execute(flop * (rank * 7 % n_ranks));
    if (strncmp(mode, "start-", 6) == 0) {
        persistent(mode + 6, 0, rounds, flop);
        rounds = 0;
    } else if (strncmp(mode, "startall-", 9) == 0) {
        persistent(mode + 9, 1, rounds, flop);
        rounds = 0;
    }
    for (int i = 0; i < rounds; i++) {
        if (is(mode, "bsend")) {
            MPI_Bsend(out, bytes, MPI_BYTE, dest, i, world);
            execute(flop);
            MPI_Recv(in, bytes, MPI_BYTE, source, i, world, MPI_STATUS_IGNORE);
        } else if (is(mode, "ibsend")) {
            MPI_Ibsend(out, bytes, MPI_BYTE, dest, i, world, &request);
            MPI_Recv(in, bytes, MPI_BYTE, source, i, world, MPI_STATUS_IGNORE);
            execute(flop);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (is(mode, "rsend")) {
            MPI_Irecv(in, bytes, MPI_BYTE, source, i, world, &request);
            MPI_Barrier(world);
            MPI_Rsend(out, bytes, MPI_BYTE, dest, i, world);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (is(mode, "irsend")) {
            MPI_Irecv(in, bytes, MPI_BYTE, source, i, world, &request);
            MPI_Barrier(world);
            MPI_Irsend(out, bytes, MPI_BYTE, dest, i, world, &other);
            execute(flop);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Wait(&other, MPI_STATUS_IGNORE);
        } else if (is(mode, "replace")) {
            MPI_Sendrecv_replace(out, bytes, MPI_BYTE, dest, i, source, i, world, MPI_STATUS_IGNORE);
            execute(flop);
        } else {
            MPI_Isend(out, bytes, MPI_BYTE, dest, i, world, &request);
            MPI_Request_free(&request);
            MPI_Recv(in, bytes, MPI_BYTE, source, i, world, MPI_STATUS_IGNORE);
            execute(flop);
        }
    }
    finish();
}
