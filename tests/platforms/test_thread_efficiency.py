"""Parallel efficiencies of threads: their law between measured numbers, and the table [threads] of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import PlatformError
from smpy.platforms import ThreadEfficiency, read_machine
from smpy.platforms.machine import with_kernels
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.models.thread_efficiency import KERNEL_CLASSES, kernel_class
from smpy.platforms.own_format.writing import write_toml

LINE = "flat hosts=2 cores=64"
OPTIONS = [("threads.blas3.2", "0.98"), ("threads.blas3.64", "0.8"), ("threads.dgemv.4", "0.5")]


@given(st.floats(0, 1), st.integers(2, 128), st.integers(1, 1000))
def test_one_measured_number_gives_amdahls_law(serial: float, measured: int, n_threads: int):
    def speed_up(n: int) -> float:
        return 1 / (serial + (1 - serial) / n)

    known = ThreadEfficiency("other", ((measured, min(1.0, speed_up(measured) / measured)),))
    assert known.at(n_threads) * n_threads == pytest.approx(speed_up(n_threads), rel=1e-6)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5), st.integers(1, 200))
def test_efficiencies_are_those_that_were_measured_and_lie_in_range_elsewhere(parts: list[float], n_threads: int):
    points = tuple((2 << at, part) for at, part in enumerate(parts))
    known = ThreadEfficiency("blas1", points)
    assert [known.at(number) for number, _ in points] == parts
    assert known.at(1) == 1
    assert 0 < known.at(n_threads) <= 1


@pytest.mark.parametrize(
    "points", [(), ((1, 1.0),), ((4, 0.9), (2, 0.8)), ((2, 0.0),), ((2, 1.1),), ((2, float("nan")),)]
)
def test_points_that_are_no_efficiencies_are_refused(points: tuple[tuple[int, float], ...]):
    with pytest.raises(ValueError, match=r"efficiency of|numbers of threads from 2 on"):
        ThreadEfficiency("blas3", points)


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        ("dgemm zsymm dtrsm_left strmm cherk dsyr2k", "blas3"),
        ("dgemv dger cgeru dtrsv zhemv dgbmv", "blas2"),
        ("daxpy dcopy zdotc dscal dnrm2", "blas1"),
        ("dgetrf dpotrf zgeqrf dgesdd dorgqr", "lapack"),
        ("execute triad stencil", "other"),
    ],
)
def test_kernels_of_blas_and_lapack_have_the_class_of_their_name(kernels: str, expected: str):
    assert {kernel_class(kernel) for kernel in kernels.split()} == {expected}
    assert expected in KERNEL_CLASSES


def test_a_machine_keeps_its_efficiencies_in_toml_and_json(tmp_path: Path):
    machine = read_machine(LINE, 2, OPTIONS)
    assert [(each.kernel, each.points) for each in machine.threads] == [
        ("blas3", ((2, 0.98), (64, 0.8))), ("dgemv", ((4, 0.5),)),
    ]  # fmt: skip
    (tmp_path / "machine.toml").write_text(write_toml(machine))
    assert read_machine(tmp_path / "machine.toml", 2) == machine == machine_from_json(machine_to_json(machine).encode())
    plain = read_machine(LINE, 2)
    assert plain.threads == ()
    assert plain.fingerprint != machine.fingerprint
    (tmp_path / "threads.toml").write_text("[threads]\nblas3 = { 2 = 0.98, 64 = 0.8 }\ndgemv = { 4 = 0.5 }\n")
    assert with_kernels(plain, tmp_path / "threads.toml") == machine


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("threads.blas3.two", "0.9"), "'two' is no number of threads: write it such as 4 = 0.95"),
        (("threads.blas3.2", "1.5"), "threads.blas3: an efficiency of 1.5 with 2 threads: it is above 0 and at most 1"),
        (("threads.blas3.1", "1"), "numbers of threads from 2 on"),
        (("threads.blas3", "0.9"), "unknown key"),
    ],
)
def test_efficiencies_that_cannot_be_are_refused(option: tuple[str, str], message: str):
    with pytest.raises(PlatformError, match=message):
        read_machine(LINE, 2, [option])
