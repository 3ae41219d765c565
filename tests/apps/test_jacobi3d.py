"""The three-dimensional Jacobi solver prints the numbers of one array, of a closed form, and of a real mpiexec."""

import re
from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

JACOBI = Path(__file__).parents[2] / "apps" / "jacobi3d.py"
RESULT = re.compile(r"jacobi3d: .* on (.*) ranks, (\d+) iterations, largest change (\S+), largest error (\S+)")


def numbers(printed: str) -> tuple[str, ...]:
    """Iterations, change and error, as printed."""
    found = RESULT.search(printed)
    assert found, printed
    return found.groups()[1:]


def serial(n: int, iterations: int) -> tuple[str, ...]:
    """Output of a serial computation: iterations, last change and error."""
    wave = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    truth = wave[:, None, None] * wave[:, None] * wave
    source = 3.0 * np.pi**2 * truth / (n + 1) ** 2
    u = np.zeros((n + 2, n + 2, n + 2))
    for _ in range(iterations):
        new = (u[:-2] + u[2:])[:, 1:-1, 1:-1] + (u[:, :-2] + u[:, 2:])[1:-1, :, 1:-1]
        new = (new + (u[:, :, :-2] + u[:, :, 2:])[1:-1, 1:-1] + source) / 6.0
        change = np.abs(new - u[1:-1, 1:-1, 1:-1]).max()
        u[1:-1, 1:-1, 1:-1] = new
    return str(iterations), f"{change:.12e}", f"{np.abs(u[1:-1, 1:-1, 1:-1] - truth).max():.12e}"


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5, 8, 12, 24])
def test_the_printed_numbers_are_those_of_one_array_and_a_loop(emulated: Callable[..., Any], n_ranks: int) -> None:
    ran = emulated(None, n_ranks, program=str(JACOBI), args=("--n", "11", "--iterations", "25"))
    assert ran.code == 0, ran.error
    assert numbers(ran.out) == serial(11, 25)


def test_ranks_lie_in_three_dimensions(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 12, program=str(JACOBI), args=("--n", "3", "--iterations", "1"))
    assert ran.out.startswith("jacobi3d: 3 x 3 x 3 points on 3 x 2 x 2 ranks, 1 iterations,")


def test_each_iteration_comes_nearer_by_the_cosine_of_the_step(emulated: Callable[..., Any]) -> None:
    step, iterations = 1 / 8, 30
    ran = emulated(None, 8, program=str(JACOBI), args=("--n", "7", "--iterations", str(iterations)))
    _, change, error = numbers(ran.out)
    limit = (pi * step / 2 / sin(pi * step / 2)) ** 2  # ratio of the discrete solution to the true one
    rate = cos(pi * step)
    assert float(change) == pytest.approx(limit * rate ** (iterations - 1) * (1 - rate), rel=1e-11)
    assert float(error) == pytest.approx(abs(limit * (1 - rate**iterations) - 1), rel=1e-11)


def test_the_error_of_the_solution_shrinks_with_the_square_of_the_step(emulated: Callable[..., Any]) -> None:
    errors = []
    for n in (3, 7):
        arguments = ("--n", str(n), "--iterations", "10000", "--tolerance", "1e-10")
        ran = emulated(None, 4, program=str(JACOBI), args=arguments)
        iterations, change, error = numbers(ran.out)
        assert float(change) <= 1e-10 < float(serial(n, int(iterations) - 10)[1])
        errors.append(float(error))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.03)


def test_more_ranks_than_points_are_refused(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 5, program=str(JACOBI), args=("--n", "4"))
    assert ran.code == 1
    assert "5 x 1 x 1 ranks are too many for 4 x 4 x 4 points" in ran.err


def test_a_real_mpiexec_prints_the_same(emulated: Callable[..., Any], mpiexec: Callable[..., str]) -> None:
    arguments = ("--n", "16", "--iterations", "30")
    real = mpiexec(6, str(JACOBI), *arguments)
    ran = emulated(None, 6, program=str(JACOBI), args=arguments)
    assert ran.out.splitlines()[0] == real.splitlines()[0]


@pytest.mark.slow
def test_1024_ranks_solve_the_default_problem(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 1024, program=str(JACOBI), args=("--iterations", "10"))
    assert numbers(ran.out) == serial(128, 10)
