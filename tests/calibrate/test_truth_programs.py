"""Programs of `calibration/programs/` check their own results, and print their phases."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parents[2] / "calibration" / "programs"
SMALL = {
    "heat": ("--n 23 --steps 5", ["Sendrecv", "computing"], "heat: 23 x 23 points, 5 steps, all as they should be"),
    "sample_sort": (
        "--keys 1001",
        ["computing", "Gather", "Bcast", "Alltoall", "Alltoallv"],
        "sample_sort: 1001 keys in order",
    ),
    "k_means": (
        "--points 501 --clusters 5",
        ["computing", "Allreduce"],
        "k_means: 501 points, 5 clusters, all found",
    ),
    "summa": (
        "--n 37 --block 8",
        ["Sub", "packing", "Bcast", "computing"],
        "summa: product of order 37, panels of 8, exact",
    ),
    "subspace": (
        "--n 41 --block 5 --steps 30",
        ["computing", "Allreduce", "Allgatherv"],
        "subspace: 5 vectors of order 41, largest eigenvalue 698.085",
    ),
    "word_count": (
        "--lines 101 --vocabulary 99",
        ["computing", "packing", "alltoall", "gather"],
        "word_count: a 166, b 112, c 79, e 58, d 57, f 41, g 34, h 31, i 28, j 25",
    ),
}
TIME = re.compile(r"time: \d+\.\d{6} s$")
PHASE = re.compile(r"phase (\w+): \d+\.\d{6} s$")


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4, 6])  # 6: a grid whose sides differ
@pytest.mark.parametrize("program", SMALL)
def test_a_program_is_right_on_any_number_of_ranks(emulated: Callable[..., Any], program: str, n_ranks: int):
    arguments, phases, result = SMALL[program]
    ran = emulated(None, n_ranks, program=str(PROGRAMS / f"{program}.py"), args=tuple(arguments.split()))
    assert (ran.code, ran.error) == (0, "")
    *lines, time, last = ran.out.splitlines()
    assert last == result
    assert TIME.match(time)
    assert [match[1] for line in lines if (match := PHASE.match(line))] == phases
    assert len(lines) == len(phases)
