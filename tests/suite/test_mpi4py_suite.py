"""mpi4py's own tests pass on simulated ranks, as README.md's table says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.suite.expectations import MISSES, MUST_PASS, RANKS, SKIPPED_ALONE
from tests.suite.runner import TIME_LIMIT_S, ModuleRun

pytestmark = [pytest.mark.slow, pytest.mark.suite, pytest.mark.timeout(len(MUST_PASS) * TIME_LIMIT_S)]


LOCAL = ("test_util_dtlib",)
"""Modules of many minutes whose tests send nothing: they run on the smallest number of ranks alone."""
USUAL = 3
"""Number of ranks of the other modules, outside campaigns: an odd one, and no power of two."""

CASES = [
    pytest.param(module, n_ranks, marks=[] if module in LOCAL or n_ranks == USUAL else [pytest.mark.campaign])
    for module in MUST_PASS
    for n_ranks in RANKS[: 1 if module in LOCAL else None]
]
"""Modules and numbers of ranks."""


@pytest.mark.parametrize(("module", "n_ranks"), CASES)
def test_what_passes_under_a_real_mpi_passes_here(
    module: str, n_ranks: int, result_of: Callable[[str, int], ModuleRun]
):
    run = result_of(module, n_ranks)
    missed = {test: run.reasons.get(test, "it did not run") for test in sorted(MUST_PASS[module] - run.passed)}
    failed = {test: reason for test, reason in run.reasons.items() if " failed: " in reason}
    lost = {test: reason for test, reason in (missed | failed).items() if test not in MISSES}
    if n_ranks == 1:
        lost = {test: reason for test, reason in lost.items() if not reason.endswith(SKIPPED_ALONE)}
    told = [run.trouble, *(f"{test}: {reason}" for test, reason in lost.items())]
    assert not lost, "\n".join(told)
    assert not run.trouble


def test_three_tests_are_left_out():
    assert len(MISSES) == 3


def test_every_miss_is_one_of_a_test_that_passes_under_a_real_mpi():
    assert set(MISSES) <= frozenset().union(*MUST_PASS.values())
