"""Analyses of a program's trace name the fault that was planted in it."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, prod
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from smpy.analysis.comparison import compare
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.pop_metrics import PARTS, pop
from smpy.analysis.run_bounds import bounds
from smpy.analysis.wait_analysis import waits
from smpy.records.trace import Trace
from smpy.replay import replay

LATENCY_S, BANDWIDTH, SPEED = 1e-4, 1e8, 1e9
HEAD = """import numpy as np
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""
SLOW_RANK = (
    HEAD
    + """for _ in range(3):
    smpy.execute(5e7 if rank == 2 else 1e7)
    comm.Sendrecv(np.zeros(100), (rank + 1) % size, 0, np.zeros(100), (rank - 1) % size, 0)
    comm.Barrier()
"""
)
CHAIN = (
    HEAD
    + """smpy.execute(1e7)
if rank == 0:
    smpy.execute(9e7)
if rank > 0:
    comm.Recv(np.zeros(10), rank - 1)
if rank < size - 1:
    comm.Send(np.zeros(10), rank + 1)
"""
)
LARGE_MESSAGE = (
    HEAD
    + """smpy.execute(1e7)
if rank == 0:
    comm.Send(np.zeros(10**6), 1)
elif rank == 1:
    comm.Recv(np.zeros(10**6), 0)
comm.Barrier()
"""
)
MANY_MESSAGES = (
    HEAD
    + """smpy.execute(1e4)
for _ in range(50):
    for peer in (1, 0):
        if rank != peer:
            comm.Send(np.zeros(1), peer)
        else:
            comm.Recv(np.zeros(1), 1 - peer)
"""
)
KERNELS = (
    HEAD
    + """@smpy.kernel(flop="8*n")
def heavy(n):
    pass

@smpy.kernel(flop="n")
def light(n):
    pass

for _ in range(4):
    heavy(10**7)
    light(10**7)
    comm.Allreduce(np.ones(1000), np.zeros(1000))
"""
)
HOT_LINK = (
    HEAD
    + """smpy.execute(1e6)
if rank == 0:
    MPI.Request.Waitall([comm.Irecv(np.zeros(10**5), peer) for peer in range(1, size)])
else:
    comm.Send(np.zeros(10**5), 0)
"""
)
PROGRAMS = {
    "hot link": (HOT_LINK, 6),
    "slow rank": (SLOW_RANK, 4),
    "chain": (CHAIN, 4),
    "large message": (LARGE_MESSAGE, 3),
    "many messages": (MANY_MESSAGES, 2),
    "kernels": (KERNELS, 5),
}


def machine(speed: float = SPEED, bandwidth: float = BANDWIDTH, latency_s: float = LATENCY_S) -> str:
    return (
        "<platform version='4.1'><cluster id='c' prefix='n' suffix='' radical='0-7' "
        f"speed='{speed!r}f' bw='{bandwidth!r}Bps' lat='{latency_s!r}s'/></platform>"
    )


@pytest.fixture
def made(emulated: Callable[..., object], tmp_path: Path) -> Callable[..., Trace]:
    """The trace of a program on eight hosts."""

    def trace(name: str, **changes: float) -> Trace:
        source, n_ranks = PROGRAMS[name]
        (tmp_path / "machine.xml").write_text(machine(**changes))
        folder = tmp_path / f"trace{len(list(tmp_path.glob('trace*')))}"
        ran = emulated(source, n_ranks, platform=tmp_path / "machine.xml", trace=folder, compute="models")
        assert ran.error == ""
        return Trace(folder)

    return trace


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_identities_hold(made: Callable[..., Trace], name: str):
    trace = made(name)
    path, late = critical_path(trace), waits(trace)
    assert fsum(it.seconds for it in path.rows) == pytest.approx(trace.makespan_s, rel=1e-9)
    assert not any(it.kind.startswith("late") for it in path.rows)
    assert fsum(it.seconds for it in late.causes) == pytest.approx(late.seconds, rel=1e-9)
    (run,) = pop([trace], replay).runs
    assert run.parallel == pytest.approx(run.load_balance * run.serialisation * run.transfer, rel=1e-12)
    assert run.transfer == pytest.approx(prod(getattr(run, part) for part in PARTS), rel=1e-12)
    assert run.ideal_s <= run.time_s


def test_a_slow_rank_is_named_by_all(made: Callable[..., Trace]):
    trace = made("slow rank")
    cause = waits(trace).causes[0]
    assert (cause.rank, cause.kind, cause.place.line) == (2, "compute", 7)
    assert cause.seconds > 0.9 * waits(trace).seconds
    assert critical_path(trace).by_rank_s.argmax() == 2
    shares = {(it.part, it.name): it.share for it in bounds(trace, replay).bounds}
    assert shares["host", "n2"] == max(shares.values())


def test_the_first_of_a_chain_of_late_senders_is_named(made: Callable[..., Trace]):
    found = waits(made("chain"))
    assert {it.rank for it in found.waits} == {1, 2, 3}
    assert (found.causes[0].rank, found.causes[0].place.line) == (0, 8)
    assert found.causes[0].seconds > 0.95 * found.seconds


def test_a_message_that_is_too_large_for_its_link_is_named(made: Callable[..., Trace]):
    trace = made("large message")
    first = critical_path(trace).rows[0]
    assert (first.kind, first.messages, first.bytes) == ("transfer", 1, 8_000_000)
    largest = bounds(trace, replay).bounds[0]
    assert (largest.part, largest.words) == ("bandwidth", "the network's bandwidth")


