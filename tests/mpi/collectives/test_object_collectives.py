"""Collectives on objects: what arrives, in which order operations are applied, and what it costs."""

import operator
import sys
import types
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.running import current
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

few = settings(max_examples=25)
RANKS = st.integers(1, 9)
SIZE_BYTES = 8


def thing(*where):
    """An object of a size of its own."""
    return {"from": where, "pad": "x" * (37 * sum(where) % 91), "numbers": list(range(sum(where) % 5))}


@few
@given(RANKS, st.integers(0, 99))
def test_objects_go_where_they_belong(n_ranks, seed):
    root = seed % n_ranks

    def main(rank):
        world = MPI.COMM_WORLD
        is_root = rank == root
        assert world.bcast(thing(7) if is_root else None, root) == thing(7)
        assert world.gather(thing(rank), root) == ([thing(r) for r in range(n_ranks)] if is_root else None)
        assert world.scatter([thing(1, r) for r in range(n_ranks)] if is_root else None, root) == thing(1, rank)
        assert world.allgather(thing(rank)) == [thing(r) for r in range(n_ranks)]
        assert world.alltoall([thing(rank, r) for r in range(n_ranks)]) == [thing(r, rank) for r in range(n_ranks)]
        world.barrier()

    run_world(n_ranks, main)


def joined(n):
    return "".join(map(str, range(n)))


@few
@given(RANKS, st.integers(0, 99), st.booleans())
def test_reductions_keep_the_order_of_ranks(n_ranks, seed, is_fast):
    root = seed % n_ranks

    def main(rank):
        world, mine = MPI.COMM_WORLD, str(rank)
        assert world.reduce(mine, operator.add, root) == (joined(n_ranks) if rank == root else None)
        assert world.allreduce(mine, operator.add) == joined(n_ranks)
        assert world.scan(mine, operator.add) == joined(rank + 1)
        assert world.exscan(mine, operator.add) == (joined(rank) if rank else None)
        assert world.scan(rank) == sum(range(rank + 1))

    with pytest.MonkeyPatch.context() as patch:
        package = types.ModuleType("mpi4py")
        package.rc = types.SimpleNamespace(fast_reduce=is_fast)
        patch.setitem(sys.modules, "mpi4py", package)
        run_world(n_ranks, main)


