"""Messages of entries with regular strides, which the kernel packs and unpacks, against numpy's indexing."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.mpi import MPI
from smpy.mpi.data.strided import strided
from tests.mpi.conftest import run_world

WORLD = MPI.COMM_WORLD
LARGE = 40_000
"""Entries that make a message too large to be copied when it is sent."""


@st.composite
def boxes(draw):
    """Shape of an array, and a box of it as numpy slices and as the arguments of Create_subarray."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    box = [draw(st.integers(1, size)) for size in sizes]
    first = [draw(st.integers(0, size - length)) for size, length in zip(sizes, box, strict=True)]
    slices = tuple(slice(start, start + length) for start, length in zip(first, box, strict=True))
    return sizes, slices, (sizes, box, first)


def exchanged(send, room):
    """Send a specification from rank 0 to rank 1, which receives as `room` says."""

    def main(rank):
        if rank == 0:
            WORLD.Send(send, 1)
            return None
        status = MPI.Status()
        WORLD.Recv(room, 0, status=status)
        return status.Get_count(MPI.BYTE)

    return run_world(2, main).returned[1]


@given(boxes(), st.sampled_from(["u1", "i2", "f4", "f8", "c16"]))
@settings(max_examples=150)
def test_a_box_of_an_array_is_numpys_slice_on_either_side(box, typestr):
    sizes, slices, arguments = box
    made = MPI.Datatype.fromcode(typestr).Create_subarray(*arguments).Commit()
    whole = np.arange(1, np.prod(sizes) + 1).reshape(sizes).astype(typestr)
    flat = np.zeros(whole[slices].size, typestr)
    assert exchanged([whole, 1, made], flat) == flat.nbytes
    assert (flat.reshape(whole[slices].shape) == whole[slices]).all()
    target, expected = np.zeros_like(whole), np.zeros_like(whole)
    expected[slices] = whole[slices]
    exchanged(flat, [target, 1, made])
    assert (target == expected).all()


@given(st.integers(0, 4), st.integers(0, 3), st.integers(-5, 5), st.integers(1, 3), st.integers(-9, 9), st.data())
@settings(max_examples=150)
def test_vectors_of_any_stride_and_extent_are_numpys_indices(count, block, stride, entries, extent, data):
    made = MPI.INT.Create_vector(count, block, stride).Create_resized(0, 4 * extent)
    one = [i * stride + j for i in range(count) for j in range(block)]
    places = np.array([i * extent + place for i in range(entries) for place in one], int)
    shift = -min([0, *places])
    made = made.Create_hindexed_block(1, [4 * shift]).Create_resized(0, 4 * extent).Commit()
    memory = np.arange(1, max([0, *places]) + shift + 2, dtype="i4")
    got = np.zeros(len(places), "i4")
    exchanged([memory, entries, made], got)
    assert (got == memory[places + shift]).all()
    part = data.draw(st.integers(0, len(places)))  # the message may be shorter than the room
    target, expected = np.zeros_like(memory), np.zeros_like(memory)
    for place, value in zip(places[:part], got, strict=False):
        expected[place + shift] = value
    assert exchanged(got[:part], [target, entries, made]) == 4 * part
    assert (target == expected).all()


def test_what_has_regular_strides_is_described_to_the_kernel_and_nothing_else():
    regular = [
        MPI.DOUBLE.Create_vector(3, 1, 2),
        MPI.INT.Create_subarray([4, 4, 4], [2, 2, 2], [1, 1, 1]),
        MPI.INT.Create_vector(2, 1, 2).Create_hvector(3, 1, 100),
        MPI.BYTE.Create_indexed_block(1, [0, 3, 6]),
    ]
    irregular = [MPI.INT.Create_indexed([1, 2], [0, 5]), MPI.DOUBLE_INT.Create_vector(2, 1, 2)]
    assert all(strided(made._layout.typemap) for made in regular)
    assert not any(strided(made._layout.typemap) for made in irregular[:1])


