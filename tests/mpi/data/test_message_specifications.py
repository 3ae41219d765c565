"""Buffer specifications that a program may pass."""

import array
import sys

import numpy as np
import pytest

from smpy.mpi import MPI
from smpy.mpi.data.block_specifications import several_of, vector_of
from smpy.mpi.data.message_specifications import part_of


@pytest.mark.parametrize(
    ("spec", "count", "datatype", "start"),
    [
        (np.zeros(5), 5, MPI.DOUBLE, 0),
        (np.zeros((2, 3), "i2"), 6, MPI.SHORT, 0),
        (np.zeros((2, 3), order="F"), 6, MPI.DOUBLE, 0),
        (np.array(1 + 2j), 1, MPI.C_DOUBLE_COMPLEX, 0),
        (np.zeros(4, bool), 4, MPI.C_BOOL, 0),
        (np.zeros(4, "<f4"), 4, MPI.FLOAT, 0),
        (np.zeros(0), 0, MPI.DOUBLE, 0),
        (array.array("q", [1, 2]), 2, MPI.LONG_LONG, 0),
        (b"four", 4, MPI.UNSIGNED_CHAR, 0),
        (memoryview(bytearray(8)).cast("i"), 2, MPI.INT, 0),
        ([np.zeros(5), MPI.DOUBLE], 5, MPI.DOUBLE, 0),
        ((np.zeros(5), "d"), 5, MPI.DOUBLE, 0),
        ([np.zeros(5), "i4"], 10, MPI.INT32_T, 0),
        ([np.zeros(5), MPI.BYTE], 40, MPI.BYTE, 0),
        ([np.zeros(5), 3], 3, MPI.DOUBLE, 0),
        ([np.zeros(5), np.int64(3), MPI.DOUBLE], 3, MPI.DOUBLE, 0),
        ([np.zeros(5), (2, 3)], 2, MPI.DOUBLE, 24),
        ([np.zeros(5), (2, 3), MPI.DOUBLE], 2, MPI.DOUBLE, 24),
        ([np.zeros(5), 2, 3, MPI.DOUBLE], 2, MPI.DOUBLE, 24),
        ([np.zeros(5), None, 3, MPI.DOUBLE], 2, MPI.DOUBLE, 24),
        ([None, 0, MPI.INT], 0, MPI.INT, 0),
        ([MPI.BOTTOM, 0, "d"], 0, MPI.DOUBLE, 0),
    ],
)
def test_a_specification_means_entries_of_a_datatype(spec, count, datatype, start):
    part = part_of(spec, is_written=False)
    assert (part.count, part.datatype, part.start) == (count, datatype, start)
    assert part.nbytes == count * datatype.size


def test_a_count_is_per_block():
    assert part_of(np.zeros(12), is_written=True, n_blocks=4).count == 3
    assert part_of([np.zeros(12), 2, MPI.DOUBLE], is_written=True, n_blocks=4).count == 2


@pytest.mark.parametrize(
    ("spec", "error", "text"),
    [
        (3, TypeError, "a buffer is required, such as a numpy array, not int"),
        (None, TypeError, "a buffer is required"),
        ("text", TypeError, "not str"),
        ([b"", 1, 2, 3, 4], ValueError, "2 to 4 items"),
        ([b""], ValueError, "2 to 4 items"),
        (np.zeros(3, object), KeyError, "cannot map 'O'"),
        (np.zeros(3, "f8,i4"), KeyError, "cannot map 'T{"),
        ([np.zeros(3), "no such"], KeyError, "cannot map 'no such'"),
        (np.zeros(3, ">f8"), BufferError, "byte order"),
        (np.zeros((4, 4))[:, 1], BufferError, "not contiguous"),
        ([np.zeros(3), -1], ValueError, "negative count"),
        ([np.zeros(3), (1, -1)], ValueError, "negative displacement"),
        ([np.zeros(3), (1, 4)], ValueError, "beyond the 3 entries"),
        ([np.zeros(3), 4], ValueError, "need 32 bytes, the buffer has 24"),
        ([np.zeros(3, "i4"), MPI.DOUBLE], ValueError, "not a multiple"),
        ([None, 1, MPI.INT], ValueError, "need 4 bytes, the buffer has 0"),
        ([np.zeros(3), None, MPI.DATATYPE_NULL], ValueError, "cannot be inferred without a datatype"),
        ([np.zeros(3), 1, 1, MPI.DATATYPE_NULL], ValueError, "displacement means nothing without a datatype"),
        ([np.zeros(3), 1, MPI.DATATYPE_NULL], MPI.Exception, "datatype is null"),
        ([np.zeros(3), MPI.INT.Create_resized(0, -4).Commit()], ValueError, r"extent -4 \(lb: 0, ub: -4\)"),
        ([np.zeros(3), 1, MPI.DOUBLE.Create_hvector(2, 1, -8).Commit()], ValueError, "begin 8 bytes before"),
        ([np.zeros(3), (3, 1)], ValueError, "need 32 bytes, the buffer has 24"),
        ([None, 1], ValueError, "a datatype must be named"),
    ],
)
def test_a_specification_that_makes_no_sense_is_an_error(spec, error, text):
    with pytest.raises(error, match=text):
        part_of(spec, is_written=False)


def test_a_receive_refuses_memory_that_cannot_be_written():
    with pytest.raises(BufferError, match="not writable"):
        part_of(b"text", is_written=True)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        part_of(frozen, is_written=True)


