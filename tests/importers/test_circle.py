"""The whole circle: a program runs under a real MPI, is traced, imported, and replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import smpy
from smpy.records.trace import Trace
from smpy.replay import replay

pytest.importorskip("otf2")

ROOT = Path(__file__).parents[2]
PROFILE = Path(__file__).with_name("otf2_profile.py")
MACHINE = "flat hosts=1 cores=2"
PROGRAMS = {
    "apps/ring.py --rounds 5 --length 1000": {"Send", "Recv", "Barrier", "Allreduce"},
    "apps/jacobi.py --n 40 --iterations 3": {"Isend", "Irecv", "Waitall", "Barrier", "Allreduce"},
    "calibration/programs/sample_sort.py --keys 2000": {"Alltoall", "Alltoallv", "Bcast", "Gather", "Barrier"},
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_real_program_is_traced_imported_and_replayed_call_by_call(
    program: str, mpiexec: Callable[..., str], tmp_path: Path
):
    name, *arguments = program.split()
    printed = mpiexec(2, str(PROFILE), str(tmp_path / "archive"), str(ROOT / name), *arguments)
    assert "time: " in printed
    real = smpy.import_trace(tmp_path / "archive" / "traces.otf2", tmp_path / "real", platform=MACHINE)
    replay(real, to=tmp_path / "simulated")
    simulated = Trace(tmp_path / "simulated")
    assert _messages(real) == _messages(simulated)
    assert {"Init", "Finalize"} | PROGRAMS[program] <= _calls(real)
    assert PROGRAMS[program] <= _calls(simulated)
    computing_s = [_computing_s(trace) for trace in (real, simulated)]
    assert computing_s[1] == pytest.approx(computing_s[0], rel=1e-6)


def _messages(trace: Trace) -> Counter[tuple[int, int, int]]:
    """Messages outside collectives, by sender, receiver and bytes."""
    rows = trace.table("messages").to_pylist()
    return Counter((row["source"], row["target"], row["bytes"]) for row in rows if row["tag"] is not None)


def _calls(trace: Trace) -> set[str]:
    return set(trace.table("sites")["call"].to_pylist())


def _computing_s(trace: Trace) -> float:
    intervals = trace.table("intervals").to_pylist()
    return sum(row["end_s"] - row["start_s"] for row in intervals if row["kind"] == "compute")