@pytest.mark.parametrize("entries", [10, LARGE])
@pytest.mark.parametrize("call", ["Send", "Ssend", "Isend", "Sendrecv"])
def test_strided_messages_of_all_sizes_and_modes_arrive(run_ranks, entries, call):
    column = MPI.INT.Create_vector(entries, 1, 3).Commit()

    def main(rank):
        out, into = np.arange(3 * entries, dtype="i4") + 1, np.zeros(3 * entries, "i4")
        if call == "Sendrecv":
            WORLD.Sendrecv([out, 1, column], 1 - rank, 0, [into, 1, column], 1 - rank)
        else:
            receive = WORLD.Irecv([into, 1, column], 1 - rank)
            sent = getattr(WORLD, call)([out, 1, column], 1 - rank)
            MPI.Request.Waitall([receive, sent] if sent else [receive])
        assert (into[::3] == out[::3]).all()
        return int(into.sum()) - int(out[::3].sum())

    assert run_ranks(2, main).returned == [0, 0]


@pytest.mark.parametrize("entries", [10, LARGE])
@pytest.mark.parametrize("stride", [1, 3])
def test_sendrecv_replace_sends_what_was_there_before(run_ranks, entries, stride):
    column = MPI.INT.Create_vector(entries, 1, stride).Commit()

    def main(rank):
        status = MPI.Status()
        room = np.arange(stride * entries, dtype="i4") + 1000 * rank
        WORLD.Sendrecv_replace([room, 1, column], (rank + 1) % 3, 5, (rank - 1) % 3, 5, status)
        before = np.arange(stride * entries, dtype="i4") + 1000 * ((rank - 1) % 3)
        assert (room[::stride] == before[::stride]).all()
        assert stride == 1 or (room[1::stride] == np.arange(1, stride * entries, stride) + 1000 * rank).all()
        return status.source, status.tag, status.Get_count(MPI.INT)

    assert run_ranks(3, main).returned == [((rank - 1) % 3, 5, entries) for rank in range(3)]


def test_a_receive_keeps_the_strides_of_a_datatype_that_was_freed(run_ranks):
    def main(rank):
        column = MPI.INT.Create_vector(LARGE, 1, 2).Commit()
        room = np.zeros(2 * LARGE, "i4")
        if rank == 0:
            request = WORLD.Irecv([room, 1, column], 1)
            column.Free()
            del column
            gc.collect()
            WORLD.Barrier()
            request.Wait()
            return int(room[::2].sum()), int(room[1::2].sum())
        WORLD.Barrier()
        return WORLD.Send(np.ones(LARGE, "i4"), 0)

    assert run_ranks(2, main).returned[0] == (LARGE, 0)


def test_a_freed_receive_keeps_the_strides_of_a_datatype_that_was_freed(run_ranks):
    def main(rank):
        if rank == 0:
            WORLD.Barrier()
            WORLD.Send(np.ones(8), 1, 1)
            WORLD.Ssend(np.ones(1), 1, 2)
            return None
        room = np.zeros(32)
        datatype = MPI.DOUBLE.Create_vector(8, 1, 4).Commit()
        request = WORLD.Irecv([room, 1, datatype], 0, 1)
        datatype.Free()
        request.Free()
        strided.cache_clear()
        others = [bytes([7]) * n for n in range(40, 400) for _ in range(9)]  # likely place of the freed description
        WORLD.Barrier()
        WORLD.Recv(np.zeros(1), 0, 2)
        return list(np.nonzero(room)[0]), len(others)

    assert run_ranks(2, main).returned[1][0] == [0, 4, 8, 12, 16, 20, 24, 28]


def test_more_than_there_is_room_for_is_truncated_and_nothing_else_is_touched(run_ranks):
    column = MPI.INT.Create_vector(3, 1, 2).Commit()

    def main(rank):
        room = np.zeros(8, "i4")
        if rank == 1:
            WORLD.Send(np.ones(4, "i4"), 0)
            return None
        with pytest.raises(MPI.Exception, match="truncated"):
            WORLD.Recv([room, 1, column], 1)
        return room.tolist()

    assert run_ranks(2, main).returned[0] == [1, 0, 1, 0, 1, 0, 0, 0]
