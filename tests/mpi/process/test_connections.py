"""Ports, names, and connections between ranks that have no communicator in common."""

import socket

import pytest

import smpy
from smpy.errors import DeadlockError
from smpy.mpi import MPI

WORLD = MPI.COMM_WORLD


def _error_class(call):
    with pytest.raises(MPI.Exception) as caught:
        call()
    return caught.value.Get_error_class()


def _connected(rank, name="service"):
    """Rank 0 accepts, the others connect together."""
    side = WORLD.Split(rank > 0)
    if rank == 0:
        port = MPI.Open_port()
        MPI.Publish_name(name, port)
        WORLD.Barrier()
        return side.Accept(port)
    WORLD.Barrier()
    return side.Connect(MPI.Lookup_name(name) if rank == 1 else None)


def test_two_groups_connect_at_a_port(run_ranks):
    def main(rank):
        inter = _connected(rank)
        assert (inter.is_inter, inter.size, inter.remote_size) == (True, 1 if rank == 0 else 3, 3 if rank == 0 else 1)
        got = inter.bcast("told" if rank == 0 else None, MPI.ROOT if rank == 0 else 0)
        inter.Disconnect()
        assert inter == MPI.COMM_NULL
        return got

    assert run_ranks(4, main).returned == [None, "told", "told", "told"]


@pytest.mark.parametrize("late", [0, 1])
def test_the_first_at_a_port_waits_for_the_second(run_ranks, late):
    def main(rank):
        port = WORLD.bcast(MPI.Open_port() if rank == 0 else None)
        if rank == late:
            smpy.inject_seconds(2)
        (MPI.COMM_SELF.Accept if rank == 0 else MPI.COMM_SELF.Connect)(port)
        return MPI.Wtime()

    assert all(2 <= end_s < 2.001 for end_s in run_ranks(2, main).returned)


def test_groups_connect_in_the_order_in_which_they_come(run_ranks):
    def main(rank):
        port = WORLD.bcast(MPI.Open_port() if rank == 0 else None)
        if rank == 0:
            return [MPI.COMM_SELF.Accept(port).recv(source=0) for _ in range(3)]
        smpy.inject_seconds(0.1 * (4 - rank))
        MPI.COMM_SELF.Connect(port).send(rank, 0)
        return None

    assert run_ranks(4, main).returned[0] == [3, 2, 1]


def test_a_rank_can_look_for_a_name_until_it_is_published(run_ranks):
    def main(rank):
        if rank == 0:
            smpy.inject_seconds(1e-3)
            MPI.Publish_name("late", "port")
            return None
        while True:
            try:
                return MPI.Lookup_name("late"), 1e-3 <= MPI.Wtime() < 1.5e-3
            except MPI.Exception:
                pass

    assert run_ranks(2, main).returned[1] == ("port", True)


def test_ports_and_names_that_are_not_there_are_errors(run_ranks):
    def main(rank):
        port = MPI.Open_port()
        assert MPI.Open_port() != port
        MPI.Publish_name("name", port)
        assert MPI.Lookup_name("name") == port
        assert _error_class(lambda: MPI.Publish_name("name", port)) == MPI.ERR_SERVICE
        assert _error_class(lambda: MPI.Unpublish_name("other", port)) == MPI.ERR_SERVICE
        MPI.Unpublish_name("name", port)
        assert _error_class(lambda: MPI.Lookup_name("name")) == MPI.ERR_NAME
        MPI.Close_port(port)
        assert _error_class(lambda: MPI.Close_port(port)) == MPI.ERR_PORT
        assert _error_class(lambda: MPI.COMM_SELF.Accept(port)) == MPI.ERR_PORT

    run_ranks(1, main)


def test_all_ranks_of_a_group_hear_of_its_root_s_error(run_ranks):
    run_ranks(3, lambda rank: _error_class(lambda: WORLD.Connect("nowhere", root=1)) == MPI.ERR_PORT or 1 / 0)


def test_a_group_that_nobody_connects_to_is_in_a_deadlock(run_ranks):
    with pytest.raises(DeadlockError):
        run_ranks(2, lambda rank: rank or MPI.COMM_SELF.Accept(MPI.Open_port()))


def test_two_ranks_join_over_a_socket(run_ranks):
    ends = socket.socketpair()

    def main(rank):
        with ends[rank] as end:
            inter = MPI.Comm.Join(end.fileno())
        return inter.size, inter.remote_size, inter.sendrecv(rank, 0)

    assert run_ranks(2, main).returned == [(1, 1, 1), (1, 1, 0)]


def test_joining_takes_a_socket(run_ranks):
    run_ranks(1, lambda rank: _error_class(lambda: MPI.Comm.Join(987654)) == MPI.ERR_ARG or 1 / 0)
