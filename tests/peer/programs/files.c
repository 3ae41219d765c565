/* files SEED CALLS BYTES NAME: drawn calls of MPI_File on one file; a NAME without a slash is relative. */
#include "peer.h"

enum { CALLS = 19, KINDS = 3 };

static unsigned common, own;
static MPI_File file;
static MPI_Datatype types[KINDS];
static int etype_bytes = 1;

/* A count of some type whose size is a whole number of etypes, and not 0. */
static int count_of(unsigned *state, int bytes, int kind)
{
    int size;
    MPI_Type_size(types[kind], &size);
    int count = 1 + draw(state, bytes) / size;
    return etype_bytes == 4 ? (count + 3) / 4 * 4 : count;
}

static void access_file(int call, int bytes, char *data)
{
    MPI_Status status;
    int is_alone = call < 4 || call == 9 || call == 10;
    unsigned *state = is_alone ? &own : &common;
    int kind = draw(state, KINDS), count = count_of(state, bytes, kind), form = draw(state, 3), at = draw(state, bytes);
    int size;
    MPI_Type_size(types[kind], &size);
    MPI_Offset offset = form == 0 ? (MPI_Offset)rank * count * size / etype_bytes : form == 1 ? at : at + rank * (at % 7);
    switch (call) {
    case 0: MPI_File_write_at(file, offset, data, count, types[kind], &status); break;
    case 1: MPI_File_read_at(file, offset, data, count, types[kind], &status); break;
    case 2: MPI_File_write(file, data, count, types[kind], &status); break;
    case 3: MPI_File_read(file, data, count, types[kind], &status); break;
    case 4: MPI_File_write_at_all(file, offset, data, count, types[kind], &status); break;
    case 5: MPI_File_read_at_all(file, offset, data, count, types[kind], &status); break;
    case 6: MPI_File_write_all(file, data, count, types[kind], &status); break;
    case 7: MPI_File_read_all(file, data, count, types[kind], &status); break;
    case 8: MPI_File_write_ordered(file, data, count, types[kind], &status); break;
    case 9: MPI_File_write_shared(file, data, count, types[kind], &status); break;
    case 10: MPI_File_read_shared(file, data, count, types[kind], &status); break;
    case 11: MPI_File_read_ordered(file, data, count, types[kind], &status); break;
    }
}

static void call_other(int call, int bytes)
{
    MPI_Offset position;
    switch (call) {
    case 12: MPI_File_sync(file); break;
    case 13: MPI_File_seek(file, draw(&own, bytes), MPI_SEEK_SET); break;
    case 14: MPI_File_seek_shared(file, draw(&common, bytes), MPI_SEEK_SET); break;
    case 15:
        etype_bytes = draw(&common, 2) ? 4 : 1;
        MPI_Datatype etype = etype_bytes == 4 ? MPI_INT : MPI_BYTE;
        MPI_File_set_view(file, draw(&common, bytes), etype, etype, "native", MPI_INFO_NULL);
        break;
    case 16: MPI_File_set_size(file, 1 + draw(&common, bytes)); break;
    case 17: execute(1e3 * draw(&own, bytes)); break;
    case 18: MPI_File_get_position_shared(file, &position); break;
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int calls = atoi(argv[2]), bytes = atoi(argv[3]);
    common = (unsigned)atoi(argv[1]);
    own = common * 31u + (unsigned)rank * 17u + 5u;
    types[0] = MPI_BYTE;
    types[1] = MPI_INT;
    MPI_Type_vector(2, 4, 9, MPI_BYTE, &types[2]);
    MPI_Type_commit(&types[2]);
    char *data = buffer(16L * bytes + 1024);
    MPI_File_open(MPI_COMM_WORLD, argv[4], MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    for (int i = 0; i < calls; i++) {
        int call = draw(&common, CALLS);
        if (call == 9 || call == 10 || call == 14 || call == 15 || call == 18)
            execute(54321.0 * (rank + 1)); /* they come to the shared pointer one after the other */
        if (call < 12)
            access_file(call, bytes, data);
        else
            call_other(call, bytes);
    }
    MPI_File_close(&file);
    finish();
}
