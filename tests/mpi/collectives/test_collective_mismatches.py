"""Ranks that do not mean the same collective are told so, both with their lines; what MPI allows to differ may."""

import re

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.mpi import MPI

EIGHT, SIXTEEN = np.zeros(1), np.zeros(2)


def failure_of(run_ranks, n_ranks, main):
    with pytest.raises(MPI.Exception) as caught:
        run_ranks(n_ranks, main)
    return caught.value, str(caught.value)


def both_lines(text):
    return text.count("test_collective_mismatches.py:") == 2


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(
    ("one", "other", "error_class", "texts"),
    [
        (
            lambda world: world.Gatherv(EIGHT, None),
            lambda world: world.Gatherv(EIGHT, [np.zeros(3), [1, 2]]),
            "ERR_TRUNCATE",
            ["rank 1: Gatherv sends 8 bytes to rank 0", "rank 0: Gatherv expects 16 bytes from there"],
        ),
        (
            lambda world: world.Scatterv(None, EIGHT),
            lambda world: world.Scatterv([np.zeros(3), [1, 2]], EIGHT),
            "ERR_TRUNCATE",
            ["rank 0: Scatterv sends 16 bytes to rank 1", "rank 1: Scatterv expects 8 bytes from there"],
        ),
        (
            lambda world: world.Allgatherv(EIGHT, [np.zeros(2), [1, 1]]),
            lambda world: world.Allgatherv(SIXTEEN, [np.zeros(3), [2, 1]]),
            "ERR_TRUNCATE",
            ["Allgatherv has 8 bytes for block 0", "Allgatherv has 16 bytes for block 0"],
        ),
        (
            lambda world: world.Alltoallv([np.zeros(3), [1, 2]], [np.zeros(3), [1, 2]]),
            lambda world: world.Alltoallv([np.zeros(4), [1, 3]], [np.zeros(3), [1, 1]]),
            "ERR_TRUNCATE",
            ["rank 0: Alltoallv sends 24 bytes to rank 1", "rank 1: Alltoallv expects 8 bytes from there"],
        ),
        (
            lambda world: world.Ialltoallv([np.zeros(3), [1, 2]], [np.zeros(3), [1, 2]]),
            lambda world: world.Ialltoallv([np.zeros(4), [1, 3]], [np.zeros(3), [1, 1]]),
            "ERR_TRUNCATE",
            ["rank 0: Ialltoallv sends 24 bytes to rank 1", "rank 1: Ialltoallv expects 8 bytes from there"],
        ),
        (
            lambda world: world.Reduce_scatter(np.zeros(4), np.zeros(3), [1, 3]),
            lambda world: world.Reduce_scatter(np.zeros(4), np.zeros(2), [2, 2]),
            "ERR_TRUNCATE",
            ["Reduce_scatter has 8 bytes for block 0", "Reduce_scatter has 16 bytes for block 0"],
        ),
        (
            lambda world: world.Bcast(EIGHT.copy()),
            lambda world: world.Ibcast(EIGHT.copy()),
            "ERR_OTHER",
            ["rank 1: Bcast(root=0), 8 bytes", "rank 0: Ibcast(root=0), 8 bytes"],
        ),
        (
            lambda world: world.Ibcast(EIGHT.copy()),
            lambda world: world.Bcast_init(EIGHT.copy()).Start(),
            "ERR_OTHER",
            ["rank 1: Ibcast(root=0), 8 bytes", "rank 0: Bcast_init(root=0), 8 bytes"],
        ),
        (
            lambda world: world.Iallreduce(EIGHT, np.zeros(1), MPI.SUM),
            lambda world: world.Iallreduce(EIGHT, np.zeros(1), MPI.MAX),
            "ERR_OP",
            ["op=MPI_SUM", "op=MPI_MAX"],
        ),
        (
            lambda world: world.Scan(np.zeros(1, "f4"), np.zeros(1, "f4")),
            lambda world: world.Scan(np.zeros(1, "i4"), np.zeros(1, "i4")),
            "ERR_TYPE",
            ["of f4", "of i4"],
        ),
        (
            lambda world: world.Alltoall(np.zeros(2), np.zeros(2)),
            lambda world: world.Alltoall(np.zeros(4), np.zeros(4)),
            "ERR_TRUNCATE",
            ["Alltoall(), 8 bytes", "Alltoall(), 16 bytes"],
        ),
    ],
)
def test_ranks_that_disagree_are_named_with_their_lines(run_ranks, one, other, error_class, texts, is_late):
    def main(rank):
        if rank == is_late:
            current().sleep(1e-5)
        (one if rank else other)(MPI.COMM_WORLD)
        MPI.COMM_WORLD.Barrier()

    error, text = failure_of(run_ranks, 2, main)
    assert error == getattr(MPI, error_class)
    assert both_lines(text), text
    for part in texts:
        assert part in " ".join(text.split()), text


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_two_groups_send_each_other_is_compared(run_ranks, order):
    def main(rank):
        between = MPI.COMM_WORLD.Split(rank % 2).Create_intercomm(0, MPI.COMM_WORLD, 1 - rank % 2)
        current().sleep(1e-5 * order.index(rank % 2))
        sent, expected = ([1, 2], [3, 3]) if rank % 2 else ([3, 3], [1, 1])
        between.Alltoallv([np.zeros(sum(sent)), sent], [np.zeros(sum(expected)), expected])

    error, text = failure_of(run_ranks, 4, main)
    assert error == MPI.ERR_TRUNCATE
    assert both_lines(text), text
    flat = " ".join(text.split())
    assert re.search("rank [01] of group 1: Alltoallv sends 16 bytes to rank 1 of group 0", flat)
    assert "rank 1 of group 0: Alltoallv expects 8 bytes from there" in flat


