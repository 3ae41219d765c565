"""Noise that was planted in a run is removed from its replay."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from smpy.analysis.pop_metrics import pop
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.platforms import Changing, Profile
from smpy.platforms.declared_parts import ProfileConnection
from smpy.platforms.machine import read_machine
from smpy.records.trace import Trace
from smpy.replay import replay

FLAT = "flat hosts=4 cores=1 nic=10Gb/s latency=1us speed=10Gf"
COSTS = """
[kernels]
reference_speed = "10Gf"
[kernels.dgemm]
sizes = ["m", "n", "k"]
seconds = { "m*n*k" = 1e-10 }
noise = { kind = "half-normal", sigma = 0.3 }
[kernels.sum]
sizes = ["n"]
seconds = { "n" = 1e-9 }
noise = { kind = "empirical", residuals = [-1, -0.5, 0.5] }
"""
KERNELS = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD

@smpy.kernel(flop="1", name="sum")
def total(n): pass

out, into = numpy.zeros(20_000), numpy.zeros(20_000)
a, b = smpy.folded((200, 300)), smpy.folded((300, 100 + 10 * comm.rank))
for step in range(6):
    a @ b
    total(10**6)
    smpy.execute(1e7)
    comm.Sendrecv(out, dest=(comm.rank + 1) % comm.size, recvbuf=into, source=(comm.rank - 1) % comm.size)
    comm.Allreduce(out[:10], into[:10])
"""
MEASURED = """
import random, smpy
from mpi4py import MPI
comm, noise = MPI.COMM_WORLD, random.Random(7 + MPI.COMM_WORLD.rank)
for step in range(40):
    smpy.inject_seconds((1 + comm.rank) * 1e-3 * (1 + {share} * abs(noise.gauss(0, 1))))
    comm.Barrier()
    smpy.inject_seconds(2e-3 * (1 + {share} * abs(noise.gauss(0, 1))))
    smpy.execute(1e6 * (1 + step))
    comm.Barrier()
"""


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[..., tuple]:
    """Runs a program with a trace: its summary, and the trace."""

    def here(source: str, n_ranks: int, folder: str = "trace", **config):
        ran = emulated(source, n_ranks, trace=tmp_path / folder, **config)
        assert ran.outcome.error is None
        return ran.outcome.summary, Trace(tmp_path / folder)

    return here


@pytest.fixture
def noisy(traced: Callable, tmp_path: Path) -> Callable[[bool], tuple]:
    """The program of kernels, with or without noise."""
    (tmp_path / "costs.toml").write_text(COSTS)
    options = {"platform": FLAT, "compute": "models", "kernels": tmp_path / "costs.toml", "seed": 3}
    return lambda noise: traced(KERNELS, 4, folder=f"noise-{noise}", noise=noise, **options)


@pytest.mark.parametrize("rows_at_once", [1 << 17, 5])
def test_drawn_noise_is_removed_to_the_last_digit(noisy: Callable, monkeypatch: pytest.MonkeyPatch, rows_at_once: int):
    exact, _ = noisy(False)
    drawn, trace = noisy(True)
    assert drawn.makespan_s > 1.05 * exact.makespan_s
    monkeypatch.setattr("smpy.replay.rows._BATCH_ROWS", rows_at_once)
    np.testing.assert_allclose(replay(trace).finish_s, drawn.finish_s, rtol=1e-12)
    quiet = replay(trace, denoise=["cpu"])
    np.testing.assert_allclose(quiet.finish_s, exact.finish_s, rtol=1e-12)
    assert "pieces of computing 72 take what the kernel's model says" in quiet.noise_removed


def test_work_that_noise_left_nothing_of_is_there_without(traced: Callable, tmp_path: Path):
    nothing = COSTS.replace("[-1, -0.5, 0.5]", "[-1]")
    (tmp_path / "costs.toml").write_text(nothing)
    source = "import smpy\n@smpy.kernel(flop='1', name='sum')\ndef total(n): pass\ntotal(10**6)\nsmpy.execute(1e7)\n"
    options = {"platform": FLAT, "compute": "models", "kernels": tmp_path / "costs.toml", "noise": True}
    drawn, trace = traced(source, 1, **options)
    assert drawn.makespan_s == pytest.approx(1e-3, rel=1e-5)
    assert replay(trace, denoise=["cpu"]).makespan_s == pytest.approx(2e-3, rel=1e-5)


def test_a_faster_kernel_is_faster_without_noise_too(noisy: Callable):
    exact, trace = noisy(False)
    better = [("kernel", "dgemm", 2)]
    faster = replay(trace, better=better).finish_s
    np.testing.assert_allclose(replay(noisy(True)[1], better=better, denoise=["cpu"]).finish_s, faster, rtol=1e-12)
    assert faster.max() < exact.makespan_s


