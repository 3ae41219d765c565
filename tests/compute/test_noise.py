"""Draws of noise on the time of kernels."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.compute.models.noise import NoiseDraws, moments, quantile
from smpy.platforms import EmpiricalNoise, HalfNormalNoise

NOISES = [
    HalfNormalNoise(0.05),
    EmpiricalNoise((-0.1, -0.01, 0.0, 0.02, 0.3)),
    EmpiricalNoise((0.07,)),
]
N_DRAWS = 20_000


@pytest.mark.parametrize("noise", NOISES)
def test_draws_have_the_moments_of_their_noise(noise: HalfNormalNoise | EmpiricalNoise) -> None:
    draws = NoiseDraws(7)
    drawn = np.array([draws.factor(noise, rank=3) for _ in range(N_DRAWS)]) - 1
    mean, variance = moments(noise)
    assert drawn.mean() == pytest.approx(mean, abs=4 * sqrt(variance / N_DRAWS) + 1e-12)
    assert drawn.var() == pytest.approx(variance, rel=0.05, abs=1e-12)


def test_sigma_is_that_of_the_underlying_normal_and_calls_only_get_slower() -> None:
    mean, variance = moments(HalfNormalNoise(0.05))
    assert mean == pytest.approx(0.05 * sqrt(2 / pi))
    assert variance + mean**2 == pytest.approx(0.05**2)
    assert quantile(HalfNormalNoise(0.05), 0.0) == 1.0
    assert quantile(HalfNormalNoise(0.05), 0.954499736) == pytest.approx(1.1)  # two sigmas


def test_empirical_noise_has_the_quantiles_that_were_given() -> None:
    noise = NOISES[1]
    assert isinstance(noise, EmpiricalNoise)
    found = [quantile(noise, i / 4) - 1 for i in range(4)]
    assert found == pytest.approx(noise.residuals[:4])
    assert quantile(noise, 0.875) == pytest.approx(1.16)
    assert quantile(noise, 1 - 1e-12) == pytest.approx(1.3)


@given(st.permutations([0] * 5 + [1] * 5 + [2] * 5), st.integers(0, 2**32 - 1))
def test_a_ranks_draws_do_not_depend_on_when_others_draw(order: list[int], seed: int) -> None:
    def drawn(ranks: list[int]) -> dict[int, list[float]]:
        draws, found = NoiseDraws(seed), {0: [], 1: [], 2: []}
        for rank in ranks:
            found[rank].append(draws.factor(HalfNormalNoise(1.0), rank))
        return found

    mixed = drawn(order)
    assert mixed == drawn(sorted(order))
    assert len({value for values in mixed.values() for value in values}) == 15
    assert drawn(order) != {rank: values[::-1] for rank, values in mixed.items()}