def test_roots_of_two_groups_are_compared(run_ranks):
    def main(rank):
        between = MPI.COMM_WORLD.Split(rank % 2).Create_intercomm(0, MPI.COMM_WORLD, 1 - rank % 2)
        root = {0: MPI.PROC_NULL, 2: MPI.ROOT}.get(rank, 0)
        between.Bcast(EIGHT.copy(), root)

    error, text = failure_of(run_ranks, 4, main)
    assert error == MPI.ERR_ROOT
    assert "root=rank 0 of group 0" in text
    assert "root=rank 1 of group 0" in text


def test_datatypes_that_describe_the_same_bytes_match(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        spaced = MPI.INT32_T.Create_vector(2, 1, 2).Commit()
        ways = [(np.zeros(2), MPI.DOUBLE), (bytearray(16), MPI.BYTE), (np.zeros(4, "i4"), MPI.INT32_T)]
        buffer, datatype = ways[rank % 3]
        if rank == 0:
            buffer[:] = 1, 2
        world.Bcast([buffer, datatype])
        spread = np.zeros(8, "i4")
        out = [spread, 1, spaced] if rank else [np.arange(2, dtype="i4"), 2, MPI.INT32_T]
        into = np.zeros(2 * world.size, "i4")
        world.Allgather(out, [into, 8, MPI.BYTE] if rank == 1 else into)
        world.Alltoallv([b"", 0], [bytearray(), 0])
        return bytes(memoryview(buffer).cast("B")), into[:2].tolist()

    assert run_ranks(4, main).returned == [(np.array([1.0, 2.0]).tobytes(), [0, 1])] * 4


def test_a_zero_count_matches_nothing_at_all(run_ranks):
    def main(rank):
        MPI.COMM_WORLD.Bcast([None, 0, MPI.INT] if rank else np.zeros(0))
        MPI.COMM_WORLD.Gatherv([None, 0, MPI.INT], [np.zeros(0), [0, 0, 0]] if rank == 1 else None, 1)

    run_ranks(3, main)


def test_equal_functions_of_different_ranks_are_one_operation(run_ranks):
    def main(rank):
        def keep_left(left, right, datatype):
            right[:] = left[:]

        op, result = MPI.Op.Create(keep_left), np.zeros(1)
        MPI.COMM_WORLD.Allreduce(np.full(1, 5.0 + rank), result, op)
        return result[0]

    assert run_ranks(3, main).returned == [5.0] * 3