def test_measured_work_takes_its_5th_percentile_within_2_percent_of_no_noise(traced: Callable):
    """The percentile of 40 half-normal draws is 1 + 0.063 sigma on average: 0.6 %; the longest of 4 ranks is 15 %."""
    exact, _ = traced(MEASURED.format(share=0), 4, folder="exact", platform=FLAT, compute="none")
    drawn, trace = traced(MEASURED.format(share=0.1), 4, folder="drawn", platform=FLAT, compute="none")
    quiet = replay(trace, denoise=["cpu"])
    assert drawn.makespan_s > 1.05 * exact.makespan_s
    assert quiet.makespan_s == pytest.approx(exact.makespan_s, rel=0.02)
    assert "160 take what the kernel's model says without noise; 320 take the 5th percentile" in quiet.noise_removed


def test_links_are_still_without_noise_of_the_network(traced: Callable):
    source = """
import numpy
from mpi4py import MPI
for step in range(20):
    MPI.COMM_WORLD.Alltoall(numpy.zeros(400_000), numpy.zeros(400_000))
"""
    still = read_machine(FLAT, 4)
    link = still.build().link_name(0)
    slow = Profile(((0.0, 1e7), (0.001, 1e9)), period_s=0.002)
    jittery = dataclasses.replace(still, connections=(ProfileConnection(Changing.BANDWIDTH, link, slow),))
    exact, _ = traced(source, 4, folder="exact", platform=still)
    drawn, trace = traced(source, 4, folder="drawn", platform=jittery)
    assert drawn.makespan_s > 1.05 * exact.makespan_s
    np.testing.assert_allclose(replay(trace).finish_s, drawn.finish_s, rtol=1e-12)
    np.testing.assert_allclose(replay(trace, denoise=["net"]).finish_s, exact.finish_s, rtol=1e-9)
    assert replay(trace, denoise=["cpu"]).makespan_s == pytest.approx(drawn.makespan_s, rel=1e-12)


def test_efficiencies_stand_beside_those_without_noise(noisy: Callable):
    _, trace = noisy(True)
    found = pop([trace], replay, denoise=["cpu"])
    quiet, exact = found.noise_free[0], pop([noisy(False)[1]], replay).runs[0]
    for name in ("time_s", "load_balance", "serialisation", "transfer", "contention", "bandwidth", "overhead"):
        assert getattr(quiet, name) == pytest.approx(getattr(exact, name), rel=1e-9), name
    assert quiet.load_balance > found.runs[0].load_balance
    command = ["analyze", "pop", str(trace.folder), "--denoise", "cpu"]
    lines = CliRunner().invoke(main, command, catch_exceptions=False).output.splitlines()
    assert lines[0].split() == ["Efficiencies", "4", "ranks", "without", "noise"]
    row = next(line for line in lines if "load balance" in line)
    assert row.split()[2:] == [f"{it.load_balance:.1%}" for it in (found.runs[0], quiet)]
    told = json.loads(CliRunner().invoke(main, [*command, "--json", "-"]).output)
    assert told["noise_free"][0]["load_balance"] == quiet.load_balance


def test_several_runs_without_noise_are_compared_with_that_of_the_fewest_ranks(traced: Callable):
    source = MEASURED.format(share=0.1)
    traces = [traced(source, n, folder=str(n), platform=FLAT, compute="none")[1] for n in (2, 4)]
    found = pop(traces, replay, denoise=["cpu", "net"])
    times_s = [it.time_s for it in found.noise_free]
    row = next(line for line in found.table().splitlines() if "speed-up" in line)
    assert row.split()[1:3] == ["1", "1"]
    assert float(row.split()[4]) == pytest.approx(times_s[0] / times_s[1], rel=1e-3)
    assert "Links keep their latency and bandwidth" in found.table()


def test_noise_of_nothing_known_or_of_a_part_of_a_run_stays(traced: Callable, emulated: Callable, tmp_path: Path):
    _, trace = traced(MEASURED.format(share=0), 2, platform=FLAT, compute="none")
    with pytest.raises(UsageError, match="'disk' has no noise"):
        replay(trace, denoise=["disk"])
    with pytest.raises(UsageError, match="leave out the region"):
        pop([trace], replay, region="it", denoise=["cpu"])
    with pytest.raises(UsageError, match="give a replay"):
        pop([trace], denoise=["cpu"])
    emulated(MEASURED.format(share=0), 2, compute="none", trace=tmp_path / "part", trace_ranks=(1,))
    with pytest.raises(UsageError, match="cannot be replayed"):
        pop([Trace(tmp_path / "part")], replay, denoise=["cpu"])
