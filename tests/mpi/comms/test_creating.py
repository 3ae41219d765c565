"""Communicators made of groups and hosts, and what ranks attach to communicators."""

import json
from pathlib import Path

import pytest

from smpy.mpi import MPI
from smpy.mpi.state.world import world

ORACLE = json.loads((Path(__file__).parents[2] / "oracle" / "created_communicators.json").read_text())


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: f"{case['call']}-{len(case['ranks'])}")
def test_making_a_communicator_takes_as_long_as_in_smpi(run_ranks, case):
    def main(rank):
        group = MPI.COMM_WORLD.group.Incl(case["ranks"])
        if case["call"] == "Create":
            MPI.COMM_WORLD.Create(group)
        elif case["call"] == "Split_type":
            MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
        elif rank in case["ranks"]:
            MPI.COMM_WORLD.Create_group(group)

    assert run_ranks(8, main, "cluster.xml").finish_s == pytest.approx(case["finish_s"], rel=ORACLE["tolerance"])


def test_create_gives_the_group_s_ranks_in_its_order_and_others_none(run_ranks):
    def main(rank):
        new = MPI.COMM_WORLD.Create(MPI.COMM_WORLD.group.Incl([3, 0]))
        return None if new == MPI.COMM_NULL else (new.rank, new.allgather(rank))

    assert run_ranks(4, main).returned == [(1, [3, 0]), None, None, (0, [3, 0])]


def test_disjoint_groups_are_made_in_one_call(run_ranks):
    def main(rank):
        mine = MPI.COMM_WORLD.group.Incl([rank % 2, rank % 2 + 2])
        return MPI.COMM_WORLD.Create(mine).allgather(rank)

    assert run_ranks(4, main).returned == [[0, 2], [1, 3]] * 2


def test_a_group_of_strangers_is_refused(run_ranks):
    def main(rank):
        half = MPI.COMM_WORLD.Split(rank // 2)
        with pytest.raises(MPI.Exception, match="is not in the communicator") as caught:
            half.Create(MPI.COMM_WORLD.group)
        return caught.value.Get_error_class()

    assert run_ranks(4, main).returned == [MPI.ERR_GROUP] * 4


def test_a_group_makes_its_communicator_without_the_others(run_ranks):
    def main(rank):
        if rank == 2:
            return None
        group = MPI.COMM_WORLD.group.Excl([2])
        first = MPI.COMM_WORLD.Create_group(group, tag=1)
        second = MPI.COMM_WORLD.Create_group(group, tag=1)
        third = MPI.Intracomm.Create_from_group(group, "mine")
        assert len({comm.handle for comm in (first, second, third)}) == 3
        return [comm.allgather(rank) for comm in (third, second, first)]

    assert run_ranks(4, main).returned[0] == [[0, 1, 3]] * 3


def test_ranks_of_a_host_share_a_communicator(run_ranks):
    def main(rank):
        wanted = MPI.UNDEFINED if rank == 5 else MPI.COMM_TYPE_SHARED
        shared = MPI.COMM_WORLD.Split_type(wanted, key=-rank)
        assert (shared == MPI.COMM_NULL) == (rank == 5)
        return None if rank == 5 else (MPI.Get_processor_name(), shared.group.Translate_ranks())

    returned = run_ranks(8, main).returned
    assert len({host for host, _ in filter(None, returned)}) < 7
    assert returned[5] is None
    for host, members in filter(None, returned):
        assert members == [rank for rank in reversed(range(8)) if returned[rank] and returned[rank][0] == host]


def test_an_unguided_split_stops_at_the_host(run_ranks):
    def main(rank):
        info = MPI.Info.Create()
        shared = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_HW_UNGUIDED, info=info)
        assert info.get("mpi_hw_resource_type") == "mpi_shared_memory"
        assert shared.Split_type(MPI.COMM_TYPE_HW_UNGUIDED) == MPI.COMM_NULL
        assert MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_HW_GUIDED) == MPI.COMM_NULL

    run_ranks(4, main, "cluster.xml")


def test_a_duplicate_is_of_use_when_its_request_has_completed(run_ranks):
    def main(rank):
        new, request = MPI.COMM_WORLD.Idup()
        request.Wait()
        assert new.Compare(MPI.COMM_WORLD) == MPI.CONGRUENT
        return new.allreduce(rank)

    assert run_ranks(3, main).returned == [3, 3, 3]


def test_hints_are_kept_given_on_and_replaced(run_ranks):
    def main(rank):
        comm = MPI.COMM_WORLD.Dup()
        comm.info = MPI.Info.Create({"a": "1"})
        assert comm.Dup().info.items() == [("a", "1")]
        assert comm.Dup(MPI.INFO_NULL).info.items() == []
        assert comm.Dup_with_info(MPI.Info.Create({"b": "2"})).info.items() == [("b", "2")]

    run_ranks(2, main)


def test_a_communicator_of_all_ranks_is_one_object_of_constant_size(run_ranks):
    def main(rank):
        comm = MPI.COMM_WORLD.Dup()
        shared = world().communicator(comm.handle - MPI.COMM_WORLD.handle)
        assert isinstance(shared.world_ranks(), range)
        assert comm.Get_errhandler() == MPI.ERRORS_RETURN
        assert (comm.name, comm.info.items(), comm.Get_attr(MPI.APPNUM)) == ("", [], 0)
        assert not shared.own

    run_ranks(16, main)


def test_a_number_leads_back_to_the_communicator(run_ranks):
    def main(rank):
        half = MPI.COMM_WORLD.Split(rank % 2)
        again = MPI.Comm.fromhandle(half.handle)
        assert again == half
        assert type(again) is MPI.Intracomm
        assert MPI.Comm.fromhandle(MPI.COMM_WORLD.handle) is MPI.COMM_WORLD
        assert MPI.Comm.f2py(MPI.COMM_NULL.py2f()) == MPI.COMM_NULL
        with pytest.raises(TypeError, match="expected an intercommunicator"):
            MPI.Intercomm(half)
        with pytest.raises(TypeError, match="expected a Comm"):
            MPI.Comm(3)

    run_ranks(2, main)