def test_a_link_that_many_messages_take_is_named(made: Callable[..., Trace]):
    trace = made("hot link")
    path = critical_path(trace)
    shares = {(it.part, it.name): it.share for it in bounds(trace, replay).bounds}
    assert max(shares, key=lambda it: (it[0] == "link", shares[it]))[1].endswith("0_DOWN")
    assert max(share for (part, _), share in shares.items() if part == "link") > 0.9
    assert shares["contention", ""] > 0.7
    assert path.contention_s == pytest.approx(shares["contention", ""] * path.time_s, rel=0.01)


def test_latency_bounds_a_program_of_small_messages(made: Callable[..., Trace]):
    assert bounds(made("many messages"), replay).bounds[0].part == "latency"


def test_a_slow_kernel_is_named(made: Callable[..., Trace]):
    trace = made("kernels")
    path = critical_path(trace)
    assert path.by_kernel_s["heavy"] == pytest.approx(8 * path.by_kernel_s["light"], rel=1e-6)
    shares = {(it.part, it.name): it.share for it in bounds(trace, replay).bounds}
    assert shares["kernel", "heavy"] == pytest.approx(8 * shares["kernel", "light"], rel=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_bounds_are_what_runs_on_the_better_machine_take(made: Callable[..., Trace], name: str):
    found = {it.part: it.makespan_s for it in bounds(made(name), replay, n_links=0, n_hosts=0).bounds if not it.name}
    fresh = {
        "latency": made(name, latency_s=LATENCY_S / 1.1),
        "bandwidth": made(name, bandwidth=BANDWIDTH * 1.1),
        "computing": made(name, speed=SPEED * 1.1),
    }
    for part, trace in fresh.items():
        assert found[part] == pytest.approx(trace.makespan_s, rel=1e-6)


COSTS = """
[kernels]
reference_speed = "1Gf"
[kernels.dgemm]
sizes = ["m", "n", "k"]
seconds = { "m*n*k" = %r }
[kernels.dtrsm_right]
sizes = ["m", "n"]
seconds = { "m*n^2" = %r, "1" = %r }
[kernels.dtrsm_left]
sizes = ["m", "n"]
seconds = { "m^2*n" = %r, "1" = %r }
"""
KERNELS_S = {"dgemm": (2.2e-9,), "dtrsm_right": (1.1e-9, 1e-5), "dtrsm_left": (1.1e-9, 1e-5)}
PIPELINE = (
    HEAD
    + """models = smpy.KernelModels(dgemm_s_per_mnk=None, dtrsm_s_per_mnn=None)
for block in range(6):
    if rank > 0:
        comm.Recv(np.zeros(3000), rank - 1)
    models.dgemm(200 + 50 * rank, 200, 100)
    models.dtrsm(300, 100, "right" if block % 2 else "left")
    if rank < size - 1:
        comm.Send(np.zeros(3000), rank + 1)
"""
)
RING = (
    HEAD
    + """models = smpy.KernelModels(dgemm_s_per_mnk=None, dtrsm_s_per_mnn=None)
for step in range(5):
    there = comm.Isend(np.zeros(20_000), (rank + 1) % size)
    models.dgemm(100 + 40 * ((rank + step) % size), 100, 100)
    comm.Recv(np.zeros(20_000), (rank - 1) % size)
    models.dtrsm(150 if rank else 250, 100)
    there.Wait()
    comm.Allreduce(np.ones(500), np.zeros(500))
"""
)
HPL = {
    "program": str(Path(__file__).parents[2] / "apps" / "hpl.py"),
    "args": ("--n", "400", "--nb", "40", "--p", "2", "--q", "3", "--skeleton", "--calibrated"),
}
CALIBRATED = {"pipeline": (PIPELINE, {}), "ring": (RING, {}), "hpl": (None, HPL)}


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_better_kernel_bounds_a_run_as_runs_with_its_costs_say(
    emulated: Callable[..., object], tmp_path: Path, name: str
):
    source, program = CALIBRATED[name]
    costs = tmp_path / "costs.toml"
    (tmp_path / "machine.xml").write_text(machine())

    def makespan_s(better: str = "", trace: Path | None = None) -> float:
        costs_s = [each / (1.1 if kernel == better else 1) for kernel, of in KERNELS_S.items() for each in of]
        costs.write_text(COSTS % tuple(costs_s))
        options = {"platform": tmp_path / "machine.xml", "compute": "models", "kernels": costs, "trace": trace}
        ran = emulated(source, 6, **program, **options)
        assert ran.error == ""
        return ran.outcome.summary.makespan_s

    before_s = makespan_s(trace=tmp_path / "trace")
    shares = bounds(Trace(tmp_path / "trace"), replay, n_links=0, n_hosts=0).bounds
    found_s = {it.name: it.makespan_s for it in shares if it.name in KERNELS_S}
    assert {"dgemm", "dtrsm_right"} <= found_s.keys()
    for kernel, seconds in found_s.items():
        assert seconds < before_s
        assert seconds == pytest.approx(makespan_s(better=kernel), rel=1e-9)


def test_a_slower_network_is_where_two_runs_differ(made: Callable[..., Trace]):
    found = compare(made("large message"), made("large message", bandwidth=BANDWIDTH / 2))
    assert {(it.kind, it.place.call) for it in found.differences[:2]} == {("transfer", "Send"), ("transfer", "Recv")}
    assert fsum(it.seconds for it in found.differences) == pytest.approx(
        found.after.rank_seconds - found.before.rank_seconds, rel=1e-9
    )
