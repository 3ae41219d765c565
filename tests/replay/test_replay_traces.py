"""A replay leaves a trace: on the machine of the run, that of the run."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpy.analysis.comparison import compare
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.wait_analysis import waits
from smpy.cli.main import main
from smpy.errors import DeadlockError, UsageError
from smpy.importers.time_independent_files import read_main_file
from smpy.records.trace import Trace
from smpy.records.trace_layout import COLUMNS
from smpy.replay import replay
from smpy.replay.goal import replay_goal
from smpy.replay.time_independent import replay_time_independent
from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpy_outcome

APPS = Path(__file__).parents[2] / "apps"
FLAT = "flat hosts=12 cores=2 nic=10Gb/s latency=1us speed=10Gf"
OF_DATES = ("intervals", "messages", "regions", "wake_ups")

REGIONS = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
half = comm.Split(comm.rank % 2)
values, partner = numpy.ones(20_000), comm.rank ^ 1
with smpy.region("exchange"):
    request = comm.Irecv(numpy.empty_like(values), partner)
    with smpy.region("work"):
        smpy.execute(1e6 * (1 + comm.rank))
    comm.Send(values, partner)
    while not request.Test():
        smpy.execute(1e4)
with smpy.region("sum"):
    half.Allreduce(MPI.IN_PLACE, values)
    smpy.execute(2e6)
    if comm.rank:
        comm.send({"from": comm.rank}, 0)
    else:
        for _ in range(comm.size - 1):
            comm.recv(source=MPI.ANY_SOURCE)
comm.Ibarrier().Wait()
"""

SPAWNING = """
import sys, smpy
from mpi4py import MPI
world, parent = MPI.COMM_WORLD, MPI.Comm.Get_parent()
smpy.execute(1e6 * (1 + world.rank))
side = world.Spawn(sys.executable, [__file__], 2) if parent == MPI.COMM_NULL else parent
side.Barrier()
smpy.execute(1e6)
side.Disconnect()
"""

WINDOWS_AND_FILES = """
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
window = MPI.Win.Create(numpy.zeros(1000), comm=comm)
for _ in range(3):
    window.Lock(0)
    window.Accumulate(numpy.ones(1000), 0)
    window.Unlock(0)
window.Fence()
file = MPI.File.Open(comm, "out.bin", MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Write_at_all(8000 * comm.rank, numpy.ones(1000))
file.Close()
"""


def check_same_dates(trace: Trace, other: Trace) -> None:
    for table in OF_DATES:
        assert other.table(table).equals(trace.table(table)), table
    assert other.info["finish_s"] == trace.info["finish_s"]
    names = ("messages", "bytes", "compute_share", "waiting_share", "communication_share", "energy", "mapping")
    assert [other.info[name] for name in names] == [trace.info[name] for name in names]
    calls = [
        list(zip(each.rank_of_site, map(each.labels.__getitem__, each.label_of_site), strict=True))
        for each in (trace, other)
    ]
    assert calls[0] == calls[1]
    profile, other_profile = trace.info["profile"], other.info["profile"]
    for name in ("calls", "links", "hosts", "messages", "kept_waiting_s"):
        assert other_profile[name] == profile[name], name
    assert other_profile["caused_waits_s"] == pytest.approx(profile["caused_waits_s"], rel=1e-2)  # a lower bound


def check_case(case: Case, folder: Path) -> None:
    smpy_outcome(case, folder, trace=folder / "trace")
    trace = Trace(folder / "trace")
    replay(trace, to=folder / "again")
    check_same_dates(trace, Trace(folder / "again"))


