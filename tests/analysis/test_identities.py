"""Identities that hold whatever a program does: of its timeline, its messages, its efficiencies, its critical path.

Thirty programs: those of `apps/`, one for each collective, farms, a ping-pong, a pipeline and an imbalance.
"""

from __future__ import annotations

from math import fsum, prod
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import smpy
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.pop_metrics import PARTS, pop
from smpy.analysis.timeline import read_timeline
from smpy.analysis.wait_analysis import waits
from smpy.records.trace import Trace
from smpy.replay import replay

APPS = Path(__file__).parents[2] / "apps"
HEAD = """import numpy as np
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
smpy.execute(1e6 * (1 + rank))
n = 3000
one, all = np.ones(n), np.ones(n * size)
"""
COLLECTIVES = {
    "barrier": "comm.Barrier()",
    "bcast": "comm.Bcast(one, 1)",
    "reduce": "comm.Reduce(one, one.copy() if rank == 1 else None, root=1)",
    "allreduce": "comm.Allreduce(one, one.copy())",
    "gather": "comm.Gather(one, all if rank == 1 else None, root=1)",
    "scatter": "comm.Scatter(all if rank == 1 else None, one, root=1)",
    "allgather": "comm.Allgather(one, all)",
    "alltoall": "comm.Alltoall(all, all.copy())",
    "scan": "comm.Scan(one, one.copy())",
    "exscan": "comm.Exscan(one, one.copy())",
    "reduce_scatter_block": "comm.Reduce_scatter_block(all, one)",
    "objects": "comm.gather(list(range(rank)))",
    "nonblocking": "comm.Iallreduce(one, one.copy()).Wait()",
}
OTHERS = {
    "ping-pong": """for _ in range(4):
    if rank < 2:
        comm.Send(one, 1 - rank) if rank == 0 else comm.Recv(one, 0)
        comm.Recv(one, 1 - rank) if rank == 0 else comm.Send(one, 0)
""",
    "pipeline": """for _ in range(5):
    if rank:
        comm.Recv(one, rank - 1)
    smpy.execute(1e6)
    if rank < size - 1:
        comm.Send(one, rank + 1)
""",
    "imbalance": """for _ in range(3):
    smpy.execute(1e7 if rank == 0 else 1e6)
    comm.Barrier()
""",
    "serial bottleneck": """for _ in range(3):
    if rank == 0:
        smpy.execute(1e8)
    comm.Bcast(one, 0)
    smpy.execute(1e6)
""",
    "farm": """status = MPI.Status()
if rank == 0:
    for task in range(20 + size - 1):
        comm.Recv(one, MPI.ANY_SOURCE, 0, status)
        comm.Send(one[: 1 if task < 20 else 0], status.source)
else:
    while True:
        comm.Send(one, 0)
        comm.Recv(one, 0, status=status)
        if not status.Get_count(MPI.DOUBLE):
            break
        smpy.execute(1e6 * rank)
""",
    "polls": """if rank == 0:
    smpy.execute(1e7)
    for peer in range(1, size):
        comm.Send(one, peer)
else:
    while not comm.Iprobe(0):
        smpy.execute(1e5)
    comm.Recv(one, 0)
""",
}
PROGRAMS: dict[str, tuple[int, str | tuple[object, ...]]] = {
    "pingpong.py": (2, ("--sizes", 8, 100_000, "--repetitions", 2)),
    "ring.py": (5, ()),
    "monte_carlo_pi.py": (4, ()),
    "master_worker.py": (4, ()),
    "jacobi.py": (6, ("--n", 64, "--iterations", 12)),
    "jacobi3d.py": (4, ()),
    "conjugate_gradient.py": (4, ("--n", 32)),
    "fft2d.py": (4, ("--n", 64, "--m", 64)),
    "nbody.py": (3, ()),
    "npb/ep.py": (4, ()),
    "hpl.py": (4, ("--n", 600, "--nb", 60, "--p", 2, "--q", 2, "--skeleton")),
    **{name: (5, HEAD + call + "\n") for name, call in COLLECTIVES.items()},
    **{name: (4, HEAD + source) for name, source in OTHERS.items()},
}
assert len(PROGRAMS) == 30


