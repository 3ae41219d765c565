"""Equal bursts differ by as much as their durations were drawn to differ, whatever else the program's work does."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from smpy.compute.clock.burst_spread import BurstSpread, Spread

LINE = "heat.py:55"
NORMAL = 1.96 * 2**0.5  # 95 % of differences of two normal numbers stay below so many standard deviations


def spread_of(work: Callable[[int, int], float], noise: float, n_ranks: int = 64, n_rounds: int = 40) -> Spread | None:
    """Spread of bursts whose work depends on rank and round, times a normal number around 1."""
    draw, bursts = random.Random(1), BurstSpread()
    for n_round in range(n_rounds):
        for rank in range(n_ranks):
            bursts.take(rank, LINE, work(rank, n_round) * max(draw.gauss(1.0, noise), 0.1))
    return bursts.spread()


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.1])
def test_the_spread_is_that_of_the_noise(noise: float):
    spread = spread_of(lambda rank, n_round: 1.0, noise)
    assert spread is not None
    assert spread.relative == pytest.approx(NORMAL * noise, rel=0.15)
    assert spread.n_pairs == 63 * 40 + 64 * 39


UNEVEN = {
    "a slow rank": lambda rank, n_round: 1.0 + (rank == 13),
    "ranks that all differ": lambda rank, n_round: 1.0 + (rank * 37 % 64) / 16,
    "rounds that alternate": lambda rank, n_round: 1.0 + 7 * (n_round % 2),
    "shrinking work": lambda rank, n_round: 100.0 - n_round,
}


@pytest.mark.parametrize("name", UNEVEN)
def test_uneven_work_is_no_noise(name: str):
    spread = spread_of(UNEVEN[name], 0.02)
    assert spread is not None
    assert spread.relative == pytest.approx(NORMAL * 0.02, rel=0.4)


def test_a_single_burst_that_is_disturbed_is_the_largest_difference():
    spread = spread_of(lambda rank, n_round: 1e-3 + 4e-3 * ((rank, n_round) == (21, 7)), 0.005)
    assert spread is not None
    assert spread.relative == pytest.approx(NORMAL * 0.005, rel=0.3)
    assert spread.largest_s == pytest.approx(4e-3, rel=0.05)


@pytest.mark.parametrize("name", UNEVEN)
def test_the_largest_difference_is_none_of_uneven_work(name: str):
    spread = spread_of(lambda rank, n_round: 1e-3 * UNEVEN[name](rank, n_round), 0.0)
    assert spread is not None
    assert spread.largest_s <= 1e-3  # spread of work that shrinks by as much


def test_what_takes_long_is_no_disturbance():
    spread = spread_of(lambda rank, n_round: 1e-3 + 5.0 * ((rank, n_round) == (0, 0)), 0.0)
    assert spread is not None
    assert spread.largest_s == 0.05


def test_one_rank_is_compared_with_itself():
    spread = spread_of(lambda rank, n_round: 1.0, 0.05, n_ranks=1, n_rounds=2000)
    assert spread is not None
    assert spread.relative == pytest.approx(NORMAL * 0.05, rel=0.15)


def test_one_round_of_many_ranks_is_compared_between_them():
    spread = spread_of(lambda rank, n_round: 1.0, 0.05, n_ranks=256, n_rounds=1)
    assert spread is not None
    assert spread.relative == pytest.approx(NORMAL * 0.05, rel=0.3)


def test_few_pairs_have_no_spread():
    assert BurstSpread().spread() is None
    assert spread_of(lambda rank, n_round: 1.0, 0.1, n_ranks=2, n_rounds=2) is None


def test_lines_count_by_their_time():
    bursts = BurstSpread()
    for n_round in range(20):
        bursts.take(0, "long", 1.0)
        bursts.take(0, "short", 1e-3 * (1 + n_round % 2))
    spread = bursts.spread()
    assert spread is not None
    assert spread.relative < 0.01


def test_ranks_beyond_those_compared_cost_nothing():
    bursts = BurstSpread()
    for rank in range(100_000):
        bursts.take(rank, LINE, 1.0)
    spread = bursts.spread()
    assert spread is not None
    assert spread.n_pairs == 255
