"""Kernels that take their time: what a program is told of, on hosts of any speed, and outside a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import inf, nan

import pytest

import smpy

CORE_FLOP_PER_S = 49.6e9  # core of the default cluster


@pytest.mark.parametrize(
    ("call", "reference_s"),
    [
        ("dgemm(200, 300, 500)", 2e-9 * 200 * 300 * 500),
        ("dtrsm(300, 40)", 1e-9 * 300 * 40 * 40),
        ("dgemm(0, 9, 9)", 0.0),
    ],
)
def test_a_kernel_takes_its_time_scaled_by_the_speed_of_the_core(
    emulated: Callable, call: str, reference_s: float
) -> None:
    ran = emulated(f"import smpy\nassert smpy.is_simulated()\nsmpy.KernelModels(2e-9, 1e-9).{call}", 1)
    assert ran.error == ""
    assert ran.outcome.summary.makespan_s == pytest.approx(reference_s * 1e9 / CORE_FLOP_PER_S)


def test_outside_a_run_kernels_and_operations_take_no_time() -> None:
    assert not smpy.is_simulated()
    smpy.execute(1e300)
    smpy.KernelModels(1e200, 1e200).dgemm(1, 1, 1)


@pytest.mark.parametrize("cost", [-1e-9, inf, nan])
def test_a_cost_is_a_finite_time(cost: float) -> None:
    with pytest.raises(ValueError, match="a time is finite and at least 0"):
        smpy.KernelModels(dgemm_s_per_mnk=cost, dtrsm_s_per_mnn=0.0)
    with pytest.raises(ValueError, match="a time is finite and at least 0"):
        smpy.KernelModels(dgemm_s_per_mnk=0.0, dtrsm_s_per_mnn=cost)


@pytest.mark.parametrize("flop", ["-1", "float('nan')", "float('inf')", "10**400"])
def test_no_number_of_operations_is_refused_on_a_rank(emulated: Callable, flop: str) -> None:
    ran = emulated(f"import smpy\nsmpy.execute({flop})", 1)
    assert "give a finite number of at least 0" in ran.error


def test_kernels_have_their_own_names_in_a_profile(emulated: Callable) -> None:
    source = """
import smpy
from mpi4py import MPI
models = smpy.KernelModels(2e-9, 1e-9)
steps = smpy.experimental.MessageProgram()
steps.Execute(3.0, 10**6, kernel="dtrsm_right")
for _ in range(3):
    models.dgemm(100, 100, 100)
    models.dtrsm(100, 100)
    models.dtrsm(100, 100, "left")
    steps.perform(MPI.COMM_WORLD)
smpy.execute(1e6)
"""
    ran = emulated(source, 2)
    assert ran.error == ""
    counts: Counter[str] = Counter()
    for total in ran.outcome.summary.profile.by_site():
        counts[total.site.call] += total.count
    del counts["MessageProgram.perform"]
    assert counts == {"dgemm": 6, "dtrsm_right": 12, "dtrsm_left": 6, "execute": 2}
