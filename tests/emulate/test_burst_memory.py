"""Bytes of measured bursts are learnt beside a load, and slow down ranks of one host; or the summary says why not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from smpy.compute.clock import learnt_memory, measured_clock
from smpy.emulate.run import burst_memory
from smpy.engine.processors import usable_processors
from smpy.errors import UsageError
from smpy.options import RunConfig
from tests.emulate.planted_clock import plant

CORE, MEMORY = 1.05, 1.8
HOST = """
[host]
speed = "2Gf"
core_memory_bandwidth = "10GB/s"
"""
LOAD = f"""
[calibration.load]
memory = "64MiB"
core_slowdown = {CORE}
memory_slowdown = {MEMORY}
"""
MACHINE = "flat hosts=2 cores=2 speed=2Gf host.memory_bandwidth=10GB/s host.core_memory_bandwidth=10GB/s"
PLANTED = """
from mpi4py import MPI
from planted_clock import work
from smpy.engine.surface import surface
surface and surface.watch(True)
comm = MPI.COMM_WORLD
def step(seconds, share):
    work(seconds, share)
    comm.Barrier()
"""


class PlantedLoad:
    """A load that stretches planted work while it runs, and gets a part of its core."""

    core_part = 1.0
    running: PlantedLoad | None = None

    def __init__(self, nbytes: int, processors: Sequence[int]) -> None:
        self.used_s, self.beside_s = 0.0, 0.0

    def start(self, most_s: float) -> None:
        PlantedLoad.running = self

    def stop(self) -> None:
        PlantedLoad.running = None

    def processor_s(self) -> float:
        return self.used_s


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a clock, a load, and work that takes longer beside it."""
    plant(monkeypatch)
    clock: Any = sys.modules["planted_clock"]

    def work(seconds: float, share: float) -> None:
        load = PlantedLoad.running
        if load is not None:
            seconds *= 1 + load.core_part * ((1 - share) * CORE + share * MEMORY - 1)
            load.used_s += load.core_part * seconds
            load.beside_s += seconds
        clock.advance(seconds)

    clock.work = work
    monkeypatch.setattr(learnt_memory, "_real_s", measured_clock._monotonic_s)
    monkeypatch.setattr(learnt_memory, "NeighbourLoad", PlantedLoad)
    monkeypatch.setattr(burst_memory, "usable_processors", lambda: (0, 1))


@pytest.fixture
def node(tmp_path: Path) -> Path:
    path = tmp_path / "node.toml"
    path.write_text(f"[calibration]\n{LOAD}{HOST}", encoding="utf-8")
    return path


def remark(ran: Any) -> dict[str, Any]:
    assert ran.error == ""
    return next((dict(each.facts) for each in ran.outcome.summary.remarks if each.topic == "burst memory"), {})


def text(ran: Any) -> str:
    lines = [each.lines for each in ran.outcome.summary.remarks if each.topic == "burst memory"]
    return "\n".join(lines[0]) if lines else ""


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_ranks_of_a_host_slow_down_as_far_as_their_bursts_want_more_than_its_memory_has(
    emulated: Callable, node: Path, share: float
):
    n_steps = 400
    source = f"{PLANTED}for _ in range({n_steps}): step(1e-2, {share})"
    ran = emulated(source, 2, compute="measured", platform=MACHINE, host=node)
    assert remark(ran)["share"] == pytest.approx(share, abs=1e-6)
    assert ran.outcome.summary.makespan_s == pytest.approx(n_steps * 1e-2 * max(1, 2 * share), rel=0.02)


@pytest.mark.usefixtures("planted")
def test_each_place_has_a_share_of_its_own(emulated: Callable, node: Path):
    places = ["    work(1e-2, 1.0)", "    comm.Barrier()", "    work(3e-2, 0.0)", "    comm.Barrier()"]
    source = "\n".join([f"{PLANTED}for _ in range(200):", *places])
    ran = emulated(source, 2, compute="measured", platform=MACHINE, host=node)
    assert remark(ran)["share"] == pytest.approx(0.25, abs=0.01)
    n_first = 2  # bursts of the two ranks behind no call
    assert remark(ran)["n_known"] == remark(ran)["n_places"] - n_first == 4
    assert ran.outcome.summary.makespan_s == pytest.approx(200 * 5e-2, rel=0.05)  # until each is known, it has the mean


@pytest.mark.usefixtures("planted")
def test_one_rank_takes_its_time_alone_to_the_bit_where_nothing_is_shared(emulated: Callable, node: Path):
    source = f"{PLANTED}for _ in range(100): step(1e-2, 0.5)"
    alone, none = (
        emulated(source, 2, compute="measured", platform=MACHINE.replace("cores=2", "cores=1"), host=node, **more)
        for more in ({}, {"burst_memory": "none"})
    )
    assert alone.outcome.summary.finish_s == none.outcome.summary.finish_s
    assert remark(alone)["why"] == "no two ranks share a host"
    assert not remark(none)


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(("seconds", "n_steps"), [(2e-4, 60), (1e-2, 60), (0.5, 60), (5.0, 60), (5.0, 4)])
def test_the_load_runs_in_a_small_part_of_the_time(
    emulated: Callable, node: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, n_steps: int
):
    loads: list[PlantedLoad] = []

    class Noted(PlantedLoad):
        def __init__(self, nbytes: int, processors: Sequence[int]) -> None:
            super().__init__(nbytes, processors)
            loads.append(self)

    monkeypatch.setattr(learnt_memory, "NeighbourLoad", Noted)
    emulated(
        f"{PLANTED}for _ in range({n_steps}): step({seconds}, 1.0)", 2, compute="measured", platform=MACHINE, host=node
    )
    assert loads[0].beside_s <= 0.1 * 2 * n_steps * seconds + learnt_memory._ALLOWED_S * MEMORY
    assert PlantedLoad.running is None


