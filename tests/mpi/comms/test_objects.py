"""Sending and receiving objects."""

import pickle

import numpy as np
import pytest

from smpy.mpi import MPI

OBJECTS = [None, 0, "text", [1, [2]], {"key": (1, 2.5)}, list(range(100_000)), {1, 2}]


@pytest.mark.parametrize("send", ["send", "ssend", "isend", "issend"])
def test_any_object_arrives_as_a_copy(run_ranks, send):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            for obj in OBJECTS:
                request = getattr(world, send)(obj, 1, 3)
                if request is not None:
                    request.wait()
            return None
        return [world.recv(source=0, tag=3) for _ in OBJECTS]

    assert run_ranks(2, main).returned[1] == OBJECTS


def test_a_message_to_oneself_is_another_object(run_ranks):
    def main(rank):
        original = [1, 2]
        copy = MPI.COMM_WORLD.sendrecv(original, rank, source=rank)
        return copy == original, copy is original

    assert run_ranks(1, main).returned == [(True, False)]


def test_sendrecv_exchanges_objects(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        return world.sendrecv({"from": rank}, (rank + 1) % 3, source=(rank - 1) % 3)

    assert run_ranks(3, main).returned == [{"from": 2}, {"from": 0}, {"from": 1}]


def test_a_status_tells_where_an_object_came_from(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        if rank == 1:
            world.send("hello", 0, 9)
        else:
            world.probe(status=status)
            probed = status.count
            assert world.recv(status=status) == "hello"
            assert status.count == probed == len(MPI.pickle.dumps("hello"))
        return status.source, status.tag

    assert run_ranks(2, main).returned[0] == (1, 9)


def test_irecv_has_the_room_that_mpi4py_gives_it(run_ranks):
    def main(rank):
        world, large = MPI.COMM_WORLD, np.zeros(5000)
        if rank == 0:
            world.send(large, 1)
            world.send(large, 1)
            return None
        assert (world.irecv(1 << 20, 0).wait() == large).all()
        with pytest.raises(MPI.Exception, match="room for 32768"):
            world.irecv(source=0).wait()
        return True

    assert run_ranks(2, main).returned[1]


def test_a_program_may_bring_its_own_serialiser(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        return world.sendrecv(5, 1 - rank, source=1 - rank)

    MPI.pickle.__init__(lambda obj: str(obj).encode(), lambda data: bytes(data).decode())
    try:
        assert run_ranks(2, main).returned == ["5", "5"]
    finally:
        MPI.pickle.__init__()


def test_pickle_keeps_large_buffers_apart_when_asked():
    pickle = MPI.Pickle(threshold=1000)
    small, large = np.arange(10), np.arange(1000)
    data, buffers = pickle.dumps_oob((small, large))
    assert len(buffers) == 1
    again = pickle.loads_oob(data, buffers)
    assert (again[0] == small).all()
    assert (again[1] == large).all()
    assert pickle.PROTOCOL >= 5
    assert pickle.loads(pickle.dumps(large)).sum() == large.sum()


def test_an_object_received_that_is_none_says_who_sent_it(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            world.Send(bytes(8), 1, tag=5)
        else:
            world.recv()

    with pytest.raises(pickle.UnpicklingError) as raised:
        run_ranks(2, main)
    assert "while rank 1 unpickled what rank 0 sent it with tag 5" in raised.value.__notes__[0]


def test_nothing_can_be_assigned_to_a_class_as_all_ranks_share_it():
    with pytest.raises(TypeError, match="cannot set 'rank' attribute of immutable type"):
        MPI.Comm.rank = 1
    with pytest.raises(TypeError, match="cannot set 'Wait' attribute of immutable type"):
        del MPI.Request.Wait

    class Own(MPI.Intracomm):
        note = 1

    Own.note = 2
    del Own.note
