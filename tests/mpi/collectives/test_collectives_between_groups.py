"""Collectives of intercommunicators: what one group gives, the other gets; judged by numpy, in all their forms."""

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.mpi import MPI

FORMS = ["blocking", "non-blocking", "persistent"]
SIZES = [(1, 1), (1, 3), (2, 2), (3, 4)]


class Group:
    """One rank's view of two groups, side 0 first in the world; block (i, j) of a side is for rank j of the other."""

    def __init__(self, rank, sizes):
        world = MPI.COMM_WORLD
        self.side = int(rank >= sizes[0])
        self.comm = world.Split(self.side).Create_intercomm(0, world, (1 - self.side) * sizes[0])
        self.rank, self.sizes = self.comm.rank, sizes
        self.n, self.n_remote = sizes[self.side], sizes[1 - self.side]
        self.delay = np.random.default_rng(rank)

    def values(self, side, *shape):
        return np.random.default_rng(side).integers(0, 1000, (self.sizes[side], *shape))

    def mine(self, *shape):
        return self.values(self.side, *shape)[self.rank]

    def theirs(self, *shape):
        return self.values(1 - self.side, *shape)

    def root(self, side, rank):
        if side != self.side:
            return rank
        return MPI.ROOT if rank == self.rank else MPI.PROC_NULL

    def do(self, form, call, *arguments):
        current().sleep(float(self.delay.exponential(1e-5)))
        if form == "blocking":
            getattr(self.comm, call)(*arguments)
            return
        request = (
            getattr(self.comm, f"I{call.lower()}")(*arguments)
            if form == "non-blocking"
            else getattr(self.comm, f"{call}_init")(*arguments)
        )
        for _ in range(1 if form == "non-blocking" else 2):
            if form == "persistent":
                request.Start()
            request.Wait()


def spoiled(array):
    array[:] = -1


@pytest.fixture(params=SIZES, ids=str)
def run_groups(request, run_ranks):
    def run(main):
        return run_ranks(sum(request.param), lambda rank: main(Group(rank, request.param)))

    return run


@pytest.mark.parametrize("form", FORMS)
def test_rooted_calls_go_from_one_group_to_the_other(run_groups, form):
    def main(group):
        for side in (0, 1):
            for root_rank in range(group.sizes[side]):
                rooted(group, form, side, group.root(side, root_rank))

    run_groups(main)


def rooted(group, form, side, root):
    is_root, is_beside = root == MPI.ROOT, root == MPI.PROC_NULL
    buffer = np.full(3, 7) if is_root else np.zeros(3, int)
    group.do(form, "Bcast", None if is_beside else buffer, root)
    if not is_beside and not is_root:
        assert (buffer == 7).all()
    mine, every = group.mine(3), np.zeros((group.n_remote, 3), int)
    counts = [i % 3 for i in range(group.n_remote)]
    if is_beside:
        for call in ("Gather", "Gatherv", "Scatter", "Scatterv"):
            group.do(form, call, None, None, root)
        group.do(form, "Reduce", None, None, MPI.SUM, root)
    elif is_root:
        group.do(form, "Gather", None, every, root)
        assert (every == group.theirs(3)).all()
        ragged = np.zeros(sum(counts), int)
        group.do(form, "Gatherv", None, [ragged, counts], root)
        assert (ragged == np.concatenate([row[:n] for row, n in zip(group.theirs(3), counts, strict=True)])).all()
        group.do(form, "Scatter", group.theirs(3).copy(), None, root)
        group.do(form, "Scatterv", [ragged, counts], None, root)
        total = np.zeros(3, int)
        group.do(form, "Reduce", None, total, MPI.SUM, root)
        assert (total == group.theirs(3).sum(axis=0)).all()
    else:
        count = group.rank % 3
        group.do(form, "Gather", mine, None, root)
        group.do(form, "Gatherv", [mine, count], None, root)
        block, ragged = np.zeros(3, int), np.zeros(count, int)
        group.do(form, "Scatter", None, block, root)
        group.do(form, "Scatterv", None, ragged, root)
        assert (block == mine).all()
        assert (ragged == mine[:count]).all()
        group.do(form, "Reduce", mine, None, MPI.SUM, root)


