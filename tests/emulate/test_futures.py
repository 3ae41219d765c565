"""Pools of mpi4py run as they are: they spawn workers, share COMM_WORLD, and call MPI from threads of their own."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("mpi4py") is None, reason="mpi4py is not installed, whose Python parts these are"
)

PROGRAM = """
import os, sys, time
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor, MPICommExecutor, as_completed, get_comm_workers
def square(x):
    time.sleep(1)
    return x * x, MPI.COMM_WORLD.rank
def fail(x):
    raise ValueError(f"task {x}")
"""


def test_a_pool_spawns_workers_that_compute_at_the_same_time(emulated: Callable):
    ran = emulated(
        PROGRAM
        + """
if __name__ == "__main__":
    with MPIPoolExecutor(3) as pool:
        got = list(pool.map(square, range(6)))
        assert [x for x, _ in got] == [x * x for x in range(6)] and {rank for _, rank in got} == {0, 1, 2}
        assert pool.num_workers == 3 and 2 < MPI.Wtime() < 2.1
        try:
            pool.submit(fail, 7).result()
        except ValueError as error:
            assert str(error) == "task 7"
        assert sorted(future.result()[0] for future in as_completed([pool.submit(square, x) for x in (1, 2)])) == [1, 4]
    print("done", MPI.COMM_WORLD.size)
""",
        1,
        platform="default",
    )
    assert (ran.error, ran.out) == ("", "done 1\n")


def test_a_communicator_is_a_pool(emulated: Callable):
    ran = emulated(
        PROGRAM
        + """
with MPICommExecutor(MPI.COMM_WORLD, root=1) as pool:
    if pool is not None:
        got = list(pool.map(square, range(6), chunksize=2))
        assert [x for x, _ in got] == [x * x for x in range(6)] and {rank for _, rank in got} == {0, 2, 3}
        print(round(MPI.Wtime()))
""",
        4,
    )
    assert (ran.error, ran.out) == ("", "2\n")


@pytest.mark.slow
def test_ranks_of_a_run_of_mpi4py_futures_work_for_the_first(smpy_run: Callable):
    program = (
        PROGRAM
        + """
if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        got = list(pool.map(square, range(6)))
    print([x for x, _ in got], sorted({rank for _, rank in got}), round(MPI.Wtime()), sys.argv[1:])
"""
    )
    files = {"tasks.py": program}
    ran = smpy_run(None, 4, "--quiet", "-m", "mpi4py.futures", files=files, args=("tasks.py", "more"))
    assert (ran.code, ran.err, ran.out) == (0, "", "[0, 1, 4, 9, 16, 25] [1, 2, 3] 2 ['more']\n")


def test_a_pool_that_is_never_closed_is_closed_when_its_rank_ends(emulated: Callable):
    ran = emulated(
        PROGRAM
        + """
if __name__ == "__main__":
    pool = MPIPoolExecutor(2)
    future = pool.submit(square, 3)
    print("end")
""",
        1,
        platform="default",
    )
    assert (ran.error, ran.out) == ("", "end\n")
    assert 1 < ran.outcome.summary.makespan_s < 1.1


def test_pools_of_mpi4py_util_call_mpi_in_threads(emulated: Callable):
    ran = emulated(
        PROGRAM
        + """
from mpi4py.util.pool import Pool
if __name__ == "__main__":
    with Pool(2) as pool:
        result = pool.apply_async(square, (5,))
        assert not result.ready()
        result.wait(0.25)
        assert not result.ready() and result.get()[0] == 25
        assert [x for x, _ in pool.map(square, range(4))] == [0, 1, 4, 9]
    print(round(MPI.Wtime()))
""",
        1,
        platform="default",
    )
    assert (ran.error, ran.out) == ("", "3\n")
