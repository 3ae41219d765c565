"""HPL solves its system on every grid, whatever its variant, and its skeleton sends what its formulas say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, product
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.linpack.settings import BROADCASTS, FACTORISATIONS, SWAPS, Settings

pytest.importorskip("scipy")
APPS = Path(__file__).parents[2] / "apps"
HPL = APPS / "hpl.py"
GRIDS = ((2, 2), (2, 3), (4, 4), (1, 4), (4, 1), (3, 2), (5, 1))

# Solves with each of the settings, and compares with numpy, which solves the same system on every rank.
COMPARISON = """
import sys
sys.path.insert(0, {apps!r})
import numpy as np
from mpi4py import MPI
from linpack.cyclic import overall
from linpack.grid import Grid
from linpack.kernels import Numbers
from linpack.panel import Matrix
from linpack.problem import check, generate
from linpack.settings import Settings
from linpack.solve import solve

x = None
for settings in {settings}:
    grid = Grid(MPI.COMM_WORLD, settings.p, settings.q, settings.pmap)
    matrix = Matrix(grid, Numbers(), settings)
    generate(matrix, grid)
    columns = overall(np.arange(matrix.n_columns), settings.nb, grid.column, grid.n_columns)
    if x is None:
        system = np.zeros((settings.n, settings.n + 1))
        rows = overall(np.arange(matrix.n_rows), settings.nb, grid.row, grid.n_rows)
        system[np.ix_(rows, columns)] = matrix.a
        grid.all.Allreduce(MPI.IN_PLACE, system)
        x = np.linalg.solve(system[:, :-1], system[:, -1])
    solve(grid, matrix, Numbers(), settings)
    mine = x[columns[columns < settings.n]]
    assert np.abs(matrix.x - mine).max(initial=0.0) < 1e-9 * np.abs(x).max(), settings
    residual = check(matrix, grid)
    assert 0.0 < residual.scaled < 16.0, (settings, residual)
    grid.free()
if MPI.COMM_WORLD.rank == 0:
    print("all are right")