def traced(name: str, folder: Path) -> Trace:
    n_ranks, what = PROGRAMS[name]
    program = APPS / name
    if isinstance(what, str):
        program, what = folder / "program.py", _written(folder / "program.py", what)
    machine = "fat-tree hosts=8 cores=1 speed=1Gf nic=1Gb/s latency=10us"
    run = smpy.simulate(
        program, *what, ranks=n_ranks, platform=machine, compute="models", trace=folder / "trace", profile_matrix=True
    )
    assert run.trace is not None
    return run.trace


def _written(path: Path, source: str) -> tuple[object, ...]:
    path.write_text(source)
    return ()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_time_is_tiled_bytes_arrive_and_factors_multiply(name: str, tmp_path: Path):
    trace = traced(name, tmp_path)
    timeline = read_timeline(trace)
    for rank in range(trace.n_ranks):
        mine = slice(int(timeline.first[rank]), int(timeline.first[rank + 1]))
        start_s, end_s = timeline.start_s[mine], timeline.end_s[mine]
        assert start_s[0] == 0
        assert end_s[-1] == pytest.approx(trace.makespan_s, rel=1e-9)
        assert np.array_equal(start_s[1:], end_s[:-1])
        assert (end_s >= start_s).all()
        assert fsum(end_s - start_s) == pytest.approx(trace.makespan_s, rel=1e-9)
    messages = trace.table("messages")
    carried = sum(messages["bytes"].to_pylist())
    assert carried == trace.info["bytes"]
    assert messages.num_rows == trace.info["messages"]
    ended_s = np.asarray(messages["ended_s"])
    assert not (ended_s < np.asarray(messages["send_posted_s"])).any()
    assert (ended_s <= trace.makespan_s).all()
    path, late = critical_path(trace), waits(trace)
    assert fsum(it.seconds for it in path.rows) == pytest.approx(trace.makespan_s, rel=1e-9)
    assert fsum(it.seconds for it in late.causes) == pytest.approx(late.seconds, rel=1e-9)
    if not any(timeline.computing_s()):
        return  # efficiencies have no meaning
    found = pop([trace], replay)
    (run,) = found.runs
    assert run.parallel == pytest.approx(run.load_balance * run.communication, rel=1e-12)
    assert run.parallel == pytest.approx(run.load_balance * run.serialisation * run.transfer, rel=1e-12)
    assert run.transfer == pytest.approx(prod(getattr(run, part) for part in PARTS), rel=1e-12)
    assert run.ideal_s <= run.time_s * (1 + 1e-12)


def test_a_serial_bottleneck_is_what_the_others_wait_for(tmp_path: Path):
    trace = traced("serial bottleneck", tmp_path)
    cause = waits(trace).causes[0]
    line = 1 + next(i for i, text in enumerate(PROGRAMS["serial bottleneck"][1].splitlines()) if "1e8" in text)  # type: ignore[union-attr]
    assert (cause.rank, cause.kind, cause.place.line) == (0, "compute", line)
    assert cause.seconds > 0.9 * waits(trace).seconds
    assert critical_path(trace).by_rank_s.argmax() == 0
    (run,) = pop([trace], replay).runs
    assert run.load_balance < 0.3


BARE = HEAD.replace("smpy.execute(1e6 * (1 + rank))\n", "")


def test_a_pipeline_has_the_serialisation_of_the_hand_formula(tmp_path: Path):
    """Five pieces of one cost through four ranks take eight times that cost on an ideal network."""
    PROGRAMS["pipeline alone"] = (4, BARE + OTHERS["pipeline"])
    (run,) = pop([traced("pipeline alone", tmp_path)], replay).runs
    assert run.load_balance == pytest.approx(1, rel=1e-9)
    assert run.serialisation == pytest.approx(5 / 8, rel=1e-9)
    assert run.ideal_s == pytest.approx(8e-3, rel=1e-9)


def test_an_imbalance_has_the_load_balance_of_the_hand_formula(tmp_path: Path):
    """One of four ranks computes ten times as long as the others, three times between barriers."""
    PROGRAMS["imbalance alone"] = (4, BARE + OTHERS["imbalance"])
    (run,) = pop([traced("imbalance alone", tmp_path)], replay).runs
    assert run.load_balance == pytest.approx((10 + 3) / 4 / 10, rel=1e-9)
    assert run.serialisation == pytest.approx(1, rel=1e-9)
