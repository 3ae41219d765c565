"""NAS EP draws the numbers of its specification, and a sampled run takes the time of a whole one."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from itertools import islice
from math import log, sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

PROGRAM = Path(__file__).parents[2] / "apps" / "npb" / "ep.py"
TIME = re.compile(r"^time: (\S+) s on (\d+) ranks$", re.MULTILINE)
# Counts of class S as NPB 3.3.1 prints them: gfortran, 27 June 2017.
COUNTS_OF_S = "counts: 6140517 5865300 1100361 68546 1648 17 0 0 0 0"


DRAW_ONE = """
import sys
sys.path.insert(0, {folder!r})
from gaussian import Tally
tally = Tally()
tally.add({batch})
print(*tally.sums, *tally.counts, tally.n_batches)
"""


def recurrence(seed: int) -> Any:
    while True:
        seed = 5**13 * seed % 2**46
        yield seed / 2**46


@given(st.integers(1, 2**46 - 1), st.integers(0, 300))
def test_numbers_anywhere_are_those_of_the_recurrence(seed: int, place: int) -> None:
    lcg = runpy.run_path(str(PROGRAM.with_name("lcg.py")))
    expected = list(islice(recurrence(seed), place, place + 16))
    assert lcg["uniform"](lcg["after"](seed, place), 16).tolist() == expected


def test_a_batch_is_that_of_a_plain_loop(emulated: Callable[..., Any]) -> None:
    """Batch 1 begins behind the 2^17 numbers of batch 0."""
    numbers = islice(recurrence(271_828_183), 2**17, 2**18)
    sums, counts = [0.0, 0.0], [0] * 10
    for u, v in zip(numbers, numbers, strict=True):
        x, y = 2 * u - 1, 2 * v - 1
        t = x * x + y * y
        if t <= 1:
            factor = sqrt(-2 * log(t) / t)
            sums[0] += x * factor
            sums[1] += y * factor
            counts[int(max(abs(x), abs(y)) * factor)] += 1
    found = [float(number) for number in emulated(DRAW_ONE.format(folder=str(PROGRAM.parent), batch=1), 1).out.split()]
    assert found == [pytest.approx(sums[0]), pytest.approx(sums[1]), *counts, 1]


def test_the_sums_of_class_s_are_the_official_ones(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 3, program=str(PROGRAM), args=("--class", "S"))
    assert "verification: successful\n" in ran.out
    assert COUNTS_OF_S in ran.out


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_ranks"), [("W", 7), pytest.param("A", 64, marks=pytest.mark.campaign), ("S", 300)])
def test_the_sums_of_larger_classes_are_the_official_ones(
    emulated: Callable[..., Any], name: str, n_ranks: int
) -> None:
    ran = emulated(None, n_ranks, program=str(PROGRAM), args=("--class", name))
    assert "verification: successful\n" in ran.out


@pytest.mark.slow
def test_a_real_mpiexec_finds_the_official_sums_of_class_w(mpiexec: Callable[..., str]) -> None:
    assert "verification: successful\n" in mpiexec(2, str(PROGRAM), "--class", "W")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--sampled",)])
def test_a_real_mpiexec_finds_the_same_and_samples_nothing(
    emulated: Callable[..., Any], mpiexec: Callable[..., str], flags: tuple[str, ...]
) -> None:
    real = mpiexec(3, str(PROGRAM), "--class", "S", *flags).splitlines()
    ran = emulated(None, 3, program=str(PROGRAM)).out.splitlines()
    assert real[:4] == ran[:4]
    assert "verification: successful" in real


def test_a_sampled_run_draws_some_batches_and_takes_the_time_of_all(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 64, program=str(PROGRAM), args=("--class", "C", "--sampled"), compute="measured")
    (remark,) = (remark for remark in ran.outcome.summary.remarks if remark.topic == "sampled")
    batch = remark.facts["regions"]["batch"]
    assert batch["n_run"] + batch["n_skipped"] == 2**16
    assert f"verification: none, since {batch['n_run']} of 65536 batches were drawn" in ran.out
    assert batch["relative_half_width"] <= 0.05
    assert float(TIME.search(ran.out).group(1)) == pytest.approx(1024 * batch["mean_s"], rel=0.05)


@pytest.mark.slow
@pytest.mark.campaign
def test_class_b_on_16384_ranks_takes_less_than_a_minute_and_a_gigabyte(
    smpy_run: Callable[..., Any], tmp_path: Path
) -> None:
    machine = ("--platform", "fat-tree hosts=1024 cores=16", "--quiet", "--json", "summary.json")
    ran = smpy_run(None, 16_384, *machine, str(PROGRAM), args=("--class", "B", "--sampled"))
    assert ran.code == 0, ran.err
    host = json.loads((tmp_path / "summary.json").read_text())["host"]
    assert host["wall_s"] < 60
    assert host["peak_rss_bytes"] < 1e9
