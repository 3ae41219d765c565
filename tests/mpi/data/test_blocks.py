"""Blocks of many sizes: what moves them all at once moves the same bytes as one block after another."""

import random
from itertools import pairwise

import numpy as np
import pytest

from smpy.engine.kernel import ffi
from smpy.mpi import MPI
from smpy.mpi.data.block_specifications import several_of, vector_of

N_BLOCKS = 5
N_BYTES = 4000
DATATYPES = {
    "entries without gaps": MPI.DOUBLE.Create_contiguous(1).Commit(),
    "a vector": MPI.INT.Create_vector(3, 2, 5).Commit(),
    "a face": MPI.FLOAT.Create_subarray([3, 4, 2], [2, 1, 2], [1, 2, 0]).Commit(),
    "backwards": MPI.INT.Create_hvector(3, 1, -8).Create_resized(-16, 24).Commit(),
    "without a rule": MPI.BYTE.Create_indexed([3, 1, 4], [0, 9, 5]).Commit(),
    "nothing": MPI.DOUBLE.Create_contiguous(0).Commit(),
}


def parts_of(data: bytearray, counts: list[int], starts: list[int], names: list[str], *, is_written: bool):
    types = [DATATYPES[name] for name in names]
    if len(set(names)) > 1:
        return several_of([data, counts, starts, types], is_written=is_written, n_blocks=N_BLOCKS)
    places = [start // (types[0].extent or 1) for start in starts]
    return vector_of([data, counts, places, types[0]], is_written=is_written, n_blocks=N_BLOCKS)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("among", [*([name] for name in DATATYPES), list(DATATYPES)[:4], list(DATATYPES)])
def test_all_blocks_at_once_are_the_blocks_one_after_another(among, seed):
    draw = random.Random(seed)
    names = draw.choices(among, k=N_BLOCKS)
    counts = [draw.randrange(4) for _ in range(N_BLOCKS)]
    starts = [draw.randrange(100, N_BYTES - 300) for _ in range(N_BLOCKS)]
    data = draw.randbytes(N_BYTES)

    out = parts_of(bytearray(data), counts, starts, names, is_written=False)
    nbytes = out.offsets()[-1]
    packed, private = out.packed(nbytes)
    assert private is None
    assert bytes(b"" if packed is None else ffi.buffer(packed)) == b"".join(bytes(part.carried()) for part in out)

    come = draw.randbytes(nbytes)
    at_once, one_by_one, taken = bytearray(data), bytearray(data), bytearray(data)
    parts_of(at_once, counts, starts, names, is_written=True).put(come)
    into = parts_of(one_by_one, counts, starts, names, is_written=True)
    for part, (start, end) in zip(into, pairwise(into.offsets()), strict=True):
        part.put(memoryview(come)[start:end])
    assert at_once == one_by_one

    # each peer has one block for this rank, the second of its two
    blocks = [ffi.from_buffer("char[]", b"no" + come[start:end]) for start, end in pairwise(into.offsets())]
    tables = [ffi.new("int64_t[]", [0, 2, len(block)]) for block in blocks]
    peers = ffi.new("contribution[]", [(table, table, block) for table, block in zip(tables, blocks, strict=True)])
    parts_of(taken, counts, starts, names, is_written=True).take(peers, 1, {})
    assert taken == one_by_one


def test_all_blocks_at_once_from_the_start_of_the_address_range():
    data = np.arange(20.0)
    at = MPI.Get_address(data)
    spec = [MPI.BOTTOM, [2, 1], [at + 8, at + 80], [MPI.DOUBLE] * 2]
    parts = several_of(spec, is_written=True, n_blocks=2)
    assert np.frombuffer(ffi.buffer(parts.packed(24)[0])).tolist() == [1, 2, 10]
    parts.put(np.array([-1.0, -2.0, -10.0]).tobytes())
    assert data[[1, 2, 10]].tolist() == [-1, -2, -10]


def test_a_count_that_no_memory_has_room_for_is_refused_whatever_its_size():
    for count in (1 << 62, 1 << 70):
        with pytest.raises((ValueError, MPI.Exception)):
            vector_of([np.zeros(9), [1, count, 1], [0, 1, 2], "d"], is_written=False, n_blocks=3)
