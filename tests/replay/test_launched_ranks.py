"""Ranks that others start are in the trace, and its replay starts them at the dates of the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.records.trace import Trace
from smpy.replay import replay

FLAT = "flat hosts=12 cores=2 nic=10Gb/s latency=1us speed=10Gf"
SLOWER = (("smpi/bw-factor", "0:0.7"), ("smpi/lat-factor", "0:3"))

PROGRAM = """
import sys
import numpy, smpy
from mpi4py import MPI

def meet(side):
    both, values = side.Merge(), numpy.ones(1000)
    both.Allreduce(MPI.IN_PLACE, values)
    both.Free()
    side.Disconnect()

world, parent = MPI.COMM_WORLD, MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    for generation in range(2):
        smpy.execute(1e6 * (1 + world.rank + 3 * generation))
        meet(world.Spawn(sys.executable, [__file__, "again"][: 2 - generation], 2 + generation, root=generation))
        world.Bcast(numpy.zeros(100))
else:
    smpy.execute(3e6 * (1 + world.rank))
    if len(sys.argv) > 1 and world.rank == 1:
        meet(MPI.COMM_SELF.Spawn(sys.executable, [__file__]))
    world.Barrier()
    meet(parent)
"""


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Trace:
    ran = emulated(PROGRAM, 3, trace=tmp_path / "trace", platform=FLAT)
    assert ran.outcome.error is None
    return Trace(tmp_path / "trace")


def test_the_trace_has_all_ranks_and_changes_no_date(traced: Trace, emulated: Callable):
    assert traced.n_ranks == 3 + 2 + 1 + 3
    assert traced.info["finish_s"] == emulated(PROGRAM, 3, platform=FLAT).outcome.summary.finish_s.tolist()
    intervals = traced.table("intervals").to_pandas()
    assert set(intervals["rank"]) == set(range(9))
    began_s = intervals[intervals["kind"] == "compute"].groupby("rank")["start_s"].min()
    assert (began_s[3:] > began_s[:3].max()).all()


def test_a_replay_has_their_dates_and_with_another_network_those_of_a_run_there(traced: Trace, emulated: Callable):
    again = replay(traced)
    assert again.finish_s.tolist() == traced.info["finish_s"]
    assert again.messages == traced.info["messages"]
    there = emulated(PROGRAM, 3, platform=FLAT, options=SLOWER).outcome.summary
    assert replay(traced, options=SLOWER).finish_s == pytest.approx(there.finish_s, rel=1e-12)


def test_a_trace_of_some_ranks_has_none_that_were_started(emulated: Callable, tmp_path: Path):
    emulated(PROGRAM, 3, trace=tmp_path / "trace", trace_ranks=(1,), platform=FLAT)
    ranks = {row["rank"] for row in Trace(tmp_path / "trace").table("intervals").to_pylist()}
    assert ranks == {1}
