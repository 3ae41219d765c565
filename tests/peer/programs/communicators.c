/* communicators HOW BYTES COLOURS: a new communicator, then a barrier and a ring inside it. */
#include "peer.h"

static MPI_Comm create(const char *how, int colours)
{
    MPI_Comm comm, inner;
    if (is(how, "dup")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        return comm;
    }
    if (is(how, "holes")) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % colours ? rank % colours : MPI_UNDEFINED, 0, &comm);
        return comm;
    }
    if (strstr(how, "create")) {
        int members[n_ranks], n = 0;
        for (int i = 0; i < n_ranks; i += colours) members[n++] = i;
        MPI_Group all, some;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, n, members, &some);
        if (is(how, "create"))
            MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
        else if (rank % colours == 0)
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
        else
            comm = MPI_COMM_NULL;
        return comm;
    }
    if (is(how, "shared")) {
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
        return comm;
    }
    if (is(how, "grid")) {
        int sizes[] = {n_ranks / 2, 2}, are_periodic[] = {1, 0};
        MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, are_periodic, 0, &comm);
        return comm;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % colours, -rank, &comm);
    if (is(how, "nested")) {
        MPI_Comm_dup(comm, &inner);
        comm = inner;
    }
    return comm;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int bytes = atoi(argv[2]), size, me;
    MPI_Comm comm = create(argv[1], atoi(argv[3]));
    char *out = buffer(bytes), *in = buffer(bytes);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &me);
        MPI_Barrier(comm);
        MPI_Request request;
        MPI_Isend(out, bytes, MPI_BYTE, (me + 1) % size, 0, comm, &request);
        MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    finish();
}
