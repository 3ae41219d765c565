"""Conjugate gradients find the known solution, with a matrix that is the same for any number of ranks."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

APPS = Path(__file__).parents[2] / "apps"
SOLVER = APPS / "conjugate_gradient.py"
RESULT = re.compile(
    r"(\d+) rows, \d+ long links a point, (\d+) iterations, relative residual (\S+), relative error (\S+)"
)

PRODUCT = f"""
import sys
sys.path.insert(0, {str(APPS)!r})
import numpy as np
from conjugate_gradient import Matrix, Options, block, make_rows
from mpi4py import MPI

comm, (n, links) = MPI.COMM_WORLD, map(int, sys.argv[1:])
mine = block(n * n, comm.size, comm.rank)
matrix = Matrix(comm, n * n, make_rows(mine, Options(n, links, 1e-8, 100)))
columns = [matrix.times(np.eye(n * n)[mine.start : mine.stop, column]) for column in range(n * n)]
parts = comm.gather(np.array(columns).T.reshape(len(mine), n * n))
exchanged = comm.gather((len(matrix.entries) - len(mine), len(matrix.asked)))
if comm.rank == 0:
    np.save("matrix.npy", np.concatenate(parts))
    np.save("exchanged.npy", exchanged)
"""

CASES = [(1, 5, 2), (2, 4, 0), (3, 5, 1), (7, 6, 3), (16, 4, 2), (11, 3, 1)]
"""Ranks, points a side and long links a point; in the last there are ranks without a row."""


def dense(n: int, links: int) -> NDArray[np.float64]:
    """The matrix, from its description."""
    chain = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    a = np.kron(chain, np.eye(n)) + np.kron(np.eye(n), chain)
    for centre in np.random.default_rng(1).integers(n * n, size=links):
        a += np.eye(n * n)
        for row in range(n * n):
            a[row, (centre - row) % (n * n)] -= 1.0
    return a


def serial(n: int, links: int, tolerance: float) -> tuple[int, float, float]:
    """Iterations, relative residual and relative error, by the textbook."""
    a, truth = dense(n, links), np.cos(np.arange(n * n))
    b = a @ truth
    x, r, p, iterations = np.zeros(n * n), b, b, 0
    while np.linalg.norm(r) > tolerance * np.linalg.norm(b):
        alpha = (r @ r) / (p @ a @ p)
        x, before, r = x + alpha * p, r, r - alpha * (a @ p)
        p = r + (r @ r) / (before @ before) * p
        iterations += 1
    return iterations, np.linalg.norm(b - a @ x) / np.linalg.norm(b), np.linalg.norm(x - truth) / np.linalg.norm(truth)


def numbers(printed: str) -> tuple[int, float, float]:
    """Iterations, relative residual and relative error, as printed."""
    found = RESULT.search(printed)
    assert found, printed
    return int(found[2]), float(found[3]), float(found[4])


@pytest.mark.parametrize(("n_ranks", "n", "links"), CASES)
def test_each_column_of_the_matrix_is_the_product_with_a_unit_vector(
    emulated: Callable[..., Any], n_ranks: int, n: int, links: int
) -> None:
    ran = emulated(PRODUCT, n_ranks, args=(str(n), str(links)))
    assert ran.code == 0, ran.error
    assert np.array_equal(np.load("matrix.npy"), dense(n, links))


@pytest.mark.parametrize("n_ranks", [1, 4, 7])
def test_a_product_exchanges_no_entry_that_nobody_needs(emulated: Callable[..., Any], n_ranks: int) -> None:
    n, links = 6, 2
    emulated(PRODUCT, n_ranks, args=(str(n), str(links)))
    received, sent = np.load("exchanged.npy").T
    owner = np.repeat(np.arange(n_ranks), np.diff(np.arange(n_ranks + 1) * n * n // n_ranks))
    for rank in range(n_ranks):
        tied = {column for row, column in np.argwhere(dense(n, links)) if owner[row] == rank}
        assert received[rank] == sum(owner[column] != rank for column in tied)
    assert sent.sum() == received.sum()


@pytest.mark.parametrize("links", [0, 1, 3])
def test_the_matrix_is_symmetric_and_positive_definite(emulated: Callable[..., Any], links: int) -> None:
    emulated(PRODUCT, 3, args=("7", str(links)))
    a = np.load("matrix.npy")
    assert np.array_equal(a, a.T)
    assert np.linalg.eigvalsh(a).min() > 0


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("links", [0, 2])
def test_the_printed_numbers_are_those_of_a_serial_solver(
    emulated: Callable[..., Any], n_ranks: int, links: int
) -> None:
    arguments = ("--n", "10", "--links", str(links), "--tolerance", "1e-6")
    ran = emulated(None, n_ranks, program=str(SOLVER), args=arguments)
    assert ran.code == 0, ran.error
    iterations, residual, error = numbers(ran.out)
    expected = serial(10, links, 1e-6)
    assert iterations == expected[0]
    assert residual == pytest.approx(expected[1], rel=1e-3)
    assert error == pytest.approx(expected[2], rel=1e-3)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-7, 1e-11])
def test_the_residual_is_within_the_tolerance_and_the_error_within_the_condition(
    emulated: Callable[..., Any], tolerance: float
) -> None:
    ran = emulated(None, 6, program=str(SOLVER), args=("--n", "9", "--tolerance", str(tolerance)))
    _, residual, error = numbers(ran.out)
    assert residual <= tolerance * 1.01
    assert error <= np.linalg.cond(dense(9, 1)) * residual


def test_no_more_iterations_are_made_than_asked_for(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 4, program=str(SOLVER), args=("--n", "20", "--iterations", "3"))
    iterations, residual, _ = numbers(ran.out)
    assert iterations == 3
    assert residual > 1e-8


def test_one_row_is_solved_at_once_by_any_number_of_ranks(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 3, program=str(SOLVER), args=("--n", "1"))
    assert numbers(ran.out) == (1, 0.0, 0.0)


@pytest.mark.slow
def test_a_real_mpiexec_prints_the_same(emulated: Callable[..., Any], mpiexec: Callable[..., str]) -> None:
    arguments = ("--n", "32", "--links", "2")
    real = mpiexec(5, str(SOLVER), *arguments)
    ran = emulated(None, 5, program=str(SOLVER), args=arguments)
    assert ran.out.splitlines()[0] == real.splitlines()[0]


@pytest.mark.slow
def test_64_ranks_print_what_one_rank_prints(emulated: Callable[..., Any]) -> None:
    first, second = (emulated(None, n_ranks, program=str(SOLVER)).out.splitlines()[0] for n_ranks in (1, 64))
    assert first == second
