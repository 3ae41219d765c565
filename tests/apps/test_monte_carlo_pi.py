"""The estimate of pi depends on samples, block and seed alone; the ranks share the work."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[2] / "apps" / "monte_carlo_pi.py"
RESULT = re.compile(
    r"^monte_carlo_pi: (\d+) of (\d+) points inside, estimate (\S+), error (\S+), standard error (\S+)$", re.MULTILINE
)
TIME = re.compile(r"^time: (\S+) s on (\d+) ranks$", re.MULTILINE)

CLUSTER = """
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1.25GBps" lat="1us"/></platform>
"""
COSTLY = """
import sys
sys.path.insert(0, {folder!r})
import monte_carlo_pi
import smpy

def points_inside(seed, block, n_points):
    smpy.execute(1e3 * n_points)
    return n_points

monte_carlo_pi.points_inside = points_inside
monte_carlo_pi.main()
"""


def serial(samples: int, block: int, seed: int) -> int:
    """The points inside, with streams spawned one after the other."""
    sizes = [min(block, samples - first) for first in range(0, samples, block)]
    n_inside = 0
    for stream, size in zip(np.random.SeedSequence(seed).spawn(len(sizes)), sizes, strict=True):
        points = np.random.default_rng(stream).random(2 * size)
        n_inside += sum(x**2 + y**2 < 1 for x, y in zip(points[:size], points[size:], strict=True))
    return int(n_inside)


def flags(samples: int, block: int, seed: int = 1) -> tuple[str, ...]:
    return ("--samples", str(samples), "--block", str(block), "--seed", str(seed))


def result(printed: str) -> tuple[str, ...]:
    found = RESULT.search(printed)
    assert found, printed
    return found.groups()


@pytest.mark.parametrize("n_ranks", [1, 2, 7, 40])
@pytest.mark.parametrize(("samples", "block"), [(10000, 1000), (10001, 333), (7, 100)])
def test_the_points_are_those_of_a_loop_over_blocks_on_any_number_of_ranks(
    emulated: Callable[..., Any], n_ranks: int, samples: int, block: int
) -> None:
    ran = emulated(None, n_ranks, program=str(PROGRAM), args=flags(samples, block, seed=5))
    assert ran.code == 0, ran.err
    assert result(ran.out)[:2] == (str(serial(samples, block, seed=5)), str(samples))


@pytest.mark.slow
def test_1024_ranks_draw_the_points_of_one(emulated: Callable[..., Any]) -> None:
    alone, many = (result(emulated(None, n_ranks, program=str(PROGRAM)).out) for n_ranks in (1, 1024))
    assert many == alone


def test_estimate_error_and_standard_error_follow_from_the_points(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 4, program=str(PROGRAM), args=flags(2**18, 2**12))
    n_inside, n_points, estimate, error, standard_error = map(float, result(ran.out))
    share = n_inside / n_points
    assert estimate == pytest.approx(4 * share, abs=1e-12)
    assert error == pytest.approx(4 * share - math.pi, rel=1e-3)
    assert standard_error == pytest.approx(4 * math.sqrt(share * (1 - share) / n_points), rel=1e-3)
    assert abs(error) < 4 * standard_error


def test_another_seed_draws_other_points_as_good(emulated: Callable[..., Any]) -> None:
    results = [result(emulated(None, 2, program=str(PROGRAM), args=flags(2**14, 2**10, s)).out) for s in range(8)]
    assert len({n_inside for n_inside, *_ in results}) > 6
    scaled = [float(error) / float(standard_error) for *_, error, standard_error in results]
    assert 0.4 < np.sqrt(np.mean(np.square(scaled))) < 1.7


def test_a_real_mpiexec_prints_the_same(emulated: Callable[..., Any], mpiexec: Callable[..., str]) -> None:
    arguments = flags(10**6, 10**4)
    real = mpiexec(3, str(PROGRAM), *arguments)
    ran = emulated(None, 5, program=str(PROGRAM), args=arguments)
    assert real.splitlines()[0] == ran.out.splitlines()[0]
    assert TIME.search(real).group(2) == "3"


def test_time_is_that_of_the_rank_with_the_most_blocks(emulated: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER)
    source = COSTLY.format(folder=str(PROGRAM.parent))
    for n_ranks in (1, 2, 7, 16):
        ran = emulated(source, n_ranks, args=flags(32000, 1000), platform=path)
        time_s = float(TIME.search(ran.out).group(1))
        assert time_s == pytest.approx(-(-32 // n_ranks) * 1e-3, abs=5e-5), n_ranks  # a block takes 1 ms on 1 Gf
