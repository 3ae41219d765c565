"""Programs say what their computing costs, and run where smpy is not installed."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

APPS = Path(__file__).parents[2] / "apps"
MACHINE = "flat hosts=4 cores=1 speed=1000Gf host.memory_bandwidth=10GB/s"


def test_without_smpy_a_kernel_is_the_function_that_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "smpy", None)
    kernel = runpy.run_path(str(APPS / "modelled.py"))["kernel"]

    def function() -> None:
        pass

    assert kernel(flop="1")(function) is function


@pytest.mark.parametrize(
    ("program", "words", "bytes_a_rank"),
    [
        # 128 bytes a point and iteration with its halo, 40 where the change is looked at; 200 x 200 points a rank
        ("jacobi.py", ("--n", "400", "--iterations", "10"), 10 * (112 * 202**2 + 16 * 200**2) + 40 * 200**2),
        # four transforms move 128 bytes of a complex number, and four transposes 384
        ("fft2d.py", ("--n", "256", "--m", "256"), 512 * 256 * 64),
    ],
)
def test_computing_takes_the_time_that_its_bytes_take(
    emulated: Callable[..., Any], program: str, words: tuple[str, ...], bytes_a_rank: int
) -> None:
    ran = emulated(None, 4, program=str(APPS / program), args=words, compute="models", platform=MACHINE)
    assert ran.error == ""
    share = ran.outcome.summary.shares.compute
    assert share * ran.outcome.summary.makespan_s == pytest.approx(bytes_a_rank / 10e9, rel=0.02)
