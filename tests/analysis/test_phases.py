"""Blocks of calls that ranks repeat are found without marks, and predict the run."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from smpy.analysis import phases, pop
from smpy.analysis.call_repeats import find_repeats
from smpy.analysis.phase_analysis import Phases
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.replay import replay

SET_UP_AND_CG = """
import numpy as np, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
x, one = np.zeros(2000), np.zeros(1)
for _ in range(3):
    comm.Bcast(x, 0)
    smpy.execute(2e7)
for outer in range(15):
    smpy.execute(1e6)
    comm.Allreduce(one, np.zeros(1))
    for inner in range(25):
        requests = [comm.Irecv(x, left), comm.Isend(x, right)]
        smpy.execute(1e6 * (1 + 0.1 * (comm.rank % 4)))
        MPI.Request.Waitall(requests)
        comm.Allreduce(one, np.zeros(1))
        smpy.execute(5e5)
        comm.Allreduce(one, np.zeros(1))
    comm.Reduce(one, np.zeros(1))
"""
STENCIL = """
import numpy as np, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
a, b = np.zeros(1000), np.zeros(1000)
for step in range(60):
    for away in (-1, 1):
        if 0 <= comm.rank + away < comm.size:
            comm.Sendrecv(a, comm.rank + away, recvbuf=b, source=comm.rank + away)
    smpy.execute(3e6)
"""
LOOP = """
import smpy
from mpi4py import MPI
for n in range({n}):
    smpy.execute({flop})
    MPI.COMM_WORLD.Barrier()
"""
PIPELINE = """
import numpy as np, smpy
from mpi4py import MPI
comm, a = MPI.COMM_WORLD, np.zeros(1000)
for step in range(50):
    if comm.rank > 0:
        comm.Recv(a, comm.rank - 1)
    smpy.execute(1e6)
    if comm.rank < comm.size - 1:
        comm.Send(a, comm.rank + 1)
"""


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[..., Trace]:
    def here(source: str, n_ranks: int = 8, **config: object) -> Trace:
        ran = emulated(source, n_ranks, trace=tmp_path / "trace", **config)
        assert ran.outcome.error is None
        return Trace(tmp_path / "trace")

    return here


def weights(result: Phases) -> dict[int, set[str]]:
    """Calls of each repeated block, by its weight."""
    return {phase.weight: {line.split()[0] for line in phase.lines} for phase in result.phases if phase.lines}


def blocks(codes: list[int]) -> list[tuple[int, int]]:
    """Length of a block, and number of its repetitions, inner ones first."""
    return [
        (int(np.diff(runs[0].starts)[0]), sum(len(run.starts) - 1 for run in runs))
        for runs in find_repeats(np.array(codes)).runs
    ]


INNER = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        ([], []),
        ([1, 2, 3], []),
        ([7] * 9, [(1, 9)]),
        ([8, *INNER * 30, 9], [(5, 30)]),
        ([1, 1, 1, 2] * 50, [(4, 50)]),
        ([90, *([*INNER * 25, 6, 7] * 15), 91], [(5, 375), (127, 15)]),
        ([*[1, 2] * 10, *[3, 4] * 20], [(2, 10), (2, 20)]),
        ([1, 1, 2, 2] * 20, [(4, 20)]),
    ],
)
def test_blocks_that_follow_themselves_are_found_inner_ones_first(codes: list[int], found: list[tuple[int, int]]):
    assert blocks(codes) == found


@given(st.lists(st.integers(0, 3), max_size=60))
def test_repetitions_of_a_run_are_alike_and_have_an_owner(codes: list[int]):
    repeats = find_repeats(np.array(codes, np.int64))
    for number, runs in enumerate(repeats.runs):
        for run in runs:
            assert len(run.starts) > 2
            assert (repeats.owner[run.starts[0] : run.starts[-1]] >= 0).all()
            if number == 0:
                parts = [codes[low:high] for low, high in zip(run.starts, run.starts[1:], strict=False)]
                assert all(part == parts[0] for part in parts)


@pytest.mark.parametrize("source", [SET_UP_AND_CG, STENCIL, PIPELINE], ids=["set-up and CG", "stencil", "pipeline"])
def test_phases_predict_time_computing_and_efficiency_of_the_run(traced: Callable, source: str):
    trace = traced(source)
    result, run = phases(trace), pop([trace], replay).runs[0]
    assert result.predicted_s == pytest.approx(trace.makespan_s, rel=0.02)
    assert result.sequential_s == pytest.approx(run.computing_s, rel=0.02)
    assert result.efficiency == pytest.approx(run.parallel, rel=0.02)
    assert result.coverage > 0.98


def test_loops_in_one_another_have_their_numbers_of_repetitions(traced: Callable):
    assert weights(phases(traced(SET_UP_AND_CG))) == {
        375: {"Irecv", "Isend", "Allreduce"},
        15: {"Allreduce", "Reduce"},
        3: {"Bcast"},
    }


def test_a_phase_of_ranks_that_make_different_calls_is_found_by_its_kernel(traced: Callable):
    """No call of the pipeline is made by all ranks; all of them compute."""
    result = phases(traced(PIPELINE))
    assert weights(result) == {50: {"Send"}}


def test_measures_of_a_phase_follow_by_hand(traced: Callable):
    """Four ranks compute 10 ms and meet, 20 times."""
    source = LOOP.format(n=20, flop="1e7")
    result = phases(traced(source, 4, platform="flat hosts=4 cores=1 speed=1Gf nic=10Gb/s"))
    (phase,) = [phase for phase in result.phases if phase.lines]
    assert (phase.weight, phase.lines) == (20, ("Barrier program.py:6",))
    assert phase.time_s == pytest.approx(0.01, rel=0.01)
    assert phase.computing_s == pytest.approx(0.04, rel=0.06)
    assert result.speedup == pytest.approx(4, rel=0.01)
    assert result.efficiency == pytest.approx(1, rel=0.01)


def test_calls_that_do_not_repeat_are_told(traced: Callable):
    source = "import numpy as np\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nMPI.COMM_WORLD.Bcast(np.zeros(9))\n"
    with pytest.raises(UsageError, match="the calls of its ranks do not repeat"):
        phases(traced(source))


def test_repetitions_that_differ_in_computing_are_no_phase(traced: Callable):
    source = LOOP.format(n=20, flop="1e6 * 2**n")
    with pytest.raises(UsageError, match="do not repeat"):
        phases(traced(source))


def test_the_command_prints_writes_and_draws(traced: Callable, tmp_path: Path):
    folder = str(traced(SET_UP_AND_CG).folder)
    plot = ["--plot", str(tmp_path / "x.html")] if pytest.importorskip("plotly") else []
    done = CliRunner().invoke(main, ["analyze", "phases", folder, "--json", "-", *plot])
    record = json.loads(done.stdout)
    assert record["phases"][0]["weight"] == 375
    assert set(record["phases"][0]) >= {"weight", "time_s", "computing_s", "share", "is_relevant"}
    assert set(record) >= {"predicted_s", "sequential_s", "computing_s", "speedup", "efficiency", "coverage"}
    assert "seconds of rank 0" in (tmp_path / "x.html").read_text()
    assert "375" in CliRunner().invoke(main, ["analyze", "phases", folder]).stdout