def test_entries_need_not_be_a_whole_number_of_blocks_unless_counted():
    with pytest.raises(ValueError, match="5 entries are not a multiple of 2 blocks"):
        part_of(np.zeros(5), is_written=True, n_blocks=2)


def test_a_pair_with_a_gap_travels_without_it(run_ranks):
    pair = np.dtype([("value", "f8"), ("place", "i4")], align=True)

    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        pairs = np.zeros(3, pair)
        if rank == 0:
            pairs["value"], pairs["place"] = [1.5, 2.5, 3.5], [7, 8, 9]
            world.Send([pairs, MPI.DOUBLE_INT], 1)
        else:
            world.Recv([pairs, MPI.DOUBLE_INT], 0, status=status)
        return pairs.tolist(), status.count

    assert run_ranks(2, main).returned[1] == ([(1.5, 7), (2.5, 8), (3.5, 9)], 36)


def test_a_message_may_end_inside_an_array(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        data = np.arange(10.0) if rank == 0 else np.zeros(10)
        if rank == 0:
            world.Send([data, (3, 2), MPI.DOUBLE], 1)
        else:
            world.Recv([data, (8, 1), "d"], 0)
        return data.tolist()

    assert run_ranks(2, main).returned[1] == [0, 2, 3, 4, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("spec", "counts", "starts"),
    [
        (np.zeros(10), [4, 3, 3], [0, 32, 56]),
        ([np.zeros(10), MPI.DOUBLE], [4, 3, 3], [0, 32, 56]),
        ([np.zeros(10), 2], [2, 2, 2], [0, 16, 32]),
        ([np.zeros(10), [1, 0, 2]], [1, 0, 2], [0, 8, 8]),
        ([np.zeros(10), np.array([1, 0, 2]), "d"], [1, 0, 2], [0, 8, 8]),
        ([np.zeros(10), (2, 3)], [2, 2, 2], [0, 24, 48]),
        ([np.zeros(10), ([2, 1, 1], [5, 4, 0])], [2, 1, 1], [40, 32, 0]),
        ([np.zeros(10), [2, 1, 1], [5, 4, 0], MPI.DOUBLE], [2, 1, 1], [40, 32, 0]),
        ([np.zeros(10), None, [5, 4, 0], MPI.BYTE], [27, 27, 26], [5, 4, 0]),
        ([None, (0, None), MPI.INT], [0, 0, 0], [0, 0, 0]),
    ],
)
def test_a_vector_specification_means_a_block_for_each_rank(spec, counts, starts):
    parts = vector_of(spec, is_written=False, n_blocks=3)
    assert parts.counts == counts
    assert [part.start for part in parts] == starts
    size = parts.datatype.size
    assert parts.offsets().tolist() == [size * sum(counts[:block]) for block in range(4)]


def test_blocks_may_have_datatypes_of_their_own_at_displacements_in_bytes():
    data = np.arange(5.0)
    parts = several_of([data, ([1, 2], [8, 1]), [MPI.DOUBLE, "B"]], is_written=False, n_blocks=2)
    assert [bytes(part.carried()) for part in parts] == [data[1:2].tobytes(), data.tobytes()[1:3]]
    assert parts.offsets().tolist() == [0, 8, 10]
    assert several_of([data, [MPI.DOUBLE] * 2], is_written=False, n_blocks=2).counts == [1, 1]


@pytest.mark.parametrize(
    ("meaning", "spec", "error", "text"),
    [
        (vector_of, [np.zeros(9), [1, 2], MPI.INT], ValueError, "expecting 3 items, got 2"),
        (vector_of, [np.zeros(9), [1.0, 2.0, 3.0]], TypeError, "integer"),
        (vector_of, [np.zeros(9), [1, -1, 1]], ValueError, "negative count"),
        (vector_of, [np.zeros(9), [3, 3, 4]], ValueError, "the buffer has 72"),
        (vector_of, [np.zeros(9), [1, 1, 1], [0, -1, 2], "d"], ValueError, "begin 8 bytes before"),
        (vector_of, 7, TypeError, "a buffer is required"),
        (vector_of, [np.zeros(9)], ValueError, "2 to 4 items"),
        (several_of, [np.zeros(9), [MPI.INT]], ValueError, "expecting 3 datatypes, got 1"),
        (several_of, [MPI.BOTTOM, None, [0] * 3, [MPI.INT] * 3], ValueError, "BOTTOM requires counts"),
        (several_of, [np.zeros(9)], ValueError, "2 to 4 items"),
    ],
)
def test_a_specification_of_blocks_that_makes_no_sense_is_an_error(meaning, spec, error, text):
    with pytest.raises(error, match=text):
        meaning(spec, is_written=False, n_blocks=3)


@pytest.mark.parametrize("make", [np.zeros, lambda n: array.array("d", bytes(8 * n)), lambda n: bytearray(8 * n)])
def test_nothing_refers_to_a_programs_buffer_after_its_message(run_ranks, make):
    column = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()

    def main(rank):
        world, buffer = MPI.COMM_WORLD, make(8)
        before = sys.getrefcount(buffer)
        for spec in (buffer, [buffer, MPI.BYTE], [buffer, 2, column], [buffer, (1, 1), column]):
            if rank == 0:
                world.Send(spec, 1)
                world.Isend(spec, 1).Wait()
            else:
                world.Recv(spec, 0)
                world.Irecv(spec, 0).Wait()
            world.Bcast(spec)
        del spec
        return sys.getrefcount(buffer) - before

    assert run_ranks(2, main).returned == [0, 0]