"""


def comparison(settings: list[Settings]) -> str:
    return COMPARISON.format(apps=str(APPS), settings=settings)


def every_choice(grid: tuple[int, int], n: int, nb: int) -> list[Settings]:
    """Settings of which each value of each choice stands in one at least."""
    choices = zip(BROADCASTS, product(SWAPS, (0, 1)), cycle(FACTORISATIONS), (2, 3, 4, 2, 5, 8), strict=False)
    return [
        Settings(n, nb, *grid, pfact=fact, rfact=FACTORISATIONS[-1 - i % 3], bcast=bcast, swap=swap, depth=depth,
                 nbmin=nbmin, ndiv=2 + i % 2, equil=i % 2 == 0, pmap=("row", "column")[i // 3])
        for i, (bcast, (swap, depth), fact, nbmin) in enumerate(choices)
    ]  # fmt: skip


def variants() -> Iterator[tuple[tuple[int, int], dict[str, str]]]:
    """Every grid with every swap and depth; the other choices take turns."""
    others = zip(cycle(product(FACTORISATIONS, FACTORISATIONS)), cycle(BROADCASTS), cycle(("row", "column")))
    for grid, swap, depth in product(GRIDS, SWAPS, ("0", "1")):
        (pfact, rfact), bcast, pmap = next(others)
        yield grid, {"swap": swap, "depth": depth, "pfact": pfact, "rfact": rfact, "bcast": bcast, "pmap": pmap}


def arguments(n: int, nb: int, grid: tuple[int, int], choices: dict[str, str]) -> tuple[str, ...]:
    flags = {"n": n, "nb": nb, "p": grid[0], "q": grid[1], "nbmin": 3, **choices}
    return tuple(word for name, value in flags.items() for word in (f"--{name}", str(value)))


def passes(printed: str) -> bool:
    return "PASSED" in printed and "1 tests completed and passed" in printed


@pytest.mark.parametrize(
    ("grid", "choices"),
    list(variants()),
    ids=["-".join(("x".join(map(str, grid)), *choices.values())) for grid, choices in variants()],
)
def test_the_residual_is_small(emulated: Callable[..., Any], grid: tuple[int, int], choices: dict[str, str]) -> None:
    ran = emulated(None, grid[0] * grid[1], program=str(HPL), args=arguments(75, 8, grid, choices))
    assert passes(ran.out), ran.out + ran.err


def test_the_solution_is_that_of_numpy(emulated: Callable[..., Any]) -> None:
    ran = emulated(comparison(every_choice((3, 2), 75, 8)), 6)
    assert ran.out == "all are right\n", ran.err


@pytest.mark.slow
@pytest.mark.parametrize("grid", [(2, 2), (2, 3), (4, 4), (1, 4), (4, 1)])
def test_a_system_of_a_thousand_equations_is_solved(emulated: Callable[..., Any], grid: tuple[int, int]) -> None:
    ran = emulated(comparison(every_choice(grid, 1000, 64)), grid[0] * grid[1])
    assert ran.out == "all are right\n", ran.err


@pytest.mark.slow
def test_a_real_mpiexec_solves_a_thousand_equations(mpiexec: Callable[..., str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(comparison(every_choice((2, 2), 1000, 64)))
    assert mpiexec(4, str(program)) == "all are right\n"


def test_a_real_mpiexec_solves_it_too(mpiexec: Callable[..., str]) -> None:
    real = mpiexec(4, str(HPL), *arguments(200, 32, (2, 2), {"depth": "1", "swap": "long"}))
    assert passes(real), real


def test_settings_come_from_a_file_and_flags_override_them(emulated: Callable[..., Any], tmp_path: Path) -> None:
    values = ("HPL.out", "6", "2", "24 30", "1", "8", "1", "1", "1 9", "2 9", "16.0", "1", "2", "1", "4", "1", "2", "1")
    values = (*values, "1", "1", "3", "1", "0", "2", "64", "0", "0", "1", "8")
    dat = tmp_path / "some.dat"
    dat.write_text("title\ntitle\n" + "".join(f"{value}   what it is\n" for value in values))
    ran = emulated(None, 2, program=str(HPL), args=("--dat", str(dat), "--bcast", "longM"))
    assert ran.out.count("WC05C2R4") == 2, ran.out + ran.err
    assert "2 tests completed and passed" in ran.out


@pytest.mark.parametrize(("flags", "grid"), [((), (2, 3)), (("--p", "1"), (1, 6)), (("--q", "2"), (3, 2))])
def test_without_a_file_all_ranks_take_part(
    emulated: Callable[..., Any], flags: tuple[str, ...], grid: tuple[int, int]
) -> None:
    ran = emulated(None, 6, program=str(HPL), args=("--n", "60", "--nb", "8", *flags))
    assert passes(ran.out), ran.err
    assert f"60     8 {grid[0]:5d} {grid[1]:5d}" in ran.out


def test_a_grid_larger_than_the_world_is_refused(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 2, program=str(HPL), args=("--p", "2", "--q", "2"))
    assert ran.code == 2
    assert "a grid of 2 x 2 needs as many ranks, there are 2" in ran.err


def test_the_skeleton_sends_the_messages_of_the_formulas(emulated: Callable[..., Any]) -> None:
    n, nb, p, q = 480, 16, 4, 2
    choices = {"swap": "bin-exch", "depth": "0", "bcast": "1ring"}
    ran = emulated(None, p * q, program=str(HPL), args=(*arguments(n, nb, (p, q), choices), "--skeleton"))
    panels = n // nb
    pivots = n * p * int(log2(p))
    broadcasts = panels * p * (q - 1)
    least = pivots + broadcasts + panels * q * (p - 1) - q * (p - 1)  # each panel's U reaches all rows of the grid
    assert "1 tests completed without checking" in ran.out
    assert least <= ran.outcome.summary.messages <= least + panels * q * p * int(log2(p)) + 4 * panels * p


def test_the_skeleton_takes_time_in_proportion_to_the_kernels(emulated: Callable[..., Any]) -> None:
    times_s = []
    for scale in (1, 1000):
        kernels = ("--skeleton", "--dgemm-s", f"{scale}e-9", "--dtrsm-s", f"{scale}e-9")
        ran = emulated(None, 1, program=str(HPL), args=(*arguments(256, 32, (1, 1), {}), *kernels))
        times_s.append(ran.outcome.summary.makespan_s)
    assert np.isclose(times_s[1] / times_s[0], 1000, rtol=0.01)


def test_the_skeleton_is_refused_under_a_real_mpiexec(mpiexec: Callable[..., str]) -> None:
    with pytest.raises(AssertionError, match="run it under `smpy run`"):
        mpiexec(1, str(HPL), "--n", "10", "--skeleton")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--n", "x"), "argument --n: invalid int value: 'x'"),
        (("--dgemm-s", "-1"), "argument --dgemm-s: invalid"),
        (("--dat", "missing.dat"), "missing.dat: No such file"),
        (("--nb", "0"), "nb = 0: it is at least 1"),
    ],
)
def test_a_bad_argument_is_refused_once(emulated: Callable[..., Any], arguments: tuple[str, ...], says: str) -> None:
    ran = emulated(None, 3, program=str(HPL), args=arguments)
    assert ran.code == 2
    assert ran.err.count(says) == 1
