"""Sweep3D's time is that of the recurrence, and near the plug-and-play model's."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SWEEP3D = Path(__file__).parents[2] / "apps" / "sweep3d.py"
PLATFORM = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
<cluster id="c" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="1GBps" lat="10us" sharing_policy="SPLITDUPLEX"/>
</platform>"""
PLAIN = ("smpi/lat-factor", "smpi/bw-factor")
OVERHEAD = (("smpi/os", "0:4e-6:0"), ("smpi/or", "0:4e-6:0"))


def seconds(printed: str) -> tuple[float, float, float]:
    """Time, recurrence and model, as printed."""
    time_s, recurrence_s, model_s = map(float, re.findall(r": +(\S+) s$", printed, re.MULTILINE))
    return time_s, recurrence_s, model_s


@pytest.fixture
def swept(emulated: Callable[..., Any], tmp_path: Path) -> Callable[..., tuple[float, float, float]]:
    """Seconds of a run whose messages take 20 us and a nanosecond a byte."""

    def sweep(n_ranks: int, *args: str, has_overhead: bool = False) -> tuple[float, float, float]:
        machine = tmp_path / "cluster.xml"
        machine.write_text(PLATFORM.format(last=n_ranks - 1))
        settings = [("smpi/async-small-thresh", "65536"), ("smpi/wtime", "0"), *((name, "1") for name in PLAIN)]
        settings += OVERHEAD if has_overhead else ()
        ran = emulated(
            None,
            n_ranks,
            platform=machine,
            network="ideal:contention",
            options=tuple(settings),
            program=str(SWEEP3D),
            args=("--envelope", "16", "--overhead", "4e-6" if has_overhead else "0", *args),
        )
        assert ran.code == 0, ran.error
        assert "0 ranks wrong" in ran.out
        return seconds(ran.out)

    return sweep


@pytest.mark.parametrize(
    ("n_ranks", "has_overhead", "expected_s"),
    [(16, False, 0.178378288), (16, True, 0.181106288), (64, True, 0.205898672)],
)
def test_time_is_the_recurrences(swept: Callable[..., Any], n_ranks: int, has_overhead: bool, expected_s: float):
    time_s, recurrence_s, model_s = swept(n_ranks, has_overhead=has_overhead)
    assert time_s == pytest.approx(recurrence_s, rel=1e-9)
    assert recurrence_s == pytest.approx(expected_s, rel=1e-9)
    assert model_s == pytest.approx(recurrence_s, rel=0.005)


@pytest.mark.parametrize("rows", ["1", "2", "3", "6"])
def test_time_is_the_recurrences_on_any_grid(swept: Callable[..., Any], rows: str):
    time_s, recurrence_s, _ = swept(6, "--rows", rows, "--blocks", "3", "--numbers", "1000", has_overhead=True)
    assert time_s == pytest.approx(recurrence_s, rel=1e-9)


def test_one_rank_computes_all_blocks_of_eight_sweeps(swept: Callable[..., Any]):
    assert swept(1, "--blocks", "5", "--work", "2e-3") == pytest.approx((0.08, 0.08, 0.08), rel=1e-12)


def test_messages_are_those_of_the_waves_under_a_real_mpi(mpiexec: Callable[..., str]):
    out = mpiexec(4, str(SWEEP3D), "--blocks", "4", "--work", "1e-6")
    assert out.startswith("sweep3d: 2 x 2 ranks, 8 sweeps of 4 blocks, 0 ranks wrong")
