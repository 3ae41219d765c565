"""Communicators between two groups."""

import numpy as np
import pytest

from smpy.mpi import MPI


def halves(n_low=None):
    """The two halves of the world (or its first ranks and the rest), the own one and what joins them."""
    world = MPI.COMM_WORLD
    n_low = world.size // 2 if n_low is None else n_low
    is_high = world.rank >= n_low
    mine = world.Split(is_high)
    return mine, mine.Create_intercomm(0, world, 0 if is_high else n_low, tag=5), is_high


def test_it_shows_its_own_side_and_the_other(run_ranks):
    def main(rank):
        mine, between, _ = halves(2)
        assert (between.is_inter, between.is_intra, mine.is_inter) == (True, False, False)
        assert type(between) is MPI.Intercomm
        return (
            (between.rank, between.size, between.remote_size),
            between.group.Translate_ranks(),
            between.remote_group.Translate_ranks(),
        )

    low, high = [0, 1], [2, 3, 4]
    assert run_ranks(5, main).returned == [
        *(((place, 2, 3), low, high) for place in range(2)),
        *(((place, 3, 2), high, low) for place in range(3)),
    ]


def test_messages_go_to_the_other_side(run_ranks):
    def main(rank):
        _, between, is_high = halves()
        got = np.zeros(1, int)
        between.Sendrecv(np.array([rank]), between.rank, 0, got, between.rank)
        between.send(rank, between.rank, tag=3) if is_high else None
        status = MPI.Status()
        heard = None if is_high else between.recv(source=MPI.ANY_SOURCE, status=status)
        return int(got[0]), heard, status.source if heard is not None else None

    assert run_ranks(4, main).returned == [(2, 2, 0), (3, 3, 1), (0, None, None), (1, None, None)]


def test_ranks_of_the_other_side_are_checked(run_ranks):
    def main(rank):
        _, between, _ = halves(1)
        with pytest.raises(MPI.Exception, match=f"ranks 0 to {between.remote_size - 1}"):
            between.Send(bytearray(1), between.remote_size)

    run_ranks(3, main)


@pytest.mark.parametrize(("said", "order"), [((False, True), [0, 1, 2]), ((True, False), [1, 2, 0])])
def test_merging_puts_the_high_group_second(run_ranks, said, order):
    def main(rank):
        _, between, is_high = halves(1)
        return between.Merge(said[is_high]).allgather(rank)

    assert run_ranks(3, main).returned == [order] * 3


def test_groups_that_say_the_same_are_merged_in_one_order(run_ranks):
    def main(rank):
        return halves()[1].Merge().allgather(rank)

    returned = run_ranks(4, main).returned
    assert returned == returned[:1] * 4
    assert sorted(returned[0]) == [0, 1, 2, 3]


def test_a_group_does_not_merge_when_its_ranks_disagree(run_ranks):
    def main(rank):
        halves()[1].Merge(high=rank in (1, 2))

    with pytest.raises(MPI.Exception, match="another rank of this group says the opposite"):
        run_ranks(4, main)


def test_a_duplicate_joins_the_same_groups(run_ranks):
    def main(rank):
        _, between, is_high = halves(1)
        other = between.Dup()
        started, request = between.Idup()
        request.Wait()
        assert between.Compare(other) == other.Compare(started) == MPI.CONGRUENT
        assert between.Compare(MPI.COMM_WORLD) == MPI.UNEQUAL
        if is_high:
            other.send("other", 0)
            between.send("between", 0)
        else:
            assert [between.recv(source=place) for place in range(2)] == ["between"] * 2
            assert [other.recv(source=place) for place in range(2)] == ["other"] * 2
        for comm in (started, other, between):
            comm.Free()

    run_ranks(3, main)


