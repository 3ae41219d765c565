"""The Jacobi solver prints the same numbers alone, on simulated ranks, and under a real mpiexec."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

JACOBI = Path(__file__).parents[2] / "apps" / "jacobi.py"
RESULT = re.compile(r"jacobi: .* (\d+) x (\d+) ranks, (\d+) iterations, largest change (\S+), largest error (\S+)")


def numbers(printed: str) -> tuple[str, ...]:
    """Iterations, change and error, as printed."""
    found = RESULT.search(printed)
    assert found, printed
    return found.groups()[2:]


def serial(n: int, iterations: int) -> tuple[str, ...]:
    """Output of a serial computation: iterations, last change and error."""
    points = np.arange(1, n + 1) / (n + 1)
    truth = np.sin(np.pi * points[:, None]) * np.sin(np.pi * points[None, :])
    source = 2.0 * np.pi**2 * truth / (n + 1) ** 2
    u = np.zeros((n + 2, n + 2))
    for _ in range(iterations):
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + source)
        change = np.abs(new - u[1:-1, 1:-1]).max()
        u[1:-1, 1:-1] = new
    return str(iterations), f"{change:.12e}", f"{np.abs(u[1:-1, 1:-1] - truth).max():.12e}"


@pytest.mark.parametrize("n_ranks", [1, 2, 4, 6, 7])
def test_the_printed_numbers_are_those_of_one_array_and_a_loop(emulated: Callable[..., Any], n_ranks: int) -> None:
    ran = emulated(None, n_ranks, program=str(JACOBI), args=("--n", "33", "--iterations", "40"))
    assert ran.code == 0, ran.error
    assert numbers(ran.out) == serial(33, 40)


def test_enough_iterations_converge(emulated: Callable[..., Any]) -> None:
    arguments = ("--n", "15", "--iterations", "10000", "--tolerance", "1e-9")
    ran = emulated(None, 4, program=str(JACOBI), args=arguments)
    iterations, change, error = numbers(ran.out)
    assert int(iterations) < 10000
    assert float(change) <= 1e-9
    assert float(error) < 4e-3  # the discretisation's own, (pi h)^2 / 12


def test_more_ranks_than_points_are_refused(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 5, program=str(JACOBI), args=("--n", "3"))
    assert ran.code == 1
    assert "1 x 5 ranks are too many for 3 x 3 points" in ran.err


@pytest.mark.campaign
def test_4096_ranks_solve_the_default_problem(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 4096, program=str(JACOBI), args=("--iterations", "10"))
    assert numbers(ran.out) == serial(2048, 10)


@pytest.mark.parametrize("n_ranks", [1, 4, 6])
def test_a_real_mpiexec_prints_the_same(
    emulated: Callable[..., Any], mpiexec: Callable[..., str], n_ranks: int
) -> None:
    arguments = ("--n", "64", "--iterations", "30")
    real = mpiexec(n_ranks, str(JACOBI), *arguments)
    ran = emulated(None, n_ranks, program=str(JACOBI), args=arguments)
    assert ran.out.splitlines()[0] == real.splitlines()[0]
