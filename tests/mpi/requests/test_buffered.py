"""Buffered sends and the buffers attached for them."""

import numpy as np
import pytest

from smpy.mpi import MPI

OVERHEAD = MPI.BSEND_OVERHEAD


def test_a_buffered_send_of_any_size_does_not_wait_for_its_receive(run_ranks):
    def main(rank):
        world, out = MPI.COMM_WORLD, np.arange(100_000.0)
        if rank == 0:
            MPI.Attach_buffer(bytearray(out.nbytes + OVERHEAD))
            world.Bsend(out, 1)
            sent_s = MPI.Wtime()
            out[:] = -1
            MPI.Detach_buffer()
            return sent_s < 2e-6 < MPI.Wtime()
        into = np.zeros(100_000)
        world.Recv(into, 0)
        return into[-1]

    assert run_ranks(2, main).returned == [True, 99_999]


def test_without_an_attached_buffer_a_buffered_send_says_what_to_do(run_ranks):
    def main(rank):
        with pytest.raises(MPI.Exception, match=r"Bsend: no buffer is attached: MPI\.Attach_buffer") as caught:
            MPI.COMM_WORLD.Bsend(b"x", rank)
        assert caught.value.Get_error_class() == MPI.ERR_BUFFER
        MPI.COMM_WORLD.Bsend(b"x", MPI.PROC_NULL)

    run_ranks(1, main)


def test_messages_take_room_until_they_are_delivered(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        MPI.Attach_buffer(bytearray(2 * (8 + OVERHEAD)))
        for _ in range(2):
            world.Ibsend(np.zeros(1), rank).Wait()
        with pytest.raises(MPI.Exception, match="do not fit into the attached buffer") as caught:
            world.Bsend(np.zeros(1), rank)
        assert caught.value.Get_error_class() == MPI.ERR_BUFFER
        for _ in range(3):
            world.Recv(np.zeros(1), rank)
            world.Bsend(np.zeros(1), rank)
        for _ in range(2):
            world.Recv(np.zeros(1), rank)
        MPI.Detach_buffer()

    run_ranks(1, main)


def test_thousands_of_delivered_messages_take_no_room(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        MPI.Attach_buffer(bytearray(10 * (1 + OVERHEAD)))
        for _ in range(2000):
            world.Bsend(b"x", rank)
            world.Recv(bytearray(1), rank)
        MPI.Detach_buffer()

    run_ranks(1, main)


def test_detach_gives_the_buffer_back_when_all_messages_have_been_delivered(run_ranks):
    def main(rank):
        world, memory = MPI.COMM_WORLD, bytearray(1000)
        if rank == 0:
            MPI.Attach_buffer(memory)
            world.Bsend(b"x", 1)
            assert MPI.Detach_buffer() is memory
            return MPI.Wtime()
        while MPI.Wtime() < 0.01:
            MPI.COMM_SELF.Iprobe()
        world.Recv(bytearray(1), 0)
        return 0

    assert run_ranks(2, main).returned[0] > 0.01


def test_a_communicator_has_a_buffer_of_its_own(run_ranks):
    def main(rank):
        own = MPI.COMM_WORLD.Dup()
        memory = bytearray(1 + OVERHEAD)
        own.Attach_buffer(memory)
        with pytest.raises(MPI.Exception, match="no buffer is attached"):
            MPI.COMM_WORLD.Bsend(b"x", rank)
        own.Bsend(b"x", rank)
        flushed = own.Iflush_buffer()
        assert not flushed.Test()
        own.Recv(bytearray(1), rank)
        flushed.Wait()
        own.Flush_buffer()
        assert own.Detach_buffer() is memory

    run_ranks(1, main)


def test_an_automatic_buffer_has_always_room(run_ranks):
    def main(rank):
        for automatic in (None, MPI.BUFFER_AUTOMATIC):
            MPI.Attach_buffer(automatic)
            for _ in range(300):
                MPI.COMM_WORLD.Bsend(np.zeros(1000), rank)
            flushes = [MPI.Iflush_buffer() for _ in range(2)]
            for _ in range(300):
                MPI.COMM_WORLD.Recv(np.zeros(1000), rank)
            MPI.Request.Waitall(flushes)
            assert MPI.Detach_buffer() == MPI.BUFFER_AUTOMATIC

    run_ranks(1, main)


def test_a_second_buffer_and_none_at_all_are_errors(run_ranks):
    def main(rank):
        with pytest.raises(MPI.Exception, match="no buffer is attached"):
            MPI.Detach_buffer()
        MPI.Attach_buffer(bytearray(10))
        with pytest.raises(MPI.Exception, match="attached already: call Detach_buffer first"):
            MPI.Attach_buffer(bytearray(10))
        MPI.Detach_buffer()
        with pytest.raises((BufferError, ValueError)):
            MPI.Attach_buffer(b"read only")

    run_ranks(1, main)


def test_each_rank_has_its_own_buffer(run_ranks):
    def main(rank):
        if rank == 0:
            MPI.Attach_buffer(bytearray(1000))
        MPI.COMM_WORLD.Barrier()
        if rank == 1:
            with pytest.raises(MPI.Exception, match="no buffer is attached"):
                MPI.COMM_WORLD.Bsend(b"x", 0)

    run_ranks(2, main)


def test_objects_go_through_the_buffer_too(run_ranks):
    def main(rank):
        MPI.Attach_buffer(bytearray(2000))
        MPI.COMM_WORLD.bsend({"a": rank}, 1 - rank)
        MPI.COMM_WORLD.ibsend([rank], 1 - rank).wait()
        received = MPI.COMM_WORLD.recv(source=1 - rank), MPI.COMM_WORLD.recv(source=1 - rank)
        MPI.Detach_buffer()
        return received

    assert run_ranks(2, main).returned == [({"a": 1}, [1]), ({"a": 0}, [0])]
