/* The twin of hpl_calls.py: performs the calls that it has written. */
#include "peer.h"

enum { MOST = 1000000 };

static MPI_Comm comm[64];
static MPI_Request *request;
static int n_comms = 1, n_requests;

static void perform(const char *word, const double *number)
{
    const int peer = (int)number[1], tag = (int)number[2], bytes = (int)number[3];
    MPI_Comm on = is(word, "execute") || is(word, "wait") ? MPI_COMM_NULL : comm[(int)number[0]];
    char *data = buffer(bytes);
    int flag;
    if (is(word, "send")) MPI_Send(data, bytes, MPI_BYTE, peer, tag, on);
    else if (is(word, "ssend")) MPI_Ssend(data, bytes, MPI_BYTE, peer, tag, on);
    else if (is(word, "recv")) MPI_Recv(data, bytes, MPI_BYTE, peer, tag, on, MPI_STATUS_IGNORE);
    else if (is(word, "isend")) MPI_Isend(data, bytes, MPI_BYTE, peer, tag, on, &request[n_requests++]);
    else if (is(word, "issend")) MPI_Issend(data, bytes, MPI_BYTE, peer, tag, on, &request[n_requests++]);
    else if (is(word, "irecv")) MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, on, &request[n_requests++]);
    else if (is(word, "iprobe")) MPI_Iprobe(peer, tag, on, &flag, MPI_STATUS_IGNORE);
    else if (is(word, "wait")) MPI_Wait(&request[(int)number[0]], MPI_STATUS_IGNORE);
    else if (is(word, "split")) MPI_Comm_split(on, peer < 0 ? MPI_UNDEFINED : peer, tag, &comm[n_comms++]);
    else if (is(word, "execute")) execute(number[0]);
    else MPI_Abort(MPI_COMM_WORLD, 1);
    if (*word != 'i') free(data);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    char path[4096], line[256];
    snprintf(path, sizeof path, "%s/%d", argv[1], rank);
    FILE *calls = fopen(path, "r");
    request = malloc(MOST * sizeof *request);
    comm[0] = MPI_COMM_WORLD;
    while (calls && fgets(line, sizeof line, calls)) {
        char word[16];
        double number[4] = {0, 0, 0, 0};
        sscanf(line, "%15s %lf %lf %lf %lf", word, &number[0], &number[1], &number[2], &number[3]);
        perform(word, number);
    }
    finish();
}
