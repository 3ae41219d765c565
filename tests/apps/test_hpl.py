"""HPL solves its system on every grid, whatever its variant, and its skeleton sends what its formulas say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.linpack.settings import BROADCASTS, FACTORISATIONS, SWAPS, Settings
from smpy.platforms.default_cluster import CORE_SPEED_FLOP_PER_S

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
    rows = overall(np.arange(matrix.n_rows), settings.nb, grid.row, grid.n_rows)
    multipliers = matrix.a[rows[:, None] > columns[None, :]]
    assert np.abs(multipliers).max(initial=0.0) <= 1.0, settings  # the pivot was the largest of its column
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
    [
        pytest.param(*variant, marks=[pytest.mark.slow] * ((i + i // 6) % 2))  # of each grid every second
        for i, variant in enumerate(variants())
    ],
    ids=["-".join(("x".join(map(str, grid)), *choices.values())) for grid, choices in variants()],
)
def test_the_residual_is_small(emulated: Callable[..., Any], grid: tuple[int, int], choices: dict[str, str]) -> None:
    ran = emulated(None, grid[0] * grid[1], program=str(HPL), args=arguments(75, 8, grid, choices))
    assert passes(ran.out), ran.out + ran.err


def test_the_solution_is_that_of_numpy(emulated: Callable[..., Any]) -> None:
    ran = emulated(comparison(every_choice((3, 2), 75, 8)), 6)
    assert ran.out == "all are right\n", ran.err


@pytest.mark.campaign
@pytest.mark.parametrize("grid", [(2, 3), (1, 4), (2, 2), (4, 4), (4, 1)])
def test_a_system_of_a_thousand_equations_is_solved(emulated: Callable[..., Any], grid: tuple[int, int]) -> None:
    ran = emulated(comparison(every_choice(grid, 1000, 64)), grid[0] * grid[1])
    assert ran.out == "all are right\n", ran.err


@pytest.mark.campaign
def test_a_real_mpiexec_solves_a_thousand_equations(mpiexec: Callable[..., str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(comparison(every_choice((2, 2), 1000, 64)))
    assert mpiexec(4, str(program)) == "all are right\n"


@pytest.mark.slow
def test_a_real_mpiexec_solves_it_too(mpiexec: Callable[..., str]) -> None:
    real = mpiexec(4, str(HPL), *arguments(200, 32, (2, 2), {"depth": "1", "swap": "long"}))
    assert passes(real), real


# Counts the panels that live on after each system, while nobody looks for cycles of references.
PANELS = """
import gc, sys, weakref
sys.path.insert(0, {apps!r})
from mpi4py import MPI
from linpack import solve
from linpack.grid import Grid
from linpack.kernels import Numbers
from linpack.panel import Matrix, Panel
from linpack.problem import generate
from linpack.settings import Settings

panels = weakref.WeakSet()

def new_panel(*facts):
    panel = Panel(*facts)
    panels.add(panel)
    return panel

solve.Panel = new_panel
gc.disable()
left = []
for settings in {settings}:
    grid = Grid(MPI.COMM_WORLD, settings.p, settings.q, settings.pmap)
    matrix = Matrix(grid, Numbers(), settings)
    generate(matrix, grid)
    solve.solve(grid, matrix, Numbers(), settings)
    left.append(len(panels))
    grid.free()
n_left = MPI.COMM_WORLD.reduce(sum(left))
if MPI.COMM_WORLD.rank == 0:
    print(n_left, "are left")