def test_operations_of_mpi_reduce_objects(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        return (
            world.allreduce(rank + 1, MPI.PROD),
            world.allreduce((rank % 3, rank), MPI.MAXLOC),
            world.allreduce({rank}, MPI.BOR) == set(range(5)),
            world.allreduce(rank, MPI.REPLACE),
            world.allreduce(np.full(2, rank)).tolist(),
        )

    assert run_ranks(5, main).returned == [(120, (2, 2), True, 4, [10, 10])] * 5


@few
@given(st.integers(1, 17), st.integers(0, 2**32))
def test_ranks_out_of_step_that_change_their_objects_at_once_disturb_nobody(n_ranks, seed):
    """Random calls one after another, with random pauses, beside requests for buffers that are in flight."""

    def main(rank):
        plan, own = np.random.default_rng(seed), np.random.default_rng((seed, rank))
        world, pending = MPI.COMM_WORLD, []
        for turn in range(25):
            kind, root = plan.integers(8), int(plan.integers(n_ranks))
            if own.integers(2):
                current().sleep(float(own.exponential(20e-6)))
            mine, is_root = [turn, rank], rank == root
            every = [[turn, r] for r in range(n_ranks)]
            several = [[turn, rank, r] for r in range(n_ranks)]
            match kind:
                case 0:
                    assert world.bcast(mine if is_root else None, root) == [turn, root]
                case 1:
                    assert world.gather(mine, root) == (every if is_root else None)
                case 2:
                    assert world.scatter(several if is_root else None, root) == [turn, root, rank]
                case 3:
                    assert world.allgather(mine) == every
                case 4:
                    assert world.alltoall(several) == [[turn, r, rank] for r in range(n_ranks)]
                case 5:
                    assert world.reduce(mine, operator.add, root) == (list(chain(*every)) if is_root else None)
                case 6:
                    assert world.exscan(mine, operator.add) == (list(chain(*every[:rank])) if rank else None)
                case _:
                    into = np.zeros(n_ranks, int)
                    pending.append((world.Iallgather(np.array([turn * rank]), into), into, turn))
            mine.append("changed")
            several[0].append("changed")
        for request, into, turn in pending:
            request.Wait()
            assert into.tolist() == [turn * r for r in range(n_ranks)]

    run_world(n_ranks, main)


def between(n_first):
    """An intercommunicator of the first ranks of the world and the others."""
    world = MPI.COMM_WORLD
    side = int(world.rank >= n_first)
    group = world.Split(side)
    return group.Create_intercomm(0, world, 0 if side else n_first), side


@few
@given(st.integers(2, 7), st.data())
def test_between_groups_objects_go_to_the_other_group(n_ranks, data):
    n_first = data.draw(st.integers(1, n_ranks - 1))
    sizes = [n_first, n_ranks - n_first]

    def main(rank):
        inter, side = between(n_first)
        me, n_others = inter.rank, sizes[1 - side]
        inter.barrier()
        assert inter.allgather(thing(side, me)) == [thing(1 - side, r) for r in range(n_others)]
        assert inter.alltoall([thing(me, r) for r in range(n_others)]) == [thing(r, me) for r in range(n_others)]
        assert inter.allreduce(str(me), operator.add) == joined(n_others)
        for root_side in (0, 1):
            root = sizes[root_side] - 1
            if side == root_side:
                top, is_root = (MPI.ROOT, True) if me == root else (MPI.PROC_NULL, False)
                every = [thing(2, r) for r in range(n_others)]
                assert inter.bcast(thing(3) if is_root else None, top) is None
                assert inter.gather(None, top) == (every if is_root else None)
                assert inter.scatter(every if is_root else None, top) is None
                assert inter.reduce(None, operator.add, top) == (joined(n_others) if is_root else None)
            else:
                assert inter.bcast(None, root) == thing(3)
                assert inter.gather(thing(2, me), root) is None
                assert inter.scatter(None, root) == thing(2, me)
                assert inter.reduce(str(me), operator.add, root) is None

    run_world(n_ranks, main)


def test_what_arrives_is_a_copy(run_ranks):
    """Also at the rank that gave it."""

    def main(rank):
        world, mine = MPI.COMM_WORLD, [rank]
        arrived = [
            world.bcast(mine, 0),
            *world.allgather(mine),
            *world.alltoall([mine] * 2),
            world.scatter([mine] * 2, 0),
            world.allreduce(mine, max),
            world.scan(mine, max),
        ]
        mine.append("changed")
        return [obj for obj in arrived if obj is mine or "changed" in obj]

    assert run_ranks(2, main).returned == [[], []]


def test_any_iterable_is_dealt_out(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        return world.scatter((n * n for n in range(3)), 0), world.alltoall(np.arange(3)), world.alltoall(None)

    assert run_ranks(3, main).returned == [(rank * rank, [rank] * 3, [None] * 3) for rank in range(3)]


@pytest.mark.parametrize("call", ["scatter", "alltoall"])
def test_the_wrong_number_of_objects_is_refused(run_ranks, call):
    with pytest.raises(ValueError, match="expecting 3 items, got 2"):
        run_ranks(3, lambda rank: getattr(MPI.COMM_WORLD, call)([1, 2]))


@pytest.mark.parametrize("call", ["bcast", "gather", "scatter", "reduce"])
@pytest.mark.parametrize("root", [-1, 2])
def test_a_root_is_a_rank(run_ranks, call, root):
    def main(rank):
        getattr(MPI.COMM_WORLD, call)([0, 0], root=root)

    with pytest.raises(MPI.Exception) as caught:
        run_ranks(2, main)
    assert caught.value.Get_error_class() == MPI.ERR_ROOT


class Stubborn:
    """Cannot be pickled, or cannot be unpickled."""

    def __init__(self, where):
        self.where = where

    def __reduce__(self):
        if self.where == "here":
            raise RuntimeError("I stay here")
        return _refuse, ()


def _refuse():
    raise RuntimeError("I do not come in")


def test_what_cannot_be_pickled_fails_where_it_is(run_ranks):
    def main(rank):
        try:
            MPI.COMM_WORLD.allgather(Stubborn("here") if rank == 1 else None)
        except RuntimeError as error:
            raise ValueError(f"rank {rank}: {error}") from None

    with pytest.raises(ValueError, match="rank 1: I stay here"):
        run_ranks(3, main)


@pytest.mark.parametrize(
    "call",
    [
        lambda world, obj: world.bcast(obj if world.rank == 1 else None, 1),
        lambda world, obj: world.allgather(obj if world.rank == 1 else None),
        lambda world, obj: world.alltoall([obj if world.rank == 1 else None] * 3),
        lambda world, obj: world.scatter([obj] * 3 if world.rank == 1 else None, 1),
    ],
    ids=["bcast", "allgather", "alltoall", "scatter"],
)
def test_what_cannot_be_unpickled_says_who_sent_it_in_which_call(run_ranks, call, request):
    def main(rank):
        call(MPI.COMM_WORLD, Stubborn("there"))

    with pytest.raises(RuntimeError, match="I do not come in") as caught:
        run_ranks(3, main)
    (note,) = caught.value.__notes__
    assert f"what rank 1 sent it in {request.node.callspec.id}" in note


def test_after_an_object_that_cannot_be_unpickled_the_ranks_go_on(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        with pytest.raises(RuntimeError, match="I do not come in"):
            world.allgather(Stubborn("there"))
        return world.allgather(rank)

    assert run_ranks(3, main).returned == [[0, 1, 2]] * 3


def test_large_objects_of_many_kinds_survive(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        arrays = [np.full((rank + 1, 1000), rank), np.asfortranarray(np.eye(50)), np.arange(10)[::2]]
        for arrived, source in zip(world.allgather(arrays), range(3), strict=True):
            assert (arrived[0] == source).all()
            assert arrived[0].shape == (source + 1, 1000)
            assert (arrived[1] == np.eye(50)).all()
            assert arrived[2].tolist() == [0, 2, 4, 6, 8]
        total = world.allreduce(arrays[1])
        assert (total == 3 * np.eye(50)).all()
        return len(world.bcast(bytearray(5_000_000), 2))

    assert run_ranks(3, main).returned == [5_000_000] * 3


# ---- what it costs ----


def size(obj):
    return len(MPI.pickle.dumps(obj))


def ragged(rank):
    return "y" * (1000 * rank + 1)


def offsets(sizes):
    return [sum(sizes[:r]) for r in range(len(sizes))]


def gather_by_hand(world):
    sizes = [size(ragged(r)) for r in range(world.size)]
    world.Gather(np.zeros(1, "i8"), np.zeros(world.size, "i8") if world.rank == 2 else None, 2)
    every = [np.zeros(sum(sizes), "u1"), sizes] if world.rank == 2 else None
    world.Gatherv(np.zeros(sizes[world.rank], "u1"), every, 2)


def allgather_by_hand(world):
    sizes = [size(ragged(r)) for r in range(world.size)]
    world.Allgather(np.zeros(1, "i8"), np.zeros(world.size, "i8"))
    world.Allgatherv(np.zeros(sizes[world.rank], "u1"), [np.zeros(sum(sizes), "u1"), sizes])


def scatter_by_hand(world):
    sizes = [size(ragged(r)) for r in range(world.size)]
    world.Scatter(np.zeros(world.size, "i8") if world.rank == 2 else None, np.zeros(1, "i8"), 2)
    every = [np.zeros(sum(sizes), "u1"), sizes] if world.rank == 2 else None
    world.Scatterv(every, np.zeros(sizes[world.rank], "u1"), 2)


def alltoall_by_hand(world):
    out = [size(ragged(r)) for r in range(world.size)]
    into = [out[world.rank]] * world.size
    world.Alltoall(np.zeros(world.size, "i8"), np.zeros(world.size, "i8"))
    world.Alltoallv([np.zeros(sum(out), "u1"), out], [np.zeros(sum(into), "u1"), into])


def scan_by_hand(world):
    """Recursive doubling on a duplicate: size and bytes both ways with the rank at distance 1, 2, 4, ..."""
    private, nbytes, mask = world.Dup(), size(0), 1
    while mask < world.size:
        if world.rank ^ mask < world.size:
            for n in (SIZE_BYTES, nbytes):
                private.Sendrecv(bytearray(n), world.rank ^ mask, 0, bytearray(n), world.rank ^ mask)
        mask *= 2


@pytest.mark.parametrize(
    ("call", "by_hand"),
    [
        (lambda world: world.gather(ragged(world.rank), 2), gather_by_hand),
        (lambda world: world.allgather(ragged(world.rank)), allgather_by_hand),
        (lambda world: world.scatter(map(ragged, range(world.size)), 2), scatter_by_hand),
        (lambda world: world.alltoall(map(ragged, range(world.size))), alltoall_by_hand),
        (lambda world: world.scan(0, max), scan_by_hand),
        (lambda world: world.exscan(0, max), scan_by_hand),
    ],
    ids=["gather", "allgather", "scatter", "alltoall", "scan", "exscan"],
)
def test_objects_of_many_sizes_cost_their_sizes_and_then_their_bytes(run_ranks, call, by_hand):
    took = run_ranks(7, lambda rank: call(MPI.COMM_WORLD)).finish_s
    assert took == pytest.approx(run_ranks(7, lambda rank: by_hand(MPI.COMM_WORLD)).finish_s)
    assert max(took) > 0
