/* one_sided KIND SEED ROUNDS FLOP: every rank draws accesses to windows of others, between the synchronisations of KIND:
 * fence, groups, exclusive, shared, all, requests, atomic. */
#include "peer.h"

enum { ROOM = 262144, FIRST = 64 };
static const int SIZES[] = {8, 16, 512, 1000, 1024, 5000, 20000, 65536, 100000, 200000};

static MPI_Win win;
static char *in, *out;
static unsigned own, common;
static double flop;

static int drawn_bytes(void) { return SIZES[draw(&own, 10)]; }

static void access_once(int target)
{
    const int what = draw(&own, 4), bytes = drawn_bytes() / 8 * 8;
    execute(flop * draw(&own, 400));
    if (what == 0)
        MPI_Put(out, bytes, MPI_BYTE, target, FIRST, bytes, MPI_BYTE, win);
    else if (what == 1)
        MPI_Get(in, bytes, MPI_BYTE, target, FIRST, bytes, MPI_BYTE, win);
    else if (what == 2)
        MPI_Accumulate(out, bytes / 8, MPI_DOUBLE, target, FIRST, bytes / 8, MPI_DOUBLE, MPI_SUM, win);
    else
        MPI_Put(out, 8, MPI_BYTE, target, FIRST, 8, MPI_BYTE, win);
}

static void access_some(int target)
{
    const int n = draw(&own, 4);
    for (int i = 0; i < n; i++)
        access_once(target < 0 ? draw(&own, n_ranks) : target);
}

static void access_with_requests(void)
{
    MPI_Request request[4];
    const int n = draw(&own, 4);
    for (int i = 0; i < n; i++) {
        const int target = draw(&own, n_ranks), bytes = drawn_bytes() / 8 * 8, what = draw(&own, 3);
        if (what == 0)
            MPI_Rput(out, bytes, MPI_BYTE, target, FIRST, bytes, MPI_BYTE, win, &request[i]);
        else if (what == 1)
            MPI_Rget(in, bytes, MPI_BYTE, target, FIRST, bytes, MPI_BYTE, win, &request[i]);
        else
            MPI_Raccumulate(out, bytes / 8, MPI_DOUBLE, target, FIRST, bytes / 8, MPI_DOUBLE, MPI_SUM, win, &request[i]);
        execute(flop * draw(&own, 400));
    }
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
}

static void access_atomically(int target)
{
    static long one = 1, zero, result;
    const int what = draw(&own, 5), n = drawn_bytes() / 8;
    execute(flop * draw(&own, 400));
    if (what == 0)
        MPI_Fetch_and_op(&one, &result, MPI_LONG, target, FIRST, MPI_SUM, win);
    else if (what == 1)
        MPI_Fetch_and_op(&one, &result, MPI_LONG, target, FIRST, MPI_NO_OP, win);
    else if (what == 2)
        MPI_Get_accumulate(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, target, FIRST, n, MPI_DOUBLE, MPI_SUM, win);
    else if (what == 3)
        MPI_Compare_and_swap(&zero, &zero, &result, MPI_LONG, target, 0, win);
    else
        MPI_Compare_and_swap(&one, &zero, &result, MPI_LONG, target, 8, win);
}

static MPI_Group group_of(int other)
{
    MPI_Group all, some;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &some);
    MPI_Group_free(&all);
    return some;
}

static void in_groups(void)
{
    const int distance = draw(&common, n_ranks);
    const int target = (rank + distance) % n_ranks;
    MPI_Group from = group_of((rank + n_ranks - distance) % n_ranks), to = group_of(target);
    MPI_Win_post(from, 0, win);
    execute(flop * draw(&own, 400));
    MPI_Win_start(to, 0, win);
    access_some(target);
    MPI_Win_complete(win);
    execute(flop * draw(&own, 400));
    MPI_Win_wait(win);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

static void locked(int kind)
{
    const int target = draw(&own, n_ranks);
    MPI_Win_lock(kind, target, 0, win);
    access_some(target);
    if (draw(&own, 2)) {
        MPI_Win_flush(target, win);
        access_some(target);
    }
    MPI_Win_unlock(target, win);
    execute(flop * draw(&own, 400));
}

static void all_locked(int has_requests)
{
    MPI_Win_lock_all(0, win);
    if (has_requests)
        access_with_requests();
    else
        access_some(-1);
    const int how = draw(&own, 4);
    if (how == 0)
        MPI_Win_flush_all(win);
    else if (how == 1)
        MPI_Win_flush(draw(&own, n_ranks), win);
    else if (how == 2)
        MPI_Win_flush_local_all(win);
    access_some(-1);
    MPI_Win_unlock_all(win);
    execute(flop * draw(&own, 400));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *kind = argv[1];
    const int seed = atoi(argv[2]), rounds = atoi(argv[3]);
    char *memory = buffer(ROOM);
    flop = atof(argv[4]);
    own = (unsigned)(1000 * seed + rank), common = (unsigned)seed;
    in = buffer(ROOM), out = buffer(ROOM);
    ((long *)memory)[1] = 2;
    MPI_Win_create(memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (is(kind, "fence"))
        MPI_Win_fence(draw(&common, 2) ? MPI_MODE_NOPRECEDE : 0, win);
    for (int i = 0; i < rounds; i++) {
        execute(flop * draw(&own, 400));
        if (is(kind, "fence")) {
            access_some(-1);
            MPI_Win_fence(0, win);
        } else if (is(kind, "groups")) {
            in_groups();
        } else if (is(kind, "exclusive")) {
            locked(MPI_LOCK_EXCLUSIVE);
        } else if (is(kind, "shared")) {
            locked(MPI_LOCK_SHARED);
        } else if (is(kind, "atomic")) {
            MPI_Win_lock_all(0, win);
            access_atomically(draw(&own, 2) ? 0 : draw(&own, n_ranks));
            MPI_Win_unlock_all(win);
        } else {
            all_locked(is(kind, "requests"));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    finish();
}
