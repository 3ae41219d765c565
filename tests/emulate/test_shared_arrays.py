"""Arrays that share their memory: how much of it there is, what is refused, and what a run says of them."""

import gc
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import smpy
from smpy.engine.folded_memory import areas_left
from tests.mpi.conftest import run_world

N = 1 << 27
"""Doubles of a gibibyte."""


def alone(make):
    """Return value of a function of no argument on the one rank of a world."""
    return run_world(1, lambda rank: make()).returned[0]


def test_outside_a_run_they_are_ordinary_arrays():
    before = areas_left()
    assert smpy.shared_array((2, 3), np.int8, "global").tolist() == [[0] * 3] * 2
    array = smpy.partial_shared_array(10_000, private=[(0, 1)])
    array[:] = np.arange(10_000)
    assert array.sum() == 49_995_000
    assert areas_left() == before


def test_a_local_one_is_the_same_memory_on_all_ranks_and_another_for_each_line():
    def main(rank):
        first, second = smpy.shared_array((40, 50)), smpy.shared_array((40, 50))  # one line
        other = smpy.shared_array((40, 50))
        return first, second, other, smpy.shared_array(1)

    (first, second, other, _), (its, *_) = run_world(2, main).returned
    first[:] = np.arange(2000).reshape(40, 50)
    assert np.array_equal(second, first)
    assert np.array_equal(its, first)
    assert not np.shares_memory(first, other)
    assert first[3:5].T.sum() == sum(range(150, 250))


def test_a_global_one_is_a_small_block_over_and_over():
    array = alone(lambda: smpy.shared_array((1000, 1 << 18), scope="global"))
    array[7, 5] = 3.0
    assert (array[:, 5] == 3.0).all()
    assert array.nbytes == 1000 * (1 << 21)


