"""Communicators and groups."""

import copy
import json
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest

from smpy.mpi import MPI

ORACLE = json.loads((Path(__file__).parents[2] / "oracle" / "communicators.json").read_text())


def test_one_world_object_answers_each_rank_with_its_own_rank(run_ranks):
    world, alone = MPI.COMM_WORLD, MPI.COMM_SELF

    def main(rank):
        return world.rank, world.Get_rank(), world.size, alone.rank, alone.size

    assert run_ranks(3, main).returned == [(rank, rank, 3, 0, 1) for rank in range(3)]


def test_a_duplicate_has_messages_of_its_own(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        other = world.Dup()
        assert other.Compare(world) == MPI.CONGRUENT
        assert world.Compare(world) == MPI.IDENT
        assert other != world
        if rank == 0:
            world.send("world", 1)
            other.send("other", 1)
            return None
        return other.recv(source=0), world.recv(source=0)

    assert run_ranks(2, main).returned[1] == ("other", "world")


def test_a_split_orders_by_key_and_then_by_rank(run_ranks):
    def main(rank):
        part = MPI.COMM_WORLD.Split(color=rank % 2, key=-(rank // 4))
        return part.size, part.rank, part.allgather(rank)

    returned = run_ranks(8, main).returned
    assert [members for _, _, members in returned] == [[4, 6, 0, 2], [5, 7, 1, 3]] * 4
    assert all(members[place] == rank for rank, (_, place, members) in enumerate(returned))


def test_a_split_leaves_out_those_without_a_color(run_ranks):
    def main(rank):
        part = MPI.COMM_WORLD.Split(MPI.UNDEFINED if rank in (0, 2) else 7)
        if part == MPI.COMM_NULL:
            return None
        return part.allgather(rank)

    assert run_ranks(4, main).returned == [None, [1, 3], None, [1, 3]]


def test_a_split_refuses_negative_colors(run_ranks):
    def main(rank):
        with pytest.raises(MPI.Exception, match="a color is not negative"):
            MPI.COMM_WORLD.Split(-5)

    run_ranks(1, main)


def test_communicators_made_of_parts_of_parts_still_work(run_ranks):
    def main(rank):
        half = MPI.COMM_WORLD.Split(rank // 4, -rank)
        quarter = half.Split(half.rank % 2)
        total = np.zeros(1, int)
        quarter.Allreduce(np.array([rank]), total)
        return int(total[0]), quarter.Get_group().Translate_ranks([0, 1])

    returned = run_ranks(8, main).returned
    assert returned[0] == (0 + 2, [2, 0])
    assert returned[7] == (5 + 7, [7, 5])


def test_freeing_is_each_rank_s_own(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        other = world.Dup()
        if rank == 0:
            other.Free()
            assert other == MPI.COMM_NULL
            assert not other
        world.Barrier()
        alive = bool(other)
        if rank == 1:
            assert other.size == 2
            other.Free()
        return alive

    assert run_ranks(2, main).returned == [False, True]


def test_predefined_communicators_cannot_be_freed(run_ranks):
    def main(rank):
        for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):
            with pytest.raises(MPI.Exception, match="is predefined"):
                comm.Free()
            comm.free()
            assert comm

    run_ranks(1, main)


def test_similar_and_unequal_communicators_are_told_apart(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        turned = world.Split(0, -rank)
        half = world.Split(rank % 2)
        return world.Compare(turned), world.Compare(half)

    assert run_ranks(2, main).returned == [(MPI.SIMILAR, MPI.UNEQUAL)] * 2


def test_names_are_each_rank_s_own(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        assert (world.name, MPI.COMM_SELF.name, MPI.COMM_NULL.Get_name()) == (
            "MPI_COMM_WORLD", "MPI_COMM_SELF", "MPI_COMM_NULL")  # fmt: skip
        other = world.Dup()
        other.name = f"of {rank}"
        other.Barrier()
        return other.Get_name()

    assert run_ranks(2, main).returned == ["of 0", "of 1"]


def test_handles_compare_copy_and_do_not_hash(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        another = MPI.Intracomm(world)
        assert another == world
        assert another is not world
        assert MPI.Comm() == MPI.COMM_NULL
        assert world != MPI.COMM_SELF
        assert world != MPI.INT
        with pytest.raises(TypeError, match="unhashable"):
            hash(world)
        assert weakref.ref(another)() is another
        assert copy.copy(world) is world

    run_ranks(1, main)


def test_a_program_may_subclass_a_communicator(run_ranks):
    class Mine(MPI.Intracomm):
        def __new__(cls, comm):
            return super().__new__(cls, comm)

        def twice(self):
            return 2 * self.rank

    def main(rank):
        mine = Mine(MPI.COMM_WORLD)
        return mine.twice(), mine == MPI.COMM_WORLD, isinstance(mine, MPI.Comm)

    assert run_ranks(2, main).returned == [(0, True, True), (2, True, True)]


def test_what_a_communicator_says_of_itself(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        assert world.is_intra
        assert not world.is_inter
        assert not world.is_topo
        assert world.topology == MPI.UNDEFINED
        assert world.Get_attr(MPI.TAG_UB) == 2**31 - 1
        assert world.Get_attr(MPI.UNIVERSE_SIZE) == 2
        with pytest.raises(MPI.Exception, match="no key of a Comm"):
            world.Get_attr(12345)

    run_ranks(2, main)


@pytest.mark.parametrize(
    ("n_ranks", "make"),
    [(4, lambda world: world.Dup()), (1, lambda world: world.Dup()), (1, lambda world: world.Split())],
)
def test_making_a_communicator_takes_the_time_of_a_small_broadcast(run_ranks, n_ranks, make):
    def main(rank):
        make(MPI.COMM_WORLD)

    def reference(rank):
        MPI.COMM_WORLD.Bcast(bytearray(4))

    assert run_ranks(n_ranks, main).finish_s == run_ranks(n_ranks, reference).finish_s


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["name"])
def test_making_a_communicator_takes_the_peer_s_time(run_ranks, case):
    def main(rank):
        if case["color"] == "dup":
            MPI.COMM_WORLD.Dup()
        else:
            color = case["color"][rank]
            MPI.COMM_WORLD.Split(MPI.UNDEFINED if color is None else color, -rank)

    world = run_ranks(case["n_ranks"], main, "cluster.xml")
    assert world.finish_s == pytest.approx(case["finish_s"], rel=ORACLE["tolerance"])


def test_groups_are_ordered_sets(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD.Get_group()
        assert (world.size, world.rank) == (5, rank)
        part, rest = world.Incl([4, 0, 2]), world.Excl([4, 0, 2])
        assert part.Translate_ranks([0, 1, 2], world) == [4, 0, 2]
        assert world.Translate_ranks([0, 1], part) == [1, MPI.UNDEFINED]
        assert rest.Translate_ranks() == [1, 3]
        assert part.rank == {4: 0, 0: 1, 2: 2}.get(rank, MPI.UNDEFINED)
        assert MPI.Group.Union(part, rest).Compare(world) == MPI.SIMILAR
        assert MPI.Group.Intersection(world, part).Translate_ranks() == [0, 2, 4]
        assert MPI.Group.Difference(world, part).Compare(rest) == MPI.IDENT
        assert part.Compare(rest) == MPI.UNEQUAL
        assert MPI.GROUP_EMPTY.size == 0
        with pytest.raises(MPI.Exception, match="the group is null"):
            MPI.GROUP_NULL.Get_size()
        part.Free()
        assert part == MPI.GROUP_NULL

    run_ranks(5, main)


@pytest.mark.usefixtures("named_mpi4py")
def test_only_predefined_handles_are_pickled(run_ranks):
    def main(rank):
        for handle in (
            MPI.COMM_WORLD,
            MPI.COMM_NULL,
            MPI.INT,
            MPI.SUM,
            MPI.GROUP_EMPTY,
            MPI.REQUEST_NULL,
            MPI.IN_PLACE,
        ):
            assert pickle.loads(pickle.dumps(handle)) is handle
        assert pickle.loads(pickle.dumps(MPI.Op(MPI.SUM))) == MPI.SUM
        with pytest.raises(ValueError, match="not predefined"):
            pickle.dumps(MPI.COMM_WORLD.Dup())

    run_ranks(1, main)