def test_a_split_joins_those_of_one_color_on_both_sides(run_ranks):
    def main(rank):
        _, between, _ = halves()
        part = between.Split(between.rank % 2, -between.rank)
        return part.group.Translate_ranks(), part.remote_group.Translate_ranks()

    assert run_ranks(8, main).returned == [
        *[([2, 0], [6, 4]), ([3, 1], [7, 5])] * 2,
        *[([6, 4], [2, 0]), ([7, 5], [3, 1])] * 2,
    ]


def test_a_color_that_one_side_does_not_choose_makes_nothing(run_ranks):
    def main(rank):
        _, between, is_high = halves()
        return between.Split(int(is_high)) == MPI.COMM_NULL

    assert run_ranks(4, main).returned == [True] * 4


def test_create_takes_a_group_of_each_side(run_ranks):
    def main(rank):
        _, between, is_high = halves()
        part = between.Create(between.group.Incl([1] if is_high else [1, 0]))
        nobody = between.Create(MPI.GROUP_EMPTY if is_high else between.group)
        assert nobody == MPI.COMM_NULL
        return None if part == MPI.COMM_NULL else (part.rank, part.remote_group.Translate_ranks())

    assert run_ranks(4, main).returned == [(1, [3]), (0, [3]), None, (0, [1, 0])]


def test_groups_join_without_a_communicator(run_ranks):
    def main(rank):
        group = MPI.COMM_WORLD.group
        low, high = group.Range_incl([(0, 1, 1)]), group.Range_incl([(2, 4, 1)])
        mine, its = (low, high) if rank < 2 else (high, low)
        between = MPI.Intercomm.Create_from_groups(mine, mine.size - 1, its, its.size - 1, "tag")
        return between.size, between.remote_size

    assert run_ranks(5, main).returned == [(2, 3)] * 2 + [(3, 2)] * 3


def test_two_ranks_join_in_two_exchanges_of_four_bytes(run_ranks):
    """Each tells how many it speaks for, and who: that is MPICH's pattern; SMPI has no intercommunicators."""

    def join(rank):
        MPI.COMM_SELF.Create_intercomm(0, MPI.COMM_WORLD, 1 - rank)

    def exchange_twice(rank):
        for _ in range(2):
            MPI.COMM_WORLD.Sendrecv(bytearray(4), 1 - rank, 0, bytearray(4), 1 - rank)

    ways = [run_ranks(2, main, "cluster.xml").finish_s for main in (join, exchange_twice)]
    assert ways[0] == pytest.approx(ways[1], rel=1e-9)


def test_leaders_that_are_one_rank_are_refused(run_ranks):
    def main(rank):
        with pytest.raises(MPI.Exception, match="cannot speak for both groups"):
            MPI.COMM_SELF.Create_intercomm(0, MPI.COMM_WORLD, rank)
        with pytest.raises(MPI.Exception, match="remote_leader=9"):
            MPI.COMM_SELF.Create_intercomm(0, MPI.COMM_WORLD, 9)

    run_ranks(2, main)


def test_a_null_one_has_no_other_side(run_ranks):
    def main(rank):
        nothing = MPI.Intercomm()
        for call in (nothing.Get_remote_group, nothing.Get_remote_size, nothing.Merge, nothing.Dup):
            with pytest.raises(MPI.Exception, match="the communicator is null"):
                call()
        assert MPI.Comm.Get_parent() == MPI.COMM_NULL
        assert type(MPI.Comm.Get_parent()) is MPI.Intercomm

    run_ranks(1, main)


def test_a_number_leads_back_to_an_intercommunicator(run_ranks):
    def main(rank):
        mine, between, _ = halves()
        again = MPI.Comm.fromhandle(between.handle)
        assert again == between
        assert type(again) is MPI.Intercomm
        with pytest.raises(TypeError, match="expected an intercommunicator"):
            MPI.Intercomm(mine)
        with pytest.raises(TypeError, match="expected an intracommunicator"):
            MPI.Intracomm(between)

    run_ranks(2, main)