"""


@pytest.mark.slow
def test_a_panel_that_is_through_keeps_no_memory(smpy_run: Callable[..., Any]) -> None:
    """Run in a process of its own: the program changes objects that other tests would use."""
    ran = smpy_run(PANELS.format(apps=str(APPS), settings=every_choice((2, 2), 75, 8)), 4, "--quiet")
    assert (ran.code, ran.out) == (0, "0 are left\n"), ran.err


SINGULAR = """
import sys
sys.path.insert(0, {apps!r})
import hpl
hpl.generate = lambda matrix, grid: None  # zeros
sys.argv = ["hpl.py", "--dat", {dat!r}, "--p", "2", "--q", "1"]
sys.exit(hpl.main())
"""


def dat(**changed: str) -> str:
    """An HPL.dat of two systems of equations, on 1 x 2 and 2 x 1 ranks, with some lines changed."""
    values = {
        "out": "HPL.out", "device": "6", "n_ns": "2", "ns": "24 30", "n_nbs": "1", "nbs": "8", "pmap": "1",
        "n_grids": "1", "ps": "1 9", "qs": "2 9", "threshold": "16.0", "n_pfacts": "1", "pfacts": "2",
        "n_nbmins": "1", "nbmins": "4", "n_ndivs": "1", "ndivs": "2", "n_rfacts": "1", "rfacts": "1",
        "n_bcasts": "1", "bcasts": "3", "n_depths": "1", "depths": "0", "swap": "2", "swap_threshold": "64",
        "l1": "0", "u": "0", "equil": "1", "alignment": "8",
    }  # fmt: skip
    assert changed.keys() <= values.keys()
    return "title\ntitle\n" + "".join(f"{value}   what it is\n" for value in (values | changed).values())


def test_a_singular_matrix_is_skipped_and_the_next_run_made(emulated: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "some.dat").write_text(dat())
    ran = emulated(SINGULAR.format(apps=str(APPS), dat=str(tmp_path / "some.dat")), 4)
    assert ran.code == 1
    assert ran.err.count("Error code returned by solve is 1, skip") == 2
    assert "2 tests skipped because of illegal input values." in ran.out


@pytest.mark.slow
def test_a_real_mpiexec_goes_on_after_a_singular_matrix(mpiexec: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "some.dat").write_text(dat())
    (tmp_path / "program.py").write_text(SINGULAR.format(apps=str(APPS), dat=str(tmp_path / "some.dat")))
    with pytest.raises(AssertionError, match="2 tests skipped because of illegal input values"):  # its exit code is 1
        mpiexec(4, str(tmp_path / "program.py"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"n_ns": "0"}, "a number of values is at least 1, not 0"),
        ({"n_grids": "-1"}, "a number of values is at least 1, not -1"),
        ({"threshold": "nan"}, "line 13: expected a number"),
        ({"bcasts": "6"}, "6 is none of 0 (1ring), 1 (1ringM)"),
        ({"ns": "24"}, "line 6: expected 2 whole numbers"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused(
    emulated: Callable[..., Any], tmp_path: Path, changed: dict[str, str], says: str
) -> None:
    (tmp_path / "HPL.dat").write_text(dat(**changed))
    ran = emulated(None, 2, program=str(HPL))
    assert ran.code == 2
    assert ran.err.count(says) == 1


def test_a_file_in_any_encoding_is_read_and_what_it_repeats_is_done_twice(
    emulated: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "HPL.dat").write_bytes(dat(ns="24 24").replace("title", "für alle").encode("latin-1"))
    ran = emulated(None, 2, program=str(HPL))
    assert "2 tests completed and passed" in ran.out, ran.err


def test_runs_that_a_flag_makes_alike_are_one(emulated: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(dat())
    ran = emulated(None, 2, program=str(HPL), args=("--n", "20"))
    assert "1 tests completed and passed" in ran.out, ran.err


def test_settings_come_from_a_file_and_flags_override_them(emulated: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "some.dat"
    path.write_text(dat())
    ran = emulated(None, 2, program=str(HPL), args=("--dat", str(path), "--bcast", "longM"))
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


def test_the_skeleton_takes_time_in_proportion_to_the_kernels(emulated: Callable[..., Any]) -> None:
    times_s = []
    for scale in (1, 1000):
        kernels = ("--skeleton", "--dgemm-s", f"{scale}e-9", "--dtrsm-s", f"{scale}e-9")
        ran = emulated(None, 1, program=str(HPL), args=(*arguments(256, 32, (1, 1), {}), *kernels))
        times_s.append(ran.outcome.summary.makespan_s)
    assert np.isclose(times_s[1] / times_s[0], 1000, rtol=0.01)


@pytest.mark.parametrize("swap", ["bin-exch", "long"])
def test_a_skeleton_with_memory_takes_the_same_time(emulated: Callable[..., Any], swap: str) -> None:
    words = (*arguments(300, 16, (3, 2), {"swap": swap, "depth": "1"}), "--skeleton")
    folded, unfolded = (emulated(None, 6, program=str(HPL), args=(*words, *more)) for more in ((), ("--unfolded",)))
    assert unfolded.out == folded.out
    assert unfolded.outcome.summary.makespan_s == folded.outcome.summary.makespan_s
    assert (unfolded.outcome.summary.is_folded, folded.outcome.summary.is_folded) == (False, True)


def test_the_default_kernels_stay_below_the_peak_of_the_default_clusters_core(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 1, program=str(HPL), args=("--n", "2000", "--nb", "100", "--skeleton"))
    flop_per_s = (2 / 3 * 2000**3 + 3 / 2 * 2000**2) / ran.outcome.summary.makespan_s
    assert 0.85 < flop_per_s / CORE_SPEED_FLOP_PER_S < 0.95


def test_the_skeleton_takes_the_costs_of_a_calibration(emulated: Callable[..., Any], tmp_path: Path) -> None:
    words = ("--n", "2000", "--nb", "100", "--p", "1", "--q", "2", "--skeleton")
    kernels = "".join(
        f"[kernels.{name}]\nsizes = {sizes}\nseconds = {{ {term} = {seconds} }}\n"
        for name, sizes, term, seconds in (
            ("dgemm", '["m", "n", "k"]', '"m*n*k"', "4e-9"),
            ("dtrsm_right", '["m", "n"]', '"m*n^2"', "2e-9"),
        )
    )
    (tmp_path / "machine.toml").write_text(
        f'[host]\ncount = 2\nspeed = "1Gf"\n[kernels]\nreference_speed = "1Gf"\n{kernels}'
    )
    machine = tmp_path / "machine.toml"
    told = emulated(
        None, 2, program=str(HPL), args=(*words, "--dgemm-s", "4e-9", "--dtrsm-s", "2e-9"), platform=machine
    )
    calibrated = emulated(None, 2, program=str(HPL), args=(*words, "--calibrated"), platform=machine)
    assert told.error == calibrated.error == ""
    assert calibrated.outcome.summary.makespan_s == pytest.approx(told.outcome.summary.makespan_s, rel=1e-9)


@pytest.mark.parametrize(
    "words", [("--calibrated",), ("--unfolded",), ("--device",), ("--dgemm-s", "1e-9"), ("--dtrsm-s", "1e-9")]
)
def test_what_is_said_of_modelled_kernels_goes_with_the_skeleton(emulated: Callable, words: tuple[str, ...]):
    ran = emulated(None, 1, program=str(HPL), args=("--n", "9", *words))
    assert ran.outcome.exit_code == 2
    assert f"{words[0]} is of modelled kernels: it goes with --skeleton" in ran.err


def test_a_cost_is_told_once(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 1, program=str(HPL), args=("--n", "9", "--skeleton", "--calibrated", "--dgemm-s", "1e-9"))
    assert "--calibrated and --dgemm-s or --dtrsm-s both say what kernels cost: give one of them" in ran.err


def test_the_skeleton_is_refused_under_a_real_mpiexec(mpiexec: Callable[..., str]) -> None:
    with pytest.raises(AssertionError, match="run it under `smpy run`"):
        mpiexec(1, str(HPL), "--n", "10", "--skeleton")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--n", "x"), "argument --n: invalid int value: 'x'"),
        (("--dgemm-s", "-1"), "argument --dgemm-s: -1 is no finite time"),
        (("--dat", "missing.dat"), "missing.dat: No such file"),
        (("--nb", "0"), "nb = 0: it is at least 1"),
        (("--n", "-5"), "n = -5: it is at least 0"),
    ],
)
def test_a_bad_argument_is_refused_once(emulated: Callable[..., Any], arguments: tuple[str, ...], says: str) -> None:
    ran = emulated(None, 3, program=str(HPL), args=arguments)
    assert ran.code == 2
    assert ran.err.count(says) == 1


DEVICES = (
    "flat hosts=2 cores=2 speed=10Gf host.gpu.count=2 host.gpu.speed_64=1Tf host.gpu.memory_bandwidth=1TB/s "
    "host.gpu.link_bandwidth=20GB/s"
)


def test_devices_update_the_matrix_of_a_skeleton(emulated: Callable[..., Any]) -> None:
    words = (*arguments(2000, 100, (2, 2), {}), "--skeleton")
    host, device = (
        emulated(None, 4, program=str(HPL), args=(*words, *more), platform=DEVICES) for more in ((), ("--device",))
    )
    assert device.outcome.summary.shares.device > 0.02
    assert host.outcome.summary.shares.device == 0
    updates_s = 2 / 3 * 2000**3 / 4 / 1e12
    assert 4 * updates_s < device.outcome.summary.makespan_s < host.outcome.summary.makespan_s / 2


def test_faster_devices_shorten_a_skeleton_by_their_part_of_it(emulated: Callable[..., Any]) -> None:
    words = (*arguments(2000, 100, (1, 1), {"depth": "0"}), "--skeleton", "--device")
    machines = (
        DEVICES.replace("memory_bandwidth=1TB/s", "memory_bandwidth=0"),
        DEVICES.replace("=1TB/s", "=0").replace("=1Tf", "=2Tf"),
    )
    slow, fast = (
        emulated(None, 1, program=str(HPL), args=words, platform=machine).outcome.summary for machine in machines
    )
    update_flop = sum(2 * m * (m + 1) * 100 + (m + 1) * 100**2 for m in range(1900, 0, -100))
    assert slow.makespan_s - fast.makespan_s == pytest.approx(update_flop / 2e12, rel=1e-3)
