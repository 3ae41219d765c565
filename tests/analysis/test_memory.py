"""Cores, memory of a core and memory of a host: each analysis has the derivative of the closed form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from smpy.analysis.path_analysis import critical_path
from smpy.analysis.pop_metrics import pop
from smpy.analysis.run_bounds import bounds
from smpy.errors import PlatformError
from smpy.records.trace import Trace
from smpy.replay import replay
from smpy.study.parameters import read_parameters
from smpy.study.sensitivity import sensitivity

HOST = "flat hosts=1 cores=4 sockets=1 speed=1Gf latency=1ns"
MACHINE = f"{HOST} host.memory_bandwidth=8GB/s host.core_memory_bandwidth=4GB/s"
HEAD = """
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD

@smpy.kernel(flop="flop", bytes="bytes")
def alone(flop, bytes): pass

@smpy.kernel(flop="flop", bytes="bytes")
def together(flop, bytes): pass

@smpy.kernel(flop="flop", bytes="bytes")
def multiply(flop, bytes): pass

"""
THREE = (  # rank 0 moves 4e8 bytes alone, 0.1 s; four ranks 4e8 each at 2 GB/s, 0.2 s; then each computes for 0.3 s
    HEAD
    + """
if comm.rank == 0:
    alone(1e6, 4e8)
comm.Barrier()
together(1e6, 4e8)
comm.Barrier()
multiply(3e8, 1e6)
"""
)
PARTS = (("core_memory", "alone", 1 / 6), ("memory", "together", 1 / 3), ("cores", "multiply", 1 / 2))
STREAM = HEAD + "together(8e6 / comm.size, 8e8 / comm.size)\n"


@pytest.fixture
def traced(emulated: Callable[..., object], tmp_path: Path) -> Callable[..., Trace]:
    def trace(source: str, n_ranks: int, machine: str = MACHINE) -> Trace:
        folder = tmp_path / f"trace{len(list(tmp_path.glob('trace*')))}"
        ran = emulated(source, n_ranks, platform=machine, compute="models", trace=folder)
        assert ran.error == ""
        return Trace(folder)

    return trace


def test_bounds_are_the_derivatives_by_part_by_kernel_and_by_host(traced: Callable[..., Trace]):
    trace = traced(THREE, 4)
    assert trace.makespan_s == pytest.approx(0.6, rel=1e-4)
    rows = bounds(trace, replay).bounds
    shares = {(bound.part, bound.name): bound.share for bound in rows if bound.level < 2}
    of_host = {(bound.kernel, bound.name): bound.share for bound in rows if bound.level == 2}
    assert shares["computing", ""] == pytest.approx(1.0, abs=1e-4)
    for part, kernel, share in PARTS:
        assert shares[part, ""] == pytest.approx(share, abs=1e-4)
        assert shares["kernel", kernel] == pytest.approx(share, abs=1e-4)
        assert of_host[kernel, trace.host_of_rank[0]] == pytest.approx(share, abs=1e-4)
        assert critical_path(trace).by_kernel_s[kernel] == pytest.approx(share * trace.makespan_s, rel=1e-4)


def test_computing_of_a_run_is_split_into_cores_and_memories(traced: Callable[..., Trace]):
    result = pop([traced(THREE, 4)], replay)
    (run,) = result.runs
    computing_s, alone_s, cores_s = 0.1 + 4 * 0.2 + 4 * 0.3, 0.1 + 4 * 0.1 + 4 * 0.3, 5 * 0.001 + 4 * 0.3
    expected_s = [computing_s, alone_s, cores_s]
    assert [run.computing_s, run.alone_s, run.cores_s] == pytest.approx(expected_s, rel=1e-6)
    lines = dict(line.strip().rsplit("  ", 1) for line in result.table().splitlines() if "bound by" in line)
    assert {name.strip(): share.strip() for name, share in lines.items()} == {
        "computing bound by cores": f"{cores_s / computing_s:.1%}",
        "computing bound by memory of a core": f"{(alone_s - cores_s) / computing_s:.1%}",
        "computing bound by memory of a host": f"{(computing_s - alone_s) / computing_s:.1%}",
    }


def test_memory_of_a_host_that_more_ranks_share_is_no_loss_of_speed(traced: Callable[..., Trace]):
    result = pop([traced(STREAM, n) for n in (1, 4)], replay)
    scaling = result.scalings[1]
    assert [scaling.computing, scaling.memory] == pytest.approx([0.5] * 2, rel=1e-6)
    assert [scaling.operations, scaling.speed, scaling.core_memory] == pytest.approx([1.0] * 3, rel=1e-6)
    assert "memory of a host" in result.table()


def test_more_bytes_for_the_same_operations_are_memory_of_a_core(traced: Callable[..., Trace]):
    result = pop([traced(HEAD + "alone(4e6 / comm.size, 4e8)\n", n) for n in (1, 2)], replay)
    scaling = result.scalings[1]
    assert [scaling.computing, scaling.core_memory] == pytest.approx([0.5] * 2, rel=1e-6)
    assert [scaling.operations, scaling.speed, scaling.memory] == pytest.approx([1.0] * 3, rel=1e-6)


def test_runs_that_move_no_memory_have_no_lines_of_it(traced: Callable[..., Trace]):
    runs = [traced(HEAD + "multiply(4e8 / comm.size, 0)\n", n, HOST) for n in (1, 4)]
    assert "memory" not in pop(runs, replay).table()
    assert {bound.part for bound in bounds(runs[1], replay).bounds}.isdisjoint({"cores", "core_memory", "memory"})


@pytest.mark.parametrize(
    ("key", "saved_s"), [("cpu", 0.15), ("host.core_memory_bandwidth", 0.05), ("host.memory_bandwidth", 0.1)]
)
def test_sensitivity_varies_cores_and_both_memories(traced: Callable[..., Trace], key: str, saved_s: float):
    result = sensitivity(traced(THREE, 4).folder, read_parameters([f"{key}=x1:x2"]))
    (effect,) = result.effects
    assert effect.low_s - effect.high_s == pytest.approx(saved_s, rel=1e-3)
    assert ("Memory bounds computing" in result.table()) == (key == "cpu")


def test_a_core_has_its_bandwidth_to_itself_where_none_of_its_host_is_known(traced: Callable[..., Trace]):
    """Four ranks move 4e8 bytes each at 4 GB/s, as one rank does."""
    trace = traced(HEAD + "together(1e6, 4e8)\n", 4, f"{HOST} host.core_memory_bandwidth=4GB/s")
    assert trace.makespan_s == pytest.approx(0.1, rel=1e-6)
    shares = {bound.part: bound.share for bound in bounds(trace, replay).bounds}
    assert [shares["core_memory"], shares["memory"], shares["cores"]] == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    with pytest.raises(PlatformError, match="a host has no memory bandwidth"):
        replay(trace, options=[("host.memory_bandwidth", "x2")])


def test_bytes_that_took_no_time_take_it_in_a_replay_on_a_machine_with_memory(traced: Callable[..., Trace]):
    known, unknown = traced(THREE, 4), traced(THREE, 4, HOST)
    assert unknown.makespan_s == pytest.approx(0.302, rel=1e-4)
    elsewhere = replay(unknown, options=[("host.memory_bandwidth", "8GB/s"), ("host.core_memory_bandwidth", "4GB/s")])
    assert elsewhere.makespan_s == pytest.approx(known.makespan_s, rel=1e-12)
    assert replay(unknown).makespan_s == unknown.makespan_s