@pytest.mark.parametrize("zones", [[(0, 1)], [(700, 800)], [(N // 2, N // 2 + 5000), (N - 3, N)]])
def test_private_zones_are_private_and_the_rest_is_not_there(zones):
    array = alone(lambda: smpy.partial_shared_array(N, private=zones))
    for number, (first, last) in enumerate(zones):
        assert not array[first:last].any()
        array[first] = array[last - 1] = number + 1
    step = array[:: 1 << 18]
    step[:] = -1.0  # in all blocks
    for number, (first, last) in enumerate(zones):
        array[first] = number + 1
        assert array[last - 1] == number + 1 or (last - 1) % (1 << 18) == 0
    assert array.nbytes == 8 * N


def test_memory_goes_with_its_last_array():
    gc.collect()
    before = areas_left()

    def main(rank):
        part = smpy.partial_shared_array((N, 2), private=[(5, 6), (1000, 2000)])[3:, 1]
        whole = smpy.shared_array(N, scope="global").reshape(2, -1)
        assert areas_left() < before
        return part, whole

    kept = run_world(1, main).returned[0]
    del kept
    gc.collect()  # the world, which has it, too
    assert areas_left() == before


def test_there_may_be_many():
    arrays = alone(lambda: [smpy.partial_shared_array(N, private=[(0, 1), (N - 1, N)]) for _ in range(500)])
    for number, array in enumerate(arrays):
        array[0] = array[-1] = number
    assert [array[0] + array[-1] for array in arrays] == [2 * number for number in range(500)]


WRONG = {
    "private[0], elements -1 to 3, is not within": [(-1, 3)],
    "private[1], elements 1 to 11, is not within the array, elements 0 to 10": [(0, 1), (1, 11)],
    "private[0], elements 5 to 3, ends before it begins": [(5, 3)],
    "private[1], elements 5 to 7, begins before element 6": [(1, 6), (5, 7)],
    "private[1], elements 1 to 2, begins before element 7": [(5, 7), (1, 2)],
    "private[0] is 5: give pairs": [5],
    "private[0] is (1.5, 2): give pairs": [(1.5, 2)],
}


@pytest.mark.parametrize("message", WRONG)
def test_zones_that_cannot_be_are_named(message):
    with pytest.raises(ValueError) as caught:
        smpy.partial_shared_array(10, private=WRONG[message])
    assert message in str(caught.value)


def test_shapes_types_and_scopes_that_cannot_be_are_named():
    for wrong, make in [
        (ValueError, lambda: smpy.shared_array((3, -1))),
        (ValueError, lambda: smpy.shared_array(3, object)),
        (ValueError, lambda: smpy.shared_array(3, scope="none")),
        (TypeError, lambda: smpy.shared_array(2.5)),
        (TypeError, lambda: smpy.partial_shared_array(3, private=3)),
        (MemoryError, lambda: smpy.shared_array((1 << 23, 1 << 23))),
    ]:
        with pytest.raises(wrong, match="shared_array: "):
            make()


def test_too_many_areas_of_memory_are_named():
    zones = [(1024 * i, 1024 * i + 1) for i in range(70_000)]
    before = areas_left()
    with pytest.raises(MemoryError, match=r"vm\.max_map_count"):
        alone(lambda: smpy.partial_shared_array(1024 * 70_000, private=zones))
    assert areas_left() == before


def test_a_window_on_one_is_refused(emulated):
    source = "import smpy\nfrom mpi4py import MPI\nMPI.Win.Create(smpy.partial_shared_array(9, private=[(1, 2)]))"
    assert "shares its memory" in emulated(source, 1).error


HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(not HUGE_PAGES.exists(), reason="this system has no transparent huge pages")
def test_huge_pages_are_asked_for_where_memory_is_large():
    def asked_bytes(array):
        first, found = array.ctypes.data, 0
        last = first + array.nbytes
        for area in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE)[
            1:
        ]:
            start, end = (int(address, 16) for address in area.split()[0].split("-"))
            if " hg" in re.search(r"^VmFlags:(.*)", area, re.MULTILINE)[1]:
                found += max(0, min(end, last) - max(start, first))
        return found

    n = 1 << 21
    local, own, small = alone(
        lambda: [
            smpy.shared_array(n),
            smpy.partial_shared_array(n, private=[(0, n)]),
            smpy.partial_shared_array(1 << 18, private=[(0, 1 << 18)]),
        ]
    )
    assert [asked_bytes(array) for array in (local, own, small)] == [8 * n, 8 * n, 0]


def test_what_is_not_private_is_not_packed_at_any_address(emulated):
    source = """
import numpy as np
import smpy
from mpi4py import MPI
part, into = smpy.partial_shared_array(4, private=[(0, 2)]), np.zeros(4)
part[:] = 1, 2, -7, -7
at = lambda array: MPI.Datatype.Create_struct([4], [MPI.Get_address(array)], [MPI.DOUBLE]).Commit()
MPI.COMM_WORLD.Alltoallw([MPI.BOTTOM, [1], [0], [at(part)]], [MPI.BOTTOM, [1], [0], [at(into)]])
print(into)
MPI.COMM_WORLD.Alltoallw([part, [4], [0], [MPI.DOUBLE]], [into, [4], [0], [MPI.DOUBLE]])
print(into)
"""
    assert emulated(source, 1).out == "[1. 2. 0. 0.]\n" * 2


@pytest.mark.parametrize(
    "array", ["smpy.shared_array(4)", "smpy.partial_shared_array(4, private=[(0, 1)])", "smpy.folded(4)"]
)
@pytest.mark.parametrize(
    "call",
    [
        "Pack({}, bytearray(32), 0, MPI.COMM_WORLD)",
        "Unpack(bytearray(32), 0, {}, MPI.COMM_WORLD)",
        "Pack_external('external32', {}, bytearray(32), 0)",
        "Unpack_external('external32', bytearray(32), 0, {})",
    ],
)
def test_packing_what_has_no_bytes_of_its_own_is_refused(emulated, call, array):
    source = f"import smpy\nfrom mpi4py import MPI\nMPI.DOUBLE.{call.format(array)}"
    assert (
        f"{call.partition('(')[0]}: an array that is folded or shares its memory has no bytes"
        in emulated(source, 1).error
    )


def test_a_run_that_shared_something_says_so(smpy_run, tmp_path):
    source = "import smpy; {}"
    for call, is_folded in [
        ("smpy.shared_array(3)", True),
        ("smpy.partial_shared_array(3, private=[])", True),
        ("3", False),
    ]:
        path = tmp_path / "run.json"
        ran = smpy_run(source.format(call), 1, "--json", str(path))
        assert json.loads(path.read_text())["is_folded"] is is_folded
        assert ("not results" in ran.err) is is_folded


def test_messages_take_the_time_of_their_size():
    def main(make):
        def exchange(rank):
            from smpy.mpi import MPI

            MPI.COMM_WORLD.Sendrecv(make(), 1 - rank, recvbuf=np.empty(1 << 18), source=1 - rank)

        return run_world(2, exchange).finish_s

    ordinary = main(lambda: np.zeros(1 << 18))
    assert main(lambda: smpy.shared_array(1 << 18)) == ordinary
    assert main(lambda: smpy.partial_shared_array(1 << 18, private=[(7, 99_999)])) == ordinary


MANY = """
    import sys
    import smpy
    from mpi4py import MPI
    world, n = MPI.COMM_WORLD, 1 << 27
    rank, size = world.rank, world.size
    out, into = {}
    world.Sendrecv(out, (rank + 1) % size, recvbuf=into, source=(rank - 1) % size)
    world.Barrier()
"""
MAKE = {
    "local": "smpy.shared_array(n), smpy.shared_array(n)",
    "global": "smpy.shared_array(n, scope='global'), smpy.shared_array(n, scope='global')",
    "partial": "[smpy.partial_shared_array(n, private=[(0, 128), (n - 128, n)]) for _ in range(2)]",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKE)
def test_4096_ranks_with_gigabytes_each_take_kilobytes_each(smpy_run, tmp_path, kind):
    def peak_bytes(make):
        path = tmp_path / "run.json"
        ran = smpy_run(MANY.format(make), 4096, "--compute", "none", "--json", str(path))
        assert ran.code == 0, ran.err
        return json.loads(path.read_text())["host"]["peak_rss_bytes"]

    more = peak_bytes(MAKE[kind]) - peak_bytes("bytearray(8), bytearray(8)")
    assert math.ceil(more / 4096) < 30_000  # 8 pages that are touched at most, of which two zones share some tables


REAL = """
import numpy as np
from mpi4py import MPI

import smpy

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
made = {
    "local": lambda: smpy.shared_array((2, 3000)),
    "global": lambda: smpy.shared_array((2, 3000), scope="global"),
    "partial": lambda: smpy.partial_shared_array((2, 3000), private=[(0, 10), (5000, 6000)]),
}
for kind, make in made.items():
    out, into = make(), make()
    assert type(out) is np.ndarray and out.flags.owndata and not out.any() and not into.any(), kind
    out[...] = np.arange(6000.0).reshape(2, 3000) + 10_000 * rank
    world.Sendrecv(out, (rank + 1) % size, recvbuf=into, source=(rank - 1) % size)
    assert (into == np.arange(6000.0).reshape(2, 3000) + 10_000 * ((rank - 1) % size)).all(), kind
    assert (out == np.arange(6000.0).reshape(2, 3000) + 10_000 * rank).all(), kind
    total = make()
    world.Allreduce(out[0, :7], total[0, :7])
    world.Reduce(out[0, 5:9], into[1, 5:9], root=1)
    if rank == 1:
        print(kind, into[1, 4:10].tolist(), smpy.is_simulated())
for wrong in [lambda: smpy.shared_array(3, scope="none"), lambda: smpy.partial_shared_array(3, private=[(2, 1)])]:
    try:
        wrong()
    except ValueError as told:
        print(told, flush=True) if rank == 1 else None
"""


def test_under_a_real_mpi_they_are_ordinary_arrays(mpiexec, tmp_path):
    path = tmp_path / "arrays.py"
    path.write_text(REAL)
    lines = mpiexec(3, str(path)).splitlines()
    of_ranks = [float(10_000 * (0 + 1 + 2) + 3 * element) for element in range(5, 9)]
    for kind, line in zip(("local", "global", "partial"), lines, strict=False):
        assert line == f"{kind} {[3004.0, *of_ranks, 3009.0]} False"
    assert [line.split(":")[0] for line in lines[3:]] == ["shared_array", "partial_shared_array"]