@pytest.mark.parametrize("form", FORMS)
def test_every_rank_gets_what_the_other_group_gives(run_groups, form):
    def main(group):
        group.do(form, "Barrier")
        count = 2 + group.side  # blocks of the groups differ
        mine, every = group.mine(count).copy(), np.zeros((group.n_remote, 5 - count), int)
        group.do(form, "Allgather", mine, every)
        spoiled(mine)
        assert (every == group.theirs(5 - count)).all()
        counts = [5 - count] * group.n_remote
        group.do(form, "Allgatherv", group.mine(count), [every, counts])
        assert (every == group.theirs(5 - count)).all()
        out, into = group.mine(group.n_remote, count).copy(), np.zeros((group.n_remote, 5 - count), int)
        expected = group.theirs(group.n, 5 - count)[:, group.rank]
        group.do(form, "Alltoall", out, into)
        assert (into == expected).all()
        spoiled(into)
        group.do(form, "Alltoallv", [out, [count] * group.n_remote], [into, counts])
        assert (into == expected).all()
        spoiled(into)
        places = [8 * (5 - count) * i for i in range(group.n_remote)]
        sent = [out, [count] * group.n_remote, [8 * count * i for i in range(group.n_remote)]]
        group.do(
            form,
            "Alltoallw",
            [*sent, [MPI.INT64_T] * group.n_remote],
            [into, counts, places, [MPI.INT64_T] * group.n_remote],
        )
        assert (into == expected).all()

    run_groups(main)


@pytest.mark.parametrize("form", FORMS)
def test_every_rank_gets_the_reduction_of_the_other_group(run_groups, form):
    def main(group):
        total = np.zeros(4, int)
        group.do(form, "Allreduce", group.mine(4), total, MPI.SUM)
        assert (total == group.theirs(4).sum(axis=0)).all()
        n_entries = group.n * group.n_remote * 2
        share = np.zeros(n_entries // group.n, int)
        whole = group.theirs(n_entries).sum(axis=0)
        group.do(form, "Reduce_scatter_block", group.mine(n_entries), share, MPI.SUM)
        assert (share == whole.reshape(group.n, -1)[group.rank]).all()
        counts = [n_entries, *[0] * (group.n - 1)]
        share = np.zeros(counts[group.rank], int)
        group.do(form, "Reduce_scatter", group.mine(n_entries), share, counts, MPI.SUM)
        assert (share == (whole if group.rank == 0 else [])).all()

    run_groups(main)


def test_who_stands_beside_the_root_waits_for_nobody(run_ranks):
    def main(rank):
        group = Group(rank, (2, 2))
        current().sleep(1.0 if group.side else 0.0)
        group.comm.Bcast(np.zeros(20_000) if group.root(0, 0) != MPI.PROC_NULL else None, group.root(0, 0))
        return current().clock_s() < 1

    assert run_ranks(4, main).returned == [False, True, False, False]


def test_a_rank_in_place_has_no_meaning_between_groups(run_ranks):
    def main(rank):
        group = Group(rank, (1, 1))
        with pytest.raises(TypeError):
            group.comm.Allreduce(MPI.IN_PLACE, np.zeros(1))
        with pytest.raises(TypeError):
            group.comm.Reduce_scatter(np.zeros(1), np.zeros(1), None)

    run_ranks(2, main)


@pytest.mark.parametrize("root", [2, -7])
def test_a_root_outside_the_other_group_is_an_error(run_ranks, root):
    def main(rank):
        with pytest.raises(MPI.Exception, match="the other group has ranks 0 to 1") as caught:
            Group(rank, (2, 2)).comm.Bcast(np.zeros(1), root)
        return caught.value.Get_error_class()

    assert run_ranks(4, main).returned == [MPI.ERR_ROOT] * 4
