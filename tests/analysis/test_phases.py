"""Blocks of calls that ranks repeat are found without marks, and predict the run."""

import json
import re
import tracemalloc
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
from smpy.errors import DamagedFileError, SmpyError, UsageError
from smpy.records.trace import Trace
from smpy.replay import replay
from smpy.replay.rows import RowRanges
from smpy.replay.signature import checksum, read_signature, replay_signature

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


def test_phases_of_the_conjugate_gradients_of_npb_predict_the_run(emulated: Callable, tmp_path: Path):
    """Each of 15 iterations of the power method makes 25 of conjugate gradients, and one product more."""
    program = Path(__file__).parents[2] / "apps" / "npb" / "cg.py"
    ran = emulated(None, 4, program=str(program), compute="models", trace=tmp_path / "trace")
    assert ran.outcome.error is None
    trace = Trace(tmp_path / "trace")
    result, run = phases(trace), pop([trace], replay).runs[0]
    assert weights(result)[15 * 26] == {"Allgatherv", "Allreduce"}
    assert result.predicted_s == pytest.approx(trace.makespan_s, rel=0.02)
    assert result.sequential_s == pytest.approx(run.computing_s, rel=0.02)
    assert result.efficiency == pytest.approx(run.parallel, rel=0.02)


def test_memory_of_a_search_for_phases_is_a_hundred_bytes_a_call(traced: Callable):
    trace = traced(LOOP.format(n=2_000, flop="1e6"), 16)
    phases(trace)  # imports what it needs
    tracemalloc.start()
    assert weights(phases(trace)) == {2_000: {"Barrier"}}
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 100 * trace.n_rows("actions")


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


def test_a_run_that_skipped_iterations_is_refused(traced: Callable):
    trace = traced(STENCIL)
    assert phases(trace).phases
    trace.info["skipped_share"] = 0.1
    with pytest.raises(UsageError, match="iterations were skipped"):
        phases(trace)


def test_phases_without_computing_count_by_their_time(traced: Callable):
    source = (
        "from mpi4py import MPI\nfor _ in range(20):\n    MPI.COMM_WORLD.Barrier()\n    MPI.COMM_WORLD.allreduce(1)\n"
    )
    result = phases(traced(source))
    assert result.phases[0].is_relevant
    assert not any(phase.is_relevant for phase in result.phases if phase.share < 0.01)


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


@pytest.fixture
def signed(traced: Callable, tmp_path: Path) -> Callable[[str], tuple[Trace, Path]]:
    """Runs a program, and writes the signature of its trace."""

    def here(source: str) -> tuple[Trace, Path]:
        trace, path = traced(source), tmp_path / "signature.json"
        done = CliRunner().invoke(main, ["analyze", "phases", str(trace.folder), "--signature", str(path)])
        assert done.exit_code == 0, done.output
        return trace, path

    return here


@pytest.mark.parametrize("source", [SET_UP_AND_CG, STENCIL], ids=["set-up and CG", "stencil"])
def test_a_signature_predicts_the_replay_on_other_machines(signed: Callable, source: str):
    trace, path = signed(source)
    signature = read_signature(path, trace)
    for changes in ({}, {"cpu": 2.0}, {"platform": "flat hosts=8 cores=1 speed=1Gf nic=1Gb/s latency=50us"}):
        predicted, whole = replay_signature(trace, signature, **changes), replay(trace, **changes)
        assert predicted.predicted_s == pytest.approx(whole.makespan_s, rel=0.02)
        assert predicted.sequential_s == pytest.approx(whole.computing_s.sum(), rel=0.02)


def test_a_signature_performs_the_second_to_the_fourth_repetition(signed: Callable):
    trace, path = signed(SET_UP_AND_CG)
    inner = next(phase for phase in read_signature(path, trace).phases if phase.weight == 375)
    only = RowRanges(
        [[part for ranges in of_rank for part in ranges] for of_rank in zip(*inner.repetitions, strict=True)]
    )
    assert len(inner.repetitions) == 3
    messages = replay(trace).messages
    assert 3 * messages / 400 < replay(trace, only=only).messages < 3 * messages / 350


def test_a_replay_tells_what_a_signature_predicts(signed: Callable):
    trace, path = signed(SET_UP_AND_CG)
    words = ["replay", str(trace.folder), "--signature", str(path)]
    text = CliRunner().invoke(main, words).stdout
    assert "375 x " in text
    record = json.loads(CliRunner().invoke(main, [*words, "--json", "-"]).stdout)
    assert record["predicted_s"] == pytest.approx(trace.makespan_s, rel=0.02)
    assert {"weight", "time_s", "computing_s", "lines"} <= set(record["phases"][0])


def test_a_signature_whose_messages_leave_a_repetition_is_refused(signed: Callable):
    """Without the repetitions of rank 0, rank 1 waits for its messages."""
    trace, path = signed(PIPELINE)
    content = json.loads(path.read_text())
    content.pop("sha256")
    for phase in content["phases"]:
        phase["repetitions"] = [[[], *repetition[1:]] for repetition in phase["repetitions"]]
    path.write_text(json.dumps(content | {"sha256": checksum(content)}))
    with pytest.raises(UsageError, match="cannot be performed alone: its messages or requests go on"):
        replay_signature(trace, read_signature(path, trace))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "no signature of format 1"),
        ({"trace_sha256": "0"}, "the signature of another trace"),
        ({"ranks": 3}, "has no phases of 8 ranks"),
        ({"phases": []}, "has no phases"),
        ({"weight": 0}, "phase 1: 0 is no weight"),
        ({"weight": True}, "phase 1: True is no weight"),
        ({"lines": [1]}, "phase 1: lines are no list of texts"),
        ({"repetitions": []}, "phase 1 has no 1 to 3 repetitions"),
        ({"repetitions": [[]]}, "phase 1: a repetition is not of 8 ranks"),
        ({"repetitions": [[[[0, 10**9]]] * 8]}, "rank 0 has ranges of actions that cannot be"),
        ({"repetitions": [[[[5, 5]]] * 8]}, "rank 0 has ranges of actions that cannot be"),
        ({"repetitions": [[[[4, 6], [5, 7]]] * 8]}, "rank 0 has ranges of actions that cannot be"),
        ({"repetitions": [[[[1.5, 6]]] * 8]}, "rank 0 has ranges of actions that cannot be"),
    ],
)
def test_a_signature_that_breaks_a_rule_is_refused(signed: Callable, change: dict[str, object], told: str):
    trace, path = signed(STENCIL)
    content = json.loads(path.read_text())
    content.pop("sha256")
    inside = set(change) & {"weight", "lines", "repetitions"}
    (content["phases"][0] if inside else content).update(change)
    path.write_text(json.dumps(content | {"sha256": checksum(content)}))
    with pytest.raises(SmpyError, match=re.escape(told)):
        read_signature(path, trace)


def test_a_signature_that_changed_is_refused(signed: Callable):
    trace, path = signed(STENCIL)
    text = path.read_text()
    path.write_text(text.replace('"weight": 60', '"weight": 61'))
    with pytest.raises(DamagedFileError, match="has changed since it was written"):
        read_signature(path, trace)
    path.write_text(text[:-9])
    with pytest.raises(DamagedFileError, match="it is not JSON"):
        read_signature(path, trace)
    with pytest.raises(UsageError, match="nowhere"):
        read_signature(path.parent / "nowhere", trace)