@pytest.mark.usefixtures("planted")
def test_a_load_that_does_not_get_its_core_tells_nothing(
    emulated: Callable, node: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(PlantedLoad, "core_part", 0.5)
    ran = emulated(f"{PLANTED}for _ in range(200): step(1e-2, 1.0)", 2, compute="measured", platform=MACHINE, host=node)
    facts = remark(ran)
    assert facts["share"] is None
    assert facts["n_disturbed"] == facts["n_beside"] > 0
    assert "other processes took the core of the load" in text(ran)


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    ("patch", "platform", "more", "why"),
    [
        ((0,), MACHINE, {}, "this machine has no free core for a load"),
        ((0, 1), MACHINE.partition(" host.")[0], {}, "the machine says no host.memory_bandwidth"),
        ((0, 1), MACHINE, {"record": Path("bursts.smpy")}, "a recording has the seconds of bursts alone"),
    ],
)
def test_the_summary_says_why_bursts_move_nothing(
    emulated: Callable, node: Path, monkeypatch: pytest.MonkeyPatch, patch: tuple, platform: str, more: dict, why: str
):
    monkeypatch.setattr(burst_memory, "usable_processors", lambda: patch)
    ran = emulated(f"{PLANTED}step(1e-2, 1.0)", 2, compute="measured", platform=platform, host=node, **more)
    assert remark(ran) == {"share": None, "why": why}
    assert text(ran) == f"bursts move none: {why}"


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (LOAD, "", "node.toml has no [calibration.load], which smpy calibrate host measures"),
        (
            f"memory_slowdown = {MEMORY}",
            "memory_slowdown = 1.07",
            "memory takes 1.07 times the time, a core 1.05",
        ),
    ],
)
def test_a_calibration_that_tells_memory_and_core_apart_is_needed(
    emulated: Callable, node: Path, before: str, after: str, why: str
):
    node.write_text(node.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    ran = emulated(f"{PLANTED}step(1e-2, 1.0)", 2, compute="measured", platform=MACHINE, host=node)
    assert why in text(ran)


@pytest.mark.parametrize("wrong", ['memory_slowdown = "fast"', "memory_slowdown = -1", "memory_slowdown = inf", ""])
def test_a_damaged_calibration_is_refused(emulated: Callable, node: Path, wrong: str):
    node.write_text(node.read_text(encoding="utf-8").replace(f"memory_slowdown = {MEMORY}", wrong), encoding="utf-8")
    with pytest.raises(UsageError, match=r"node\.toml: \[calibration\.load\]"):
        emulated("", 2, compute="measured", platform=MACHINE, host=node)


@pytest.mark.timed
def test_copies_of_large_arrays_are_bound_by_memory_and_small_products_are_not(emulated: Callable, tmp_path: Path):
    if burst_memory.surface is None or len(usable_processors()) < 2:
        pytest.skip("no load of memory here")
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(1):  # threads of BLAS would take the core of the load
        learn_from_large_arrays_and_small_products(emulated, tmp_path)


def learn_from_large_arrays_and_small_products(emulated: Callable, tmp_path: Path) -> None:
    measured = calibrated(tmp_path / "node.toml")
    if measured - 1 < 0.2:
        pytest.skip(f"beside a load of memory, memory takes {measured:.2f} times the time here: nothing to learn by")
    head = "import numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
    copy = "a, b = np.ones(12_500_000), np.zeros(12_500_000)\nfor _ in range(60): np.copyto(b, a); comm.Barrier()"
    product = "a = np.full((200, 200), 0.5)\nfor _ in range(4000): a @ a; comm.Barrier()"
    shares = [
        remark(emulated(head + work, 2, compute="measured", platform=MACHINE, host=tmp_path / "node.toml"))["share"]
        for work in (copy, product)
    ]
    if None in shares:
        pytest.skip("other processes took the core of the load")
    assert shares[0] > 0.5
    assert shares[1] < 0.3


def calibrated(path: Path) -> float:
    """Write a calibration of this machine; return how many times longer memory takes beside the load."""
    from smpy.calibrate.neighbours import beside_load, neighbours

    samples, left_out = beside_load(learnt_memory.NeighbourLoad(1 << 27, usable_processors()), 1 << 30)
    if left_out:
        pytest.skip(left_out[0])
    found = neighbours(samples, 1 << 27)
    load = f'memory = "128MiB"\ncore_slowdown = {found.core_slowdown}\nmemory_slowdown = {found.memory_slowdown}'
    path.write_text(f"[calibration]\n[calibration.load]\n{load}\n{HOST}", encoding="utf-8")
    return found.memory_slowdown


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "burst_memory: host names the calibration"),
        ({"host": Path("node.toml"), "compute": "none"}, "burst_memory and compute"),
        ({"host": Path("node.toml"), "record": Path("b")}, "burst_memory and compute"),
        ({"host": Path("node.toml"), "replay": Path("b")}, "burst_memory and compute"),
    ],
)
def test_options_that_cannot_hold_together_are_refused(more: dict[str, Any], message: str):
    config = RunConfig(n_ranks=2, program="p.py", burst_memory="learnt", **more)
    with pytest.raises(UsageError, match=message):
        config.check(lambda option: option.keyword)
