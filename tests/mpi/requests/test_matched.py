"""Matched probes: a message that has been found belongs to the finder."""

import numpy as np
import pytest

from smpy.mpi import MPI


def test_a_matched_message_is_out_of_reach_of_other_receives(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            for turn in range(2):
                world.Send(np.full(1, float(turn)), 1)
            return None
        status, first, second = MPI.Status(), np.zeros(1), np.zeros(1)
        message = world.Mprobe(status=status)
        assert (status.source, status.tag, status.count) == (0, 0, 8)
        world.Recv(second, 0)
        message.Recv(first, status)
        assert status.source == 0
        assert message == MPI.MESSAGE_NULL
        return first[0], second[0]

    assert run_ranks(2, main).returned[1] == (0, 1)


def test_improbe_takes_a_message_only_when_there_is_one(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        status = MPI.Status()
        assert world.Improbe(status=status) is None
        assert status.source == MPI.ANY_SOURCE
        request = world.Isend(np.ones(20000), rank, 3)
        while (message := world.Improbe(rank, 3, status)) is None:
            pass
        into = np.zeros(20000)
        received = message.Irecv(into)
        MPI.Request.Waitall([request, received])
        return into.sum(), status.count

    assert run_ranks(1, main).returned == [(20000, 160000)]


def test_objects_are_received_from_their_messages(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        for obj in ([1], "two"):
            world.isend(obj, rank)
        first, second = world.mprobe(), MPI.Message.iprobe(world)
        request = second.irecv()
        return first.recv(), request.wait()

    assert run_ranks(1, main).returned == [([1], "two")]


def test_a_message_that_is_too_long_for_its_buffer_is_truncated(run_ranks):
    def main(rank):
        MPI.COMM_WORLD.Send(np.zeros(2), rank)
        with pytest.raises(MPI.Exception, match=r"Recv: the message from rank 0 .* has 16 bytes"):
            MPI.COMM_WORLD.Mprobe().Recv(np.zeros(1))

    run_ranks(1, main)


def test_a_message_is_received_once(run_ranks):
    def main(rank):
        MPI.COMM_WORLD.Send(b"x", rank)
        message = MPI.COMM_WORLD.Mprobe()
        message.Recv(bytearray(1))
        with pytest.raises(MPI.Exception, match="the message is null: it has been received already"):
            message.Recv(bytearray(1))

    run_ranks(1, main)


def test_the_message_from_nobody_can_be_received_again_and_again(run_ranks):
    def main(rank):
        status = MPI.Status()
        for _ in range(2):
            MPI.MESSAGE_NO_PROC.Recv(None, status)
            assert MPI.MESSAGE_NO_PROC.irecv().wait() is None
        assert status.source == MPI.PROC_NULL
        message = MPI.COMM_WORLD.Mprobe(MPI.PROC_NULL)
        assert message == MPI.MESSAGE_NO_PROC
        assert message.recv() is None
        assert not message

    assert run_ranks(1, main).finish_s == [0]
