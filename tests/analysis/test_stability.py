"""Runs that differ in noise alone tell whether calls depend on time."""

import json
import random
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from smpy.analysis import stability
from smpy.analysis.call_stability import common_length
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.option_texts import noise_model
from smpy.records.trace import Trace

FARM = """
import numpy as np, smpy
from mpi4py import MPI
comm, status, task = MPI.COMM_WORLD, MPI.Status(), np.zeros(1)
if comm.rank == 0:
    tasks = list(range(1, 201))
    for worker in range(1, comm.size):
        comm.Send(task, worker, tag=tasks.pop())
    for _ in range(200):
        comm.Recv(task, MPI.ANY_SOURCE, status=status)
        comm.Send(task, status.source, tag=tasks.pop() if tasks else 0)
else:
    while True:
        comm.Recv(task, 0, status=status)
        if status.tag == 0:
            break
        smpy.execute(1e7)
        comm.Send(task, 0)
"""
STENCIL = """
import numpy as np, smpy
from mpi4py import MPI
comm, a = MPI.COMM_WORLD, np.zeros(1000)
up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
for _ in range(20):
    requests = [comm.Isend(a, up), comm.Irecv(a.copy(), down)]
    smpy.execute(1e6)
    MPI.Request.Waitall(requests)
    comm.Allreduce(np.zeros(1), np.zeros(1))
"""


@pytest.fixture
def runs(emulated: Callable, tmp_path: Path) -> Callable[..., list[Trace]]:
    """Traces of runs of a program that differ in the seed of noise."""

    def here(source: str, n_ranks: int = 8, n_runs: int = 3, noise: str = "20%") -> list[Trace]:
        traces = []
        for seed in range(n_runs):
            folder = tmp_path / f"run{n_ranks}-{seed}"
            ran = emulated(source, n_ranks, noise_model=noise_model(noise), seed=seed, trace=folder)
            assert ran.outcome.error is None
            traces.append(Trace(folder))
        return traces

    return here


def common_by_table(one: list[int], other: list[int]) -> int:
    """Length of the longest common subsequence by the recurrence of textbooks."""
    row = [0] * (len(other) + 1)
    for mine in one:
        before = 0
        for at, yours in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if mine == yours else max(row[at], row[at - 1])
    return row[-1]


SEQUENCES = st.lists(st.integers(0, 4), max_size=90)


@given(SEQUENCES, SEQUENCES)
def test_the_longest_common_subsequence_is_that_of_the_recurrence(one: list[int], other: list[int]):
    assert common_length(np.array(one, np.int64), np.array(other, np.int64)) == common_by_table(one, other)


def test_long_sequences_are_compared_exactly():
    """difflib finds a common subsequence, not the longest one."""
    draw = random.Random(7)
    one, other = ([draw.randrange(20) for _ in range(1500)] for _ in range(2))
    length = common_length(np.array(one), np.array(other))
    assert length == common_by_table(one, other)
    assert length > sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())


def test_a_stencil_is_stable(runs: Callable):
    result = stability(runs(STENCIL))
    assert result.stability == 1
    assert result.table() == (
        "Stability: 1 of 3 runs: the order of calls does not depend on time: replays may change the machine freely"
    )


def test_a_farm_of_tasks_is_not_stable_and_its_lines_say_where(runs: Callable):
    result = stability(runs(FARM))
    assert result.stability < 0.9
    assert result.by_rank[0] == min(result.by_rank)
    assert {(row.call, row.line) for row in result.lines if row.stability < 0.9} >= {("Recv", "program.py:10")}
    assert "run the program again on another machine" in result.table()


def test_stability_counts_calls_in_common_over_all_calls(runs: Callable):
    """Rank 0 takes messages of two ranks as they come: the runs have them in both orders."""
    source = """
import numpy as np, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank:
    smpy.execute(1e6)
    comm.Send(np.zeros(1), 0)
else:
    for _ in (1, 2):
        comm.Recv(np.zeros(1), MPI.ANY_SOURCE)
"""
    traces = runs(source, n_ranks=3, n_runs=8)
    result = stability(traces)
    assert set(result.by_run) == {3 / 4, 1.0}  # two sends, and one or two receives
    assert result.stability == pytest.approx(np.mean(result.by_run))


def test_one_trace_is_not_enough(runs: Callable):
    with pytest.raises(UsageError, match="name two traces or more"):
        stability(runs(STENCIL, n_ranks=2, n_runs=1))


def test_traces_of_other_programs_or_ranks_are_refused(runs: Callable, tmp_path: Path):
    one, other = runs(STENCIL, n_ranks=2)[0], runs(STENCIL, n_ranks=3)[0]
    with pytest.raises(UsageError, match="are of a different number of ranks: 2 and 3"):
        stability([one, other])
    other.info["ranks"], other.info["program"] = 2, "other.py"
    with pytest.raises(UsageError, match=r"are of a different program: .*program\.py and other\.py"):
        stability([one, other])


def test_runs_that_skipped_iterations_are_refused(runs: Callable):
    traces = runs(STENCIL, n_ranks=2, n_runs=2)
    traces[1].info["skipped_share"] = 0.1
    with pytest.raises(UsageError, match="it cannot tell whether calls depend on time"):
        stability(traces)


def test_runs_without_calls_are_refused(runs: Callable):
    with pytest.raises(UsageError, match="make no calls"):
        stability(runs("import smpy\nsmpy.execute(1e6)", n_ranks=2))


def test_the_command_writes_json_and_draws(runs: Callable, tmp_path: Path):
    folders = [str(trace.folder) for trace in runs(FARM)]
    plot = ["--plot", str(tmp_path / "x.html")] if pytest.importorskip("plotly") else []
    done = CliRunner().invoke(main, ["analyze", "stability", *folders, "--json", "-", *plot])
    record = json.loads(done.stdout)
    assert record["stability"] < 0.9
    assert not record["is_stable"]
    assert record["lines"][0]["stability"] == min(row["stability"] for row in record["lines"])
    assert "share of calls in the same order" in (tmp_path / "x.html").read_text()


def test_a_replay_that_depends_on_time_names_the_command(runs: Callable):
    trace = runs(FARM, n_runs=1)[0]
    done = CliRunner().invoke(main, ["replay", str(trace.folder)])
    assert "smpy analyze stability, of runs with --noise-model" in done.stdout
