"""Costs of kernels on a machine: polynomials of sizes, and the tables [kernels] and [calibration] that say them."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from math import log2, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import PlatformError
from smpy.platforms import EmpiricalNoise, HalfNormalNoise, KernelCost, KernelCosts, read_machine
from smpy.platforms.own_format.writing import write_toml

CALIBRATION = """
[calibration]
date = 2026-11-22
numpy = "2.3"
warnings = ["loaded"]
[kernels]
reference_speed = "41.2Gf"
[kernels.dgemm]
sizes = ["m", "n", "k"]
seconds = { "m*n*k" = 4.9e-11, "m*n" = 1.1e-10, "1" = 1.3e-6 }
half_widths = { "m*n*k" = 2e-13, "m*n" = 1e-12, "1" = 1e-8 }
correlations = [[1, -0.9, 0.1], [-0.9, 1, -0.25], [0.1, -0.25, 1]]
noise = { kind = "half-normal", sigma = 0.012 }
smallest = [1, 1, 1]
largest = [4000, 4000, 4000]
r_squared = 0.9998
[kernels.zfft]
sizes = ["n", "batch"]
seconds = { "n*log2(n)*batch" = 2e-9 }
noise = { kind = "empirical", residuals = [-0.01, 0, 0.02] }
"""
DGEMM = KernelCost(
    *("dgemm", ("m", "n", "k"), (("m*n*k", 4.9e-11), ("m*n", 1.1e-10), ("1", 1.3e-6)), (2e-13, 1e-12, 1e-8)),
    *(HalfNormalNoise(0.012), (1, 1, 1), (4000, 4000, 4000)),
    correlations=((1.0, -0.9, 0.1), (-0.9, 1.0, -0.25), (0.1, -0.25, 1.0)),
)
ZFFT = KernelCost("zfft", ("n", "batch"), (("n*log2(n)*batch", 2e-9),), noise=EmpiricalNoise((-0.01, 0.0, 0.02)))
MACHINE = 'include = ["calibration.toml"]\n[host]\ncores = 4\n'


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "calibration.toml").write_text(CALIBRATION)
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    return path


def test_a_machine_includes_a_calibration(machine: Path) -> None:
    read = read_machine(machine, 1)
    assert read.kernels == KernelCosts(41.2e9, (DGEMM, ZFFT))
    assert read.kernels.costs[0].quality == {"r_squared": 0.9998}
    assert read.calibration["warnings"] == ["loaded"]


def test_a_kernel_replaces_the_included_one_as_a_whole(machine: Path) -> None:
    machine.write_text(MACHINE + '[kernels.dgemm]\nsizes = ["m", "n", "k"]\nseconds = { "m*n*k" = 2e-10 }\n')
    dgemm, zfft = read_machine(machine, 1).kernels.costs
    assert dgemm == KernelCost("dgemm", ("m", "n", "k"), (("m*n*k", 2e-10),))
    assert zfft == ZFFT


def test_what_is_no_cost_of_an_included_kernel_is_replaced_alone(machine: Path) -> None:
    machine.write_text(MACHINE + "[kernels.dgemm.noise]\nkind = 'none'\n")
    assert read_machine(machine, 1).kernels.costs[0] == replace(DGEMM, noise=None)


@pytest.mark.parametrize(("sizes", "order"), [('"k", "m", "n"', "m, n, k"), ('"n", "of", "m"', "m, n")])
def test_sizes_in_another_order_than_that_of_calls_are_refused(machine: Path, sizes: str, order: str) -> None:
    machine.write_text(MACHINE + f'[kernels.dgemm]\nsizes = [{sizes}]\nseconds = {{ "m*n" = 2e-10 }}\n')
    with pytest.raises(
        PlatformError, match=rf"machine.toml:5: kernels.dgemm.sizes: .* called with {order} in this order"
    ):
        read_machine(machine, 1)


def test_a_kernel_of_the_programs_own_names_its_sizes_as_it_likes(machine: Path) -> None:
    machine.write_text(MACHINE + '[kernels.apply]\nsizes = ["n", "m"]\nseconds = { "n^2*m" = 2e-10 }\n')
    assert read_machine(machine, 1).kernels.costs[0].sizes == ("n", "m")


def test_kernels_that_were_measured_on_cores_of_two_speeds_are_refused(machine: Path) -> None:
    own = '[kernels.own]\nsizes = ["n"]\nseconds = { n = 1e-9 }\n'
    machine.write_text(MACHINE + "[kernels]\nreference_speed = '10Gf'\n" + own)
    with pytest.raises(
        PlatformError, match=r"machine.toml:5: kernels.reference_speed: .*calibration.toml has, such as"
    ):
        read_machine(machine, 1)
    part = "[kernels.dgemm]\nsmallest = [2, 2, 2]\n[kernels.zfft]\nlargest = [9, 9]\n"
    machine.write_text(MACHINE + "[kernels]\nreference_speed = '10Gf'\n" + own + part)
    with pytest.raises(PlatformError, match="all kernels of a machine have one reference_speed"):
        read_machine(machine, 1)
    machine.write_text(MACHINE + "[kernels]\nreference_speed = '41200Mf'\n" + own)
    assert [cost.name for cost in read_machine(machine, 1).kernels.costs] == ["dgemm", "own", "zfft"]
    machine.write_text(MACHINE + "[kernels]\nreference_speed = '10Gf'\n")
    assert read_machine(machine, 1).kernels == KernelCosts(10e9, (DGEMM, ZFFT))


def test_kernels_and_what_is_kept_beside_them_are_written_down(machine: Path, tmp_path: Path) -> None:
    read = read_machine(machine, 1)
    (tmp_path / "written.toml").write_text(write_toml(read))
    again = read_machine(tmp_path / "written.toml", 1)
    assert (again, again.calibration) == (read, read.calibration)
    assert again.kernels.costs[0].quality == {"r_squared": 0.9998}


def test_the_fingerprint_of_a_machine_has_its_kernels_and_nothing_of_the_calibration(
    machine: Path, tmp_path: Path
) -> None:
    read = read_machine(machine, 1)
    (tmp_path / "calibration.toml").write_text(CALIBRATION.replace("2026", "2025").replace("0.9998", "0.9"))
    later = read_machine(machine, 1)
    assert later.calibration != read.calibration
    assert later == read
    assert later.fingerprint == read.fingerprint == pickle.loads(pickle.dumps(read)).fingerprint
    (tmp_path / "calibration.toml").write_text(CALIBRATION.replace("4.9e-11", "5e-11"))
    assert read_machine(machine, 1).fingerprint != read.fingerprint


def test_a_machine_without_kernels_has_the_fingerprint_that_it_always_had() -> None:
    known = "e60cf204074f"
    machine = "flat hosts=4 cores=2 host.loopback_bandwidth=10GB/s host.messages_share_memory=false"
    assert read_machine(machine, 1).fingerprint.startswith(known)


@given(*[st.integers(1, 10**5)] * 3)
def test_a_cost_is_the_sum_of_its_terms(m: int, n: int, k: int) -> None:
    terms = (("m*n*k", 3e-11), ("m^2*n", 2e-12), ("n * log2(k)", 1e-9), ("max(m - 4096, 0)*n", 1e-10), ("1", 1e-6))
    exact_s = 3e-11 * m * n * k + 2e-12 * m * m * n + 1e-9 * n * log2(k) + 1e-10 * max(m - 4096, 0) * n + 1e-6
    cost = KernelCost("it", ("m", "n", "k"), terms, tuple(0.1 * seconds for _, seconds in terms))
    assert cost.estimate((m, n, k))[0] == pytest.approx(exact_s, rel=1e-12)
    one_term = replace(cost, half_widths_s=(0.0, 0.0, 0.0, 0.0, 1e-7))
    assert one_term.estimate((m, n, k))[1] == pytest.approx(1e-7)
    assert 0 < cost.estimate((m, n, k))[1] <= 0.1 * exact_s * (1 + 1e-12)


@given(*[st.integers(1, 10**5)] * 3)
def test_the_half_width_is_that_of_a_sum_of_correlated_coefficients(m: int, n: int, k: int) -> None:
    parts_s = DGEMM.half_widths_s * np.array([m * n * k, m * n, 1])
    square = parts_s @ np.array(DGEMM.correlations) @ parts_s
    assert DGEMM.estimate((m, n, k))[1] == pytest.approx(sqrt(square), rel=1e-9)
    independent = replace(DGEMM, correlations=())
    assert independent.estimate((m, n, k))[1] == pytest.approx(sqrt(parts_s @ parts_s), rel=1e-12)


def test_two_parts_of_one_coefficient_are_as_uncertain_as_it_is() -> None:
    parts = KernelCost(
        *("getrf", ("m", "n"), (("m*n^2", 3e-9), ("n^3", -1e-9)), (3e-10, 1e-10)), correlations=((1, -1), (-1, 1))
    )
    assert parts.estimate((20, 10))[1] == pytest.approx(3e-10 * (20 * 100 - 1000 / 3))
    assert parts.estimate((10, 30))[1] == pytest.approx(0, abs=1e-20)


def test_correlations_that_only_rounding_makes_impossible_are_taken() -> None:
    cost = KernelCost(
        *("it", ("n",), (("n^2", 1e-9), ("n", 1e-9), ("1", 1e-9)), (1e-10,) * 3),
        correlations=((1, 0.578, -0.332), (0.578, 1, 0.578), (-0.332, 0.578, 1)),
    )
    assert np.linalg.eigvalsh(cost.correlations)[0] < 0
    assert cost.estimate((1,))[1] > 0


def test_a_cost_is_never_below_0() -> None:
    cost = KernelCost("it", ("n",), (("n", 1e-9), ("1", -1e-6)))
    assert cost.estimate((10,))[0] == 0
    assert cost.estimate((2000,))[0] == pytest.approx(1e-6)


def test_sizes_are_measured_between_the_smallest_and_the_largest() -> None:
    cost = KernelCost("it", ("m", "n"), (("m*n", 1e-9),), smallest=(2, 2), largest=(8, 9))
    assert [cost.is_measured_at(at) for at in ((2, 9), (1, 9), (8, 10))] == [True, False, False]
    assert replace(cost, smallest=(), largest=()).is_measured_at((1, 10**9))


@pytest.mark.parametrize(
    ("wrong", "instead", "told"),
    [
        ('sizes = ["m", "n", "k"]', "sizes = 3", "machine.toml:0: kernels.dgemm.sizes: 3 is no such list"),
        ('"m*n" =', '"m*q" =', "has 'q', which is none of the sizes m, n, k"),
        ('"m*n" =', '"m+n" =', "'m+n' is no term"),
        ('"m*n" =', '"n*m*k" =', "two terms are the same"),
        ('"m*n" = 1.1e-10', '"m*n" = "long"', "'long' is no number"),
        ('"m*n" = 1e-12, ', "", "the term 'm*n' has none"),
        ('"m*n" = 1e-12', '"m" = 1e-12', "kernels.dgemm.half_widths.m: [kernels.dgemm] has no such term"),
        ("[0.1, -0.25, 1]]", "[0.1, -0.25]]", "kernels.dgemm.correlations: correlations of 3 terms are 3 lists of 3"),
        ("[[1, -0.9, 0.1], ", "[", "correlations of 3 terms are 3 lists of 3 numbers"),
        ("[-0.9, 1, -0.25]", "[-0.8, 1, -0.25]", "correlations are symmetric: -0.9 and -0.8 are of the same two"),
        ("[[1, -0.9, 0.1], [-0.9,", "[[1, -1.9, 0.1], [-1.9,", "-1.9 is no correlation: one lies between -1 and 1"),
        ("[[1, -0.9, 0.1], [-0.9,", "[[1, nan, 0.1], [nan,", "nan is no correlation"),
        ("[[1, -0.9,", "[[0.5, -0.9,", "a term's correlation with itself is 1, not 0.5"),
        ("0.1], [-0.9, 1, -0.25], [0.1,", "-0.9], [-0.9, 1, -0.25], [-0.9,", "the matrix is not positive semidefinite"),
        ("[[1, -0.9, 0.1], [-0.9, 1, -0.25], [0.1, -0.25, 1]]", "3", "3 is no such list: write it such as [[1,"),
        ("[[1, -0.9, 0.1]", '[[1, "x", 0.1]', "is no such list: write it such as [[1,"),
        ('half_widths = { "m*n*k" = 2e-13, "m*n" = 1e-12, "1" = 1e-8 }', "", "they are of half_widths, and there are"),
        ('reference_speed = "41.2Gf"', "", "kernels.reference_speed: it is missing"),
        ('"half-normal"', '"normal"', "'normal' is none of none, half-normal, empirical"),
        ("sigma = 0.012", "sigma = -1", "it is -1, and must be at least 0"),
        ("[-0.01, 0, 0.02]", "[0.02, 0]", "residuals are quantiles: they rise"),
        ("largest = [4000, 4000, 4000]", "largest = [4000]", "a number for each size"),
        ("largest = [4000, 4000, 4000]", "larges = [4000]", "unknown key: did you mean 'largest'?"),
    ],
)
def test_a_wrong_cost_is_refused_with_its_place(machine: Path, wrong: str, instead: str, told: str) -> None:
    assert wrong in CALIBRATION
    machine.write_text(CALIBRATION.replace(wrong, instead))
    with pytest.raises(PlatformError) as refused:
        read_machine(machine, 1)
    assert told in re.sub(r":\d+:", ":0:", str(refused.value))
