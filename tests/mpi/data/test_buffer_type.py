"""`MPI.buffer`: bytes in memory, a program's or its own."""

import array
import sys

import numpy as np
import pytest

from smpy.mpi import MPI

EXPORTS = MPI.buffer.__base__.__module__ != "smpy.mpi.data.exporter" or sys.version_info >= (3, 12)
exporting = pytest.mark.skipif(not EXPORTS, reason="classes written in Python export no buffers before 3.12")


def test_a_buffer_is_the_memory_of_another_object():
    owner = array.array("i", [1, 2, 3])
    lent = MPI.buffer(owner)
    lent[4:8] = np.array([7], "i4")
    assert owner.tolist() == [1, 7, 3]
    assert (lent.address, lent.nbytes, lent.obj is owner) == (owner.buffer_info()[0], 12, True)
    assert lent.cast("i").tolist() == [1, 7, 3]
    part = lent[4:]
    part[:4] = 0
    assert owner.tolist() == [1, 0, 3]


def test_a_buffer_is_written_only_if_its_owner_allows():
    assert MPI.buffer(b"text").readonly
    assert not MPI.buffer(bytearray(b"text")).readonly
    with pytest.raises(TypeError, match="read-only"):
        MPI.buffer.frombuffer(bytearray(3), readonly=True)[0] = 1
    with pytest.raises(BufferError):
        MPI.buffer.frombuffer(b"text")


@exporting
def test_a_buffer_at_an_address_sees_what_is_there():
    numbers = np.arange(3)
    seen = MPI.buffer.fromaddress(MPI.Get_address(numbers), numbers.nbytes)
    numbers[1] = 9
    assert np.frombuffer(seen, int).tolist() == [0, 9, 2]


def test_a_buffer_can_be_sent_and_received_into(run_ranks):
    def main(rank):
        room = MPI.Alloc_mem(8)
        room[:] = 5 if rank == 0 else 0
        if rank == 0:
            MPI.COMM_WORLD.Send(room[:6], 1)
        else:
            MPI.COMM_WORLD.Recv([room, MPI.BYTE], 0)
        found = room.tobytes()
        MPI.Free_mem(room)
        return found, len(room)

    assert run_ranks(2, main).returned[1] == (b"\5\5\5\5\5\5\0\0", 0)


def test_a_released_buffer_lets_its_owner_go():
    owner = np.zeros(100)
    before = sys.getrefcount(owner)
    lent = MPI.buffer(owner)
    assert sys.getrefcount(owner) > before
    lent.release()
    assert sys.getrefcount(owner) == before


@exporting
def test_what_was_exported_outlives_a_release():
    lent = MPI.buffer(bytearray(b"here"))
    view = memoryview(lent)
    lent.release()
    assert view.tobytes() == b"here"


@pytest.mark.parametrize("special", [MPI.BOTTOM, MPI.IN_PLACE, MPI.BUFFER_AUTOMATIC])
def test_what_stands_in_place_of_a_buffer_is_a_number_and_no_message(special):
    assert special == int(special) == MPI.Get_address(special)
    assert hash(special) == hash(int(special))
    with pytest.raises(TypeError, match=f"{special!r}|a buffer is required"):
        MPI.SUM.Reduce_local(special, bytearray(1))


@exporting
def test_a_special_buffer_has_no_bytes_of_anybody():
    view = memoryview(MPI.IN_PLACE)
    assert (view.nbytes, view.obj) == (0, None)


def test_a_special_buffer_alone_is_not_sent(run_ranks):
    with pytest.raises(TypeError, match=r"IN_PLACE is no buffer here|a buffer is required"):
        run_ranks(2, lambda rank: MPI.COMM_WORLD.Send(MPI.IN_PLACE, 1 - rank))
