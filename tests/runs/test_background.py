"""Messages of other jobs: closed forms of shared links, their cost in the summary, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from smpy.option_texts import UniformTraffic, background, background_text
from smpy.records.trace import Trace
from smpy.replay import replay

SHARED = "flat hosts=4 cores=1 nic=100GB/s latency=1us backbone_bandwidth=1GB/s speed=1Gf"
PAIR = """
import sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
time.sleep(float(sys.argv[1]))
if comm.rank == 0:
    comm.Send(bytearray(10_000_000), 1)
elif comm.rank == 1:
    comm.Recv(bytearray(10_000_000), 0)
time.sleep(float(sys.argv[2]))
"""
ALONE_S = 10_000_016 / 1e9  # on the backbone, with its envelope


@pytest.fixture
def other_job(emulated: Callable, tmp_path: Path) -> Path:
    """Trace of one message, 50 ms after the begin of 1 s, on two hosts."""
    ran = emulated(PAIR, 2, args=("0.05", "0.95"), platform=SHARED, network="raw", trace=tmp_path / "job")
    assert ran.outcome.error is None
    return tmp_path / "job"


def sent_at(job: Path, seed: int) -> float:
    """Date of a run at which the other job begins its send."""
    trace = Trace(job)
    period_s = trace.makespan_s
    return (float(trace.table("messages")["receive_posted_s"][0].as_py()) - Random(seed).random() * period_s) % period_s


@pytest.mark.parametrize(("seed", "later_s"), [(0, 0.0), (1, 0.004), (2, 0.02)])
def test_a_message_shares_a_link_with_that_of_a_trace_on_free_hosts(
    emulated: Callable, other_job: Path, seed: int, later_s: float
) -> None:
    begin = str(sent_at(other_job, seed) + later_s)
    config = {"args": (begin, "0"), "platform": SHARED, "network": "raw", "seed": seed}
    alone = emulated(PAIR, 2, **config).outcome.summary
    beside = emulated(PAIR, 2, background=other_job, **config).outcome.summary
    shared_s = max(0.0, ALONE_S - later_s)  # left of the other message, which the pair's takes as long to wait for
    assert beside.makespan_s - alone.makespan_s == pytest.approx(shared_s, rel=1e-9, abs=1e-12)
    assert beside.messages == alone.messages


def test_the_limit_of_many_small_messages_takes_its_share_of_a_pair(emulated: Callable) -> None:
    pair = {"args": ("0", "0"), "platform": "flat hosts=2 cores=1 nic=1GB/s latency=0.1us speed=1Gf", "network": "raw"}
    alone_s = emulated(PAIR, 2, **pair).outcome.summary.makespan_s
    many = emulated(PAIR, 2, background=UniformTraffic(0.5, 2000), **pair).outcome.summary
    assert many.makespan_s / alone_s == pytest.approx(1 / (1 - 0.5), rel=0.1)


def test_another_seed_draws_other_messages_and_the_same_seed_the_same(emulated: Callable) -> None:
    def makespan_s(seed: int) -> float:
        ran = emulated(PAIR, 2, args=("0", "0"), ranks_per_host=1, background=UniformTraffic(0.3, 65536), seed=seed)
        return float(ran.outcome.summary.makespan_s)

    assert makespan_s(0) == makespan_s(0) != makespan_s(1)


def test_the_summary_tells_what_the_background_costs(smpy_run: Callable, tmp_path: Path) -> None:
    options = ("--compute", "none", "--ppn", "1", "--background", "share=30%,size=64KiB", "--json", "out.json")
    ran = smpy_run(PAIR, 2, *options, args=("0", "0"))
    record = json.loads((tmp_path / "out.json").read_text())
    (remark,) = (remark for remark in record["remarks"] if remark["topic"] == "background")
    assert ran.code == 0
    assert 0 < remark["makespan_without_s"] < record["makespan_s"]
    assert remark["messages"] > 0
    assert record["background"] == {"text": "share=0.3,size=65536B", "seed": 0}
    assert re.search(
        r"background +uniform traffic of 0.3 of the bandwidth, in messages of 65.54 kB \(seed 0\)", ran.err
    )
    assert re.search(r"makespan without it .* it costs .* %", ran.err)


def test_a_run_ends_and_stands_still_as_without_a_background(emulated: Callable) -> None:
    waits = "from mpi4py import MPI\nMPI.COMM_WORLD.recv(source=0)"
    ran = emulated(waits, 1, platform=SHARED, background=UniformTraffic(0.3))
    assert "1 rank waits for" in str(ran.outcome.error)
    assert emulated("", 2, platform=SHARED, background=UniformTraffic(0.3)).outcome.error is None


def test_a_replay_has_the_background_of_its_run_or_none_or_another(emulated: Callable, tmp_path: Path) -> None:
    config = {"args": ("0", "0"), "platform": "flat hosts=4 cores=1 nic=1GB/s latency=1us speed=1Gf"}
    alone_s = emulated(PAIR, 2, **config).outcome.summary.makespan_s
    busy = UniformTraffic(0.3, 100_000)
    ran = emulated(PAIR, 2, background=busy, seed=3, trace=tmp_path / "trace", **config).outcome.summary
    trace = Trace(tmp_path / "trace")
    again = replay(trace, to=tmp_path / "again")
    assert again.makespan_s == ran.makespan_s > alone_s
    assert Trace(tmp_path / "again").info["background"] == trace.info["background"]
    assert replay(trace, background="none").makespan_s == alone_s
    assert replay(trace, background=busy, seed=4).makespan_s not in (ran.makespan_s, alone_s)


def test_a_trace_on_more_hosts_than_are_free_is_refused(smpy_run: Callable, other_job: Path) -> None:
    ran = smpy_run(PAIR, 3, "--platform", SHARED, "--background", str(other_job), args=("0", "0"))
    assert ran.code == 2
    assert "its ranks were on 2 hosts, and this run leaves 1 of 4 free: use a larger machine" in ran.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--background", "30%"), "--background 30%: there is no such folder: say share=30%, a trace, or none"),
        (("--background", "share=0%"), "a share is above 0 and below 100%"),
        (("--background", "share=100%"), "a share is above 0 and below 100%"),
        (("--background", "share=x"), "is not share=30%"),
        (("--background", "share=30%,bytes=1MB"), "is not share=30%"),
        (("--background", "share=30%,size=0B"), "is not share=30%"),
        (("--background", "share=30%", "--network", "loggp", "--ppn", "1"), "the network model loggp has none"),
        (("--background", "share=30%", "--platform", "flat hosts=1 cores=2"), "has one host, and no links to others"),
    ],
)
def test_a_background_that_cannot_be_is_refused(smpy_run: Callable, options: tuple[str, ...], told: str) -> None:
    ran = smpy_run("", 2, "--compute", "none", *options)
    assert (ran.code, told in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("share=30%", UniformTraffic(0.3)),
        ("share=0.25,size=64KiB", UniformTraffic(0.25, 65536)),
        ("none", "none"),
        ("./none", Path("none")),
        ("traces/job", Path("traces/job")),
    ],
)
def test_a_background_is_read_and_written(text: str, value: object) -> None:
    assert background(text) == value
    assert background(background_text(background(text))) == value
