"""Fits, intervals, F tests and noise are those that scipy's general functions find in their own ways."""

import numpy as np
import pytest
import scipy  # its packages at their first use

from smpy.calibrate.costs import Terms, _least_of, cost_of
from smpy.calibrate.network.pieces import SMALLEST_S, fit_pieces
from smpy.calibrate.regression import fit, screen
from smpy.calibrate.samples import KernelSample

N = np.geomspace(10, 1e6, 40).round()


def _line(n: np.ndarray, slope: float, constant: float) -> np.ndarray:
    return slope * n + constant


def _noisy(seed: int, noise: float, constant: float = 2e-6) -> np.ndarray:
    return _line(N, 1e-9, constant) * (1 + noise * np.random.default_rng(seed).standard_normal(len(N)))


def _curve_fit(times: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients, half of their 95 % intervals, and their correlation; in units in which they are about 1."""
    found, covariance = scipy.optimize.curve_fit(_line, N / 1e6, times / 1e-3, (1, 1e-3), sigma=sigma)
    scale = np.array([1e-9, 1e-3])
    errors = np.sqrt(np.diag(covariance))
    correlation = covariance[0, 1] / errors.prod()
    return found * scale, scipy.stats.t.ppf(0.975, len(N) - 2) * errors * scale, correlation


@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_the_relative_fit_has_the_least_sum_of_ratios_and_its_intervals_are_those_of_its_weights(noise):
    times = _noisy(0, noise)

    def ratios(logarithms: np.ndarray) -> float:
        predicted = _line(N, *np.exp(logarithms))
        return float((times / predicted + predicted / times).sum())

    least = scipy.optimize.minimize(ratios, np.log([1e-9, 2e-6]), method="Nelder-Mead", options={"xatol": 1e-10})
    found = fit({"n": N}, times, ["n", "1"])
    assert list(found.seconds.values()) == pytest.approx(np.exp(least.x), rel=1e-4)

    predicted = found.predict_s({"n": N})
    coefficients, half_widths, correlation = _curve_fit(times, predicted / np.sqrt((times + predicted) / (2 * times)))
    assert list(found.seconds.values()) == pytest.approx(coefficients, rel=1e-5)
    assert list(found.half_widths_s.values()) == pytest.approx(half_widths, rel=1e-4)
    assert found.correlations == pytest.approx(np.array([[1, correlation], [correlation, 1]]), rel=1e-4)


def test_a_term_stays_if_the_f_test_finds_it_significant():
    """Test it on an intercept, which is significant in about half of the draws."""
    kept = []
    for seed in range(40):
        times = _noisy(seed, 0.1, constant=2e-9)
        found = fit({"n": N}, times, ["n", "1"])
        with_one = found.predict_s({"n": N})
        sigma = with_one / np.sqrt((times + with_one) / (2 * times))
        alone = (N * times / sigma**2).sum() / (N**2 / sigma**2).sum() * N
        without, squares = (float((((times - one) / sigma) ** 2).sum()) for one in (alone, with_one))
        p = scipy.stats.f.sf((without - squares) / (squares / (len(N) - 2)), 1, len(N) - 2)
        is_kept = "1" in screen({"n": N}, times, ["n", "1"], leading=["n"]).seconds
        assert is_kept == (p <= 0.05 and found.seconds["1"] > 0)
        kept.append(is_kept)
    assert 0.2 < np.mean(kept) < 0.8


def test_a_piece_is_the_line_of_weighted_least_squares_with_its_intervals():
    times = _noisy(1, 0.05)
    (piece,) = fit_pieces(N, times, pieces_max=1)
    coefficients, half_widths, _ = _curve_fit(times, times)
    assert (piece.per_byte_s, piece.constant_s) == pytest.approx(tuple(coefficients), rel=1e-5)
    assert (piece.per_byte_half_width_s, piece.constant_half_width_s) == pytest.approx(tuple(half_widths), rel=1e-4)


def test_at_its_bound_a_constant_has_no_interval_and_a_slope_that_of_a_line_through_the_origin():
    times = _noisy(1, 0.05, constant=-5e-9)
    (piece,) = fit_pieces(N, times, pieces_max=1)
    sigma = np.maximum(times, SMALLEST_S)
    found, covariance = scipy.optimize.curve_fit(lambda n, slope: slope * n, N / 1e6, times / 1e-3, 1.0, sigma=sigma)
    assert piece.constant_s == 0
    assert np.isnan(piece.constant_half_width_s)
    assert piece.per_byte_s == pytest.approx(found[0] * 1e-9, rel=1e-5)
    half_width = scipy.stats.t.ppf(0.975, len(N) - 1) * np.sqrt(covariance[0, 0]) * 1e-9
    assert piece.per_byte_half_width_s == pytest.approx(half_width, rel=1e-4)


# ---- half-normal noise ----


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_least_of_several_magnitudes_is_that_of_their_distribution(n):
    least, distance = _least_of(n)
    half = scipy.stats.halfnorm()
    assert least == pytest.approx(scipy.integrate.quad(lambda m: half.sf(m) ** n, 0, 9)[0], rel=1e-3)
    drawn = half.rvs((20_000, n), random_state=0)
    assert distance == pytest.approx((drawn - drawn.min(axis=1)[:, None]).mean(), rel=0.02)


@pytest.mark.parametrize(("n_calls", "sigma"), [(3, 0.05), (7, 0.3)])
def test_half_normal_noise_is_told_from_the_cost_without_it_however_few_the_calls(n_calls, sigma):
    rng = np.random.default_rng(n_calls)
    noise = scipy.stats.halfnorm.rvs(scale=sigma, size=(200, n_calls), random_state=rng)
    sizes = np.unique(np.geomspace(10, 1e6, 200).round().astype(int))
    taken = [
        KernelSample("k", (("n", int(n)),), "warm", i, (1e-9 * n + 1e-7) * (1 + slowdown), 1.0)
        for n, slowdowns in zip(sizes, noise, strict=False)
        for i, slowdown in enumerate(slowdowns)
    ]
    cost = cost_of("k", Terms(("n",), ("n", "1"), ("n",)), taken, noise_model="half-normal")
    known = scipy.stats.halfnorm.fit(noise[: len(sizes)].ravel(), floc=0)[1]
    assert cost.noise["sigma"] == pytest.approx(known, rel=0.06)
    assert cost.fit.seconds == pytest.approx({"n": 1e-9, "1": 1e-7}, rel=0.1 * sigma)
    mean = np.mean([s.processor_s / cost.fit.predict_s({"n": [s.sizes[0][1]]})[0] for s in taken])
    assert mean == pytest.approx(1 + cost.noise["sigma"] * np.sqrt(2 / np.pi), rel=0.01)


def test_with_few_disturbed_calls_noise_has_still_the_mean_of_all():
    rng = np.random.default_rng(0)
    slowdowns = scipy.stats.halfnorm.rvs(scale=0.02, size=(50, 7), random_state=rng)
    slowdowns[::15, 3] = 3.0
    taken = [
        KernelSample("k", (("n", n + 100),), "warm", i, 1e-6 * (n + 100) * (1 + slowdown), 1.0)
        for n, of_size in enumerate(slowdowns)
        for i, slowdown in enumerate(of_size)
    ]
    cost = cost_of("k", Terms(("n",), ("n", "1"), ("n",)), taken, noise_model="half-normal")
    assert cost.fit.seconds["n"] == pytest.approx(1e-6, rel=0.02)
    mean_s = cost.fit.seconds["n"] * (1 + cost.noise["sigma"] * np.sqrt(2 / np.pi))
    assert mean_s == pytest.approx(1e-6 * (1 + slowdowns.mean()), rel=0.003)