@pytest.mark.parametrize("case", random.Random(3).sample(CASES, 12), ids=lambda case: case.name)
def test_the_trace_of_a_replay_on_the_machine_of_the_run_is_that_of_the_run(case: Case, tmp_path: Path):
    check_case(case, tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("case", random.Random(4).sample(CASES, 400), ids=lambda case: case.name)
def test_the_traces_of_many_replays_are_those_of_their_runs(case: Case, tmp_path: Path):
    check_case(case, tmp_path)


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[..., Trace]:
    """Runs a program with a trace on a flat machine."""

    def here(source: str | None, n_ranks: int, **config) -> Trace:
        ran = emulated(source, n_ranks, trace=tmp_path / "trace", **{"platform": FLAT, **config})
        assert ran.outcome.error is None
        return Trace(tmp_path / "trace")

    return here


@pytest.mark.parametrize(
    ("source", "config"),
    [
        (REGIONS, {}),
        (REGIONS, {"algorithms": (("allreduce", "rab"),)}),
        (SPAWNING, {}),
        (WINDOWS_AND_FILES, {}),
        (None, {"program": str(APPS / "jacobi3d.py"), "args": ("--n", "8", "--iterations", "3")}),
        (None, {"program": str(APPS / "master_worker.py"), "args": ("--limit", "3000", "--tasks", "32")}),
        (None, {"program": str(APPS / "conjugate_gradient.py"), "args": ("--n", "12")}),
    ],
    ids=["regions", "chosen algorithm", "spawned ranks", "windows and files", "jacobi3d", "master_worker", "cg"],
)
def test_programs_have_the_same_intervals_messages_regions_and_sites(
    traced: Callable, tmp_path: Path, source: str | None, config: dict
):
    trace = traced(source, 4, **config)
    replay(trace, to=tmp_path / "again")
    again = Trace(tmp_path / "again")
    check_same_dates(trace, again)
    rows = [each.table("actions", ["rank", "action", "peer", "bytes", "amount"]).num_rows for each in (trace, again)]
    assert rows[1] == rows[0] - trace.info["trace"]["n_wildcards"]


def test_a_trace_of_a_replay_is_replayed_and_analysed_as_that_of_a_run_there(
    traced: Callable, emulated: Callable, tmp_path: Path
):
    slower = (("network.bandwidth", "x0.5"),)
    trace = traced(REGIONS.replace("while not request.Test():\n        smpy.execute(1e4)", "request.Wait()"), 4)
    replay(trace, options=slower, to=tmp_path / "slower")
    there = Trace(tmp_path / "slower")
    emulated(None, 4, program=str(tmp_path / "program.py"), platform=FLAT, options=slower, trace=tmp_path / "run")
    run = Trace(tmp_path / "run")
    assert there.table("messages", ["bytes", "ended_s"]).equals(run.table("messages", ["bytes", "ended_s"]))
    assert waits(there).to_record() == waits(run).to_record()
    assert critical_path(there).to_record() == critical_path(run).to_record()
    assert replay(there).finish_s.tolist() == there.info["finish_s"]
    assert compare(trace, there).table()


def test_two_replays_leave_the_same_tables(traced: Callable, tmp_path: Path):
    trace = traced(REGIONS, 4)
    for name in ("one", "two"):
        replay(trace, cpu=2.0, to=tmp_path / name)
    for table in COLUMNS:
        assert Trace(tmp_path / "one").table(table).equals(Trace(tmp_path / "two").table(table)), table


def test_whatever_depends_on_time_in_the_run_does_so_in_the_trace_of_its_replay(traced: Callable, tmp_path: Path):
    trace = traced(REGIONS, 4)
    assert replay(trace, to=tmp_path / "again").depends_on_time
    assert replay(tmp_path / "again").depends_on_time
    assert Trace(tmp_path / "again").info["trace"]["n_wildcards"] == trace.info["trace"]["n_wildcards"] == 3


def test_noise_that_a_replay_keeps_is_known_in_its_trace(traced: Callable, tmp_path: Path):
    (tmp_path / "costs.toml").write_text(
        '[kernels]\nreference_speed = "10Gf"\n[kernels.sum]\nsizes = ["n"]\nseconds = { "n" = 1e-9 }\n'
        'noise = { kind = "half-normal", sigma = 0.3 }\n'
    )
    source = "import smpy\n@smpy.kernel(flop='1', name='sum')\ndef total(n): pass\nfor _ in range(20): total(10**6)\n"
    trace = traced(source, 1, compute="models", kernels=tmp_path / "costs.toml", noise=True)
    replay(trace, to=tmp_path / "again")
    quiet_s = replay(trace, denoise=("cpu",)).makespan_s
    assert replay(tmp_path / "again", denoise=("cpu",)).makespan_s == quiet_s != trace.makespan_s


# ---- replays that do not come to their end ----


def test_a_replay_that_stops_leaves_what_had_happened_and_refused_rows_leave_nothing(tmp_path: Path):
    goal = tmp_path / "stuck.goal"
    goal.write_text(
        "num_ranks 2\nrank 0 {\na: calc 1000\nb: recv 1b from 1 tag 1\nc: send 1b to 1 tag 2\n"
        "b requires a\nc requires b\n}\n"
        "rank 1 {\nb: recv 1b from 0 tag 2\nc: send 1b to 0 tag 1\nc requires b\n}\n"
    )
    with pytest.raises(DeadlockError):
        replay_goal(goal, to=tmp_path / "stuck")
    left = Trace(tmp_path / "stuck")
    assert not left.is_complete
    assert left.makespan_s == pytest.approx(1e-6)
    assert left.table("intervals")["kind"].to_pylist()[0] == "compute"
    with pytest.raises(UsageError, match="did not come to its end"):
        replay(left)
    (tmp_path / "rank0").write_text("0 init\n0 compute 1e6\n0 compute fast\n")
    (tmp_path / "main").write_text("rank0\n")
    with pytest.raises(UsageError, match="line 3"):
        replay_time_independent(read_main_file(tmp_path / "main", 1), FLAT, to=tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_an_interrupted_replay_leaves_what_had_happened(traced: Callable, tmp_path: Path):
    trace = traced("from mpi4py import MPI\nfor _ in range(4000): MPI.COMM_WORLD.Barrier()", 8)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(trace, on_yield=interrupt, to=tmp_path / "cut")
    cut = Trace(tmp_path / "cut")
    assert not cut.is_complete
    assert 0 < cut.makespan_s < trace.makespan_s
    assert cut.table("intervals").num_rows > 0


# ---- other sources ----


def test_a_time_independent_trace_leaves_one_with_its_calls_and_their_lines(tmp_path: Path):
    lines = {
        0: "0 init\n0 location a.c 7\n0 send 1 3 1000000 6\n0 location a.c 8\n0 allreduce 10 1e6 0\n",
        1: "1 init\n1 compute 1e8\n1 recv 0 3 1000000 6\n1 allreduce 10 1e6 0\n",
    }
    for rank, text in lines.items():
        (tmp_path / f"rank{rank}").write_text(text)
    (tmp_path / "main").write_text("rank0\nrank1\n")
    result = replay_time_independent(read_main_file(tmp_path / "main"), FLAT, to=tmp_path / "trace")
    trace = Trace(tmp_path / "trace")
    assert trace.makespan_s == result.makespan_s == max(trace.info["finish_s"])
    assert set(trace.labels) == {"", "Send a.c:7", "Allreduce a.c:8", "Recv", "Allreduce"}
    kinds = trace.table("intervals").to_pandas()
    assert set(kinds[kinds["rank"] == 0]["kind"]) >= {"late_receiver", "transfer", "compute"}
    assert replay(trace).finish_s.tolist() == result.finish_s.tolist()
    assert replay(trace, options=(("host.speed", "x2"),)).computing_s.tolist() == (result.computing_s / 2).tolist()


def test_a_program_in_goal_leaves_a_trace_which_is_replayed_if_each_rank_has_one_chain(tmp_path: Path):
    chain = "b requires a\n"
    for name, order in (("chain", chain), ("concurrent", "")):
        (tmp_path / f"{name}.goal").write_text(
            f"num_ranks 2\nrank 0 {{\na: calc 1000\nb: send 100b to 1 tag 2\n{order}}}\n"
            f"rank 1 {{\na: recv 100b from 0 tag 2\nb: calc 500\n{chain}}}\n"
        )
        result = replay_goal(tmp_path / f"{name}.goal", network="loggp", to=tmp_path / name)
        trace = Trace(tmp_path / name)
        assert trace.info["finish_s"] == result.finish_s.tolist()
        assert "recv chain.goal" in trace.labels or "recv concurrent.goal" in trace.labels
        assert trace.info["trace"]["can_replay"] == (name == "chain")
    again = replay(tmp_path / "chain")
    assert again.finish_s.tolist() == Trace(tmp_path / "chain").info["finish_s"]


# ---- the command ----


def test_the_command_writes_a_trace_and_does_not_replace_the_replayed_one_or_that_of_another_program(
    traced: Callable, tmp_path: Path
):
    trace = traced(REGIONS, 4)
    (tmp_path / "other").write_text("0 init\n")
    (tmp_path / "main").write_text("other\n")
    folder, out = str(trace.folder), str(tmp_path / "out")
    other = ["replay", str(tmp_path / "main"), "-np", "1", "--platform", FLAT, "--trace", out]
    said = {
        ("replay", folder, "--trace", out): "",
        ("replay", folder, "--trace", folder): "name another folder for the trace of the replay",
        tuple(other): "add --overwrite",
        (*other, "--overwrite"): "",
        ("replay", folder, "--overwrite"): "--trace FOLDER names it",
    }
    for words, message in said.items():
        ran = CliRunner().invoke(main, list(words))
        assert ran.exit_code == (2 if message else 0), ran.output
        assert message in ran.output
    assert Trace(out).n_ranks == 1
    assert Trace(folder).n_ranks == 4


@pytest.mark.parametrize(
    "change",
    [
        {"better": (("latency", 1.1),)},
        {"better": (("link", "x", 2),)},
        {"ideal": ("memory",)},
        {"denoise": ("net",)},
    ],
)
def test_a_machine_that_no_description_has_leaves_no_trace(traced: Callable, tmp_path: Path, change: dict):
    trace = traced("import smpy; smpy.execute(1e6)", 1)
    with pytest.raises(UsageError, match="no machine with it can be described"):
        replay(trace, to=tmp_path / "out", **change)
    assert not (tmp_path / "out").exists()
