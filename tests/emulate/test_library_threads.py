"""Measured computing of threaded libraries: the processor time of their threads, spread over the cores of a rank."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.compute.clock import library_threads
from smpy.compute.clock.library_threads import LibraryThreads, parallel_parts
from smpy.emulate.process.blas_threads import threads_here

MACHINE = "flat hosts=2 cores=8 speed=1Gf"


@given(st.floats(0, 100), st.floats(0, 100), st.integers(2, 64))
def test_serial_and_parallel_parts_of_a_burst_are_found_again(serial_s: float, parallel_s: float, n_here: int):
    own_s = parallel_s / n_here
    rest_s, work_s = parallel_parts(serial_s + own_s, parallel_s - own_s, n_here)
    assert rest_s == pytest.approx(serial_s, abs=1e-9)
    assert work_s == pytest.approx(parallel_s, abs=1e-9)


class Charges:
    """An engine with ranks of eight cores of 1 Gf, which keeps what it is charged."""

    cpus_per_task = 8

    def __init__(self) -> None:
        self.parallel: list[tuple[float, int]] = []

    def speed_flop_per_s(self) -> float:
        return 1e9

    def add_parallel_burst(self, flop: float, n_threads: int) -> None:
        self.parallel.append((flop, n_threads))


def test_work_of_all_threads_is_divided_by_the_cores_of_the_rank(monkeypatch: pytest.MonkeyPatch):
    all_s, own_s = iter([10.0, 20.0, 25.0]), iter([4.0, 8.0, 13.0])
    monkeypatch.setattr(library_threads, "_all_threads_s", lambda: next(all_s))
    monkeypatch.setattr(library_threads, "_own_thread_s", lambda: next(own_s))
    engine = Charges()
    threads = LibraryThreads(engine, 4, 2e9)  # type: ignore[arg-type]  # what it asks of an engine
    assert threads.split(4.0) == (2.0, 0.0)  # others took 6 s: 2 s in four threads, which are 8 s of work
    assert engine.parallel == [(8.0 / 8 * 2e9, 8)]
    assert threads.split(5.0) == (5.0, 0.0)
    assert (len(engine.parallel), threads.total_s) == (1, 8.0)


def test_libraries_get_the_threads_of_a_rank_or_the_processors_there_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.emulate.process.blas_threads.usable_processors", lambda: (0, 1, 2))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [threads_here(n) for n in (1, 2, 3, 64)] == [1, 2, 3, 3]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert threads_here(1) == 5


PROGRAM = """
import numpy as np
from mpi4py import MPI
a = np.full((700, 700), 0.5)
for _ in range(10):
    a @ a / 700
"""


def test_a_measured_run_tells_how_its_library_threads_were_spread(smpy_run: Callable):
    ran = smpy_run(PROGRAM, 1, "--cpus-per-task", "2", "--platform", MACHINE)
    assert ran.code == 0
    assert "cores          2 of each rank (--cpus-per-task), on one socket\n" in ran.err + ran.out


@pytest.mark.parametrize("option", ["--cpus-per-task", "--ppn"])
def test_a_run_of_one_core_says_nothing_of_cores(smpy_run: Callable, option: str):
    ran = smpy_run("", 1, option, "1", "--platform", MACHINE)
    assert "  cores " not in ran.err + ran.out
