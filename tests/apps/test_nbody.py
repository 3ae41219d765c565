"""Bodies on a ring of ranks move as they do in one loop, and keep what nature keeps."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

APPS = Path(__file__).parents[2] / "apps"
NBODY = APPS / "nbody.py"
RESULT = re.compile(r"energy (\S+) at the start and (\S+) at the end, centre of mass (\S+), (\S+), (\S+)\n")

POSITIONS = f"""
import sys
sys.path.insert(0, {str(APPS)!r})
import numpy as np
from mpi4py import MPI
from nbody import Options, block, make_bodies, simulate

comm = MPI.COMM_WORLD
options = Options(bodies=int(sys.argv[1]), steps=12, dt=0.01, softening=0.1, seed=2)
bodies = make_bodies(block(options.bodies, comm.size, comm.rank), options)
for name in ("start", "end", "back"):
    if name != "start":
        simulate(comm, bodies, options)
    parts = comm.gather(bodies.positions)
    if comm.rank == 0:
        np.save(name, np.concatenate(parts))
    if name == "end":
        bodies.velocities[:] *= -1
"""


class Moved(NamedTuple):
    """Result of a serial computation."""

    positions: NDArray[np.float64]
    energies: tuple[float, float]
    centre: NDArray[np.float64]
    momentum: NDArray[np.float64]


def serial(n: int, steps: int, dt: float, softening: float, seed: int) -> Moved:
    """Each pair once, by Newton's third law, in a loop over pairs."""
    drawn = np.random.default_rng(seed).random((n, 7))
    x, v, m = 2 * drawn[:, :3] - 1, drawn[:, 3:6] - 0.5, (drawn[:, 6] + 0.5) / n
    i, j = np.triu_indices(n, k=1)

    def forces_and_energy() -> tuple[NDArray[np.float64], float]:
        apart = x[j] - x[i]
        distance = np.sqrt((apart**2).sum(axis=1) + softening**2)
        force = (m[i] * m[j] / distance**3)[:, None] * apart
        a = np.zeros_like(x)
        np.add.at(a, i, force / m[i][:, None])
        np.add.at(a, j, -force / m[j][:, None])
        return a, float((m[:, None] * v**2).sum() / 2 - (m[i] * m[j] / distance).sum())

    a, before = forces_and_energy()
    for _ in range(steps):
        v += dt / 2 * a
        x += dt * v
        a, _ = forces_and_energy()
        v += dt / 2 * a
    return Moved(x, (before, forces_and_energy()[1]), m @ x / m.sum(), m @ v / m.sum())


def printed_by(emulated: Callable[..., Any], n_ranks: int, *arguments: str) -> list[float]:
    """Energy at the start, at the end, and the centre of mass."""
    ran = emulated(None, n_ranks, program=str(NBODY), args=arguments)
    assert ran.code == 0, ran.error
    found = RESULT.search(ran.out)
    assert found, ran.out
    return [float(word) for word in found.groups()]


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4, 7, 10, 25])
def test_positions_on_any_number_of_ranks_are_those_of_one_loop(emulated: Callable[..., Any], n_ranks: int) -> None:
    ran = emulated(POSITIONS, n_ranks, args=("20",))
    assert ran.code == 0, ran.error
    assert np.abs(np.load("start.npy") - serial(20, 0, 0.01, 0.1, 2).positions).max() == 0
    assert np.abs(np.load("end.npy") - serial(20, 12, 0.01, 0.1, 2).positions).max() < 1e-12


def test_bodies_whose_velocities_are_turned_round_go_back_to_where_they_came_from(emulated: Callable[..., Any]) -> None:
    emulated(POSITIONS, 3, args=("20",))
    start, end, back = (np.load(f"{name}.npy") for name in ("start", "end", "back"))
    assert np.abs(end - start).max() > 0.05
    assert np.abs(back - start).max() < 1e-12


@pytest.mark.parametrize("n_ranks", [1, 3, 8])
def test_the_printed_numbers_are_those_of_one_loop(emulated: Callable[..., Any], n_ranks: int) -> None:
    arguments = ("--bodies", "30", "--steps", "6", "--dt", "0.02", "--softening", "0.2", "--seed", "3")
    numbers = printed_by(emulated, n_ranks, *arguments)
    moved = serial(30, 6, 0.02, 0.2, 3)
    assert numbers[:2] == pytest.approx(moved.energies, rel=1e-9)
    assert numbers[2:] == pytest.approx(moved.centre, abs=1e-9)


def test_the_energy_drifts_by_the_square_of_the_step(emulated: Callable[..., Any]) -> None:
    drifts = []
    for steps, dt in ((8, 0.02), (16, 0.01)):
        start, end, *_ = printed_by(emulated, 4, "--bodies", "64", "--steps", str(steps), "--dt", str(dt))
        drifts.append(abs(end / start - 1))
    assert drifts[0] < 1e-3
    assert drifts[0] / drifts[1] == pytest.approx(4, rel=0.1)


def test_the_centre_of_mass_moves_in_a_straight_line(emulated: Callable[..., Any]) -> None:
    begun = serial(32, 0, 0.01, 0.05, 1)
    centre = printed_by(emulated, 5, "--bodies", "32", "--steps", "20", "--dt", "0.01")[2:]
    assert centre == pytest.approx(begun.centre + 20 * 0.01 * begun.momentum, abs=2e-9)


def test_one_body_goes_straight_on(emulated: Callable[..., Any]) -> None:
    start, end, *centre = printed_by(emulated, 2, "--bodies", "1", "--steps", "10", "--dt", "0.1")
    begun = serial(1, 0, 0.1, 0.05, 1)
    assert start == end == pytest.approx(begun.energies[0], rel=1e-9)
    assert centre == pytest.approx(begun.positions[0] + begun.momentum, abs=1e-9)


def test_a_real_mpiexec_prints_the_same(emulated: Callable[..., Any], mpiexec: Callable[..., str]) -> None:
    arguments = ("--bodies", "100", "--steps", "5")
    real = mpiexec(5, str(NBODY), *arguments)
    ran = emulated(None, 5, program=str(NBODY), args=arguments)
    assert ran.out.splitlines()[0] == real.splitlines()[0]


@pytest.mark.slow
def test_64_ranks_print_what_one_rank_prints(emulated: Callable[..., Any]) -> None:
    first, second = (
        emulated(None, n_ranks, program=str(NBODY), args=("--steps", "1")).out.splitlines()[0] for n_ranks in (1, 64)
    )
    assert first == second
