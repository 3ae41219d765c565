"""Contents of a run's trace; tracing changes nothing in the run."""

from __future__ import annotations

import hashlib
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.analysis.pop_metrics import pop
from smpy.cli.main import main
from smpy.engine.trace import ACTIONS
from smpy.errors import NoRoomError, UsageError
from smpy.records.profile import INTERVAL_KINDS, KINDS, RunProfile
from smpy.records.summary import Summary
from smpy.records.trace import Trace
from smpy.records.trace_layout import COLUMNS, FORMAT
from smpy.replay import replay
from tests.emulate.test_profile import PROGRAMS, profile
from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpy_finish_s, smpy_outcome

APPS = Path(__file__).parents[2] / "apps"


REGIONS = """
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
with smpy.region("all"):
    for step in range(2):
        with smpy.region("step"):
            smpy.execute(1e6 * (1 + comm.rank))
            comm.Barrier()
"""


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable:
    """Runs a program twice, without and with a trace: both results, and the trace."""

    def here(source: str | None, n_ranks: int, **config):
        plain = emulated(source, n_ranks, **config)
        ran = emulated(source, n_ranks, **config, trace=tmp_path / "trace")
        return plain, ran, Trace(tmp_path / "trace")

    return here


def check_tiling(trace: Trace):
    """Each rank's intervals begin where the one before ended, from 0 to the makespan."""
    table = trace.table("intervals").to_pandas()
    for rank in range(trace.n_ranks):
        own = table[table["rank"] == rank].sort_values("start_s")
        if own.empty:
            assert trace.makespan_s == 0
            continue
        assert own.start_s.iloc[0] == 0
        assert own.end_s.iloc[-1] == pytest.approx(trace.makespan_s, rel=1e-9)
        assert list(own.start_s[1:]) == list(own.end_s[:-1])
    return table


@pytest.mark.parametrize(("program", "n_ranks", "args"), PROGRAMS)
def test_a_trace_changes_no_date_its_intervals_tile_the_makespan_and_every_message_is_there(
    traced: Callable, program: str, n_ranks: int, args: tuple[str, ...]
):
    plain, ran, trace = traced(None, n_ranks, program=str(APPS / program), args=args)
    summary = ran.outcome.summary
    assert list(summary.finish_s) == list(plain.outcome.summary.finish_s)
    table = check_tiling(trace)
    found = profile(ran)
    spent_s = table.assign(spent=table.end_s - table.start_s).groupby("kind", observed=True).spent.sum()
    for kind, column in zip(KINDS, found.spent_s, strict=True):
        assert spent_s.get(kind, 0) == pytest.approx(math.fsum(column), rel=1e-9, abs=1e-15)
    check_messages(trace, summary, found)


def check_messages(trace: Trace, summary: Summary, found: RunProfile) -> None:
    """Check that the messages of a trace are those of its profile, and that none is faster than alone."""
    messages = trace.table("messages").to_pandas()
    assert (len(messages), messages.bytes.sum()) == (summary.messages, summary.bytes)
    assert messages.message.is_unique
    sums = messages.groupby(["source", "target"]).bytes.agg(["size", "sum"])
    pairs = {(source, target): (n, nbytes) for source, target, n, nbytes in found.pairs}
    assert {pair: tuple(row) for pair, row in zip(sums.index, sums.to_numpy().tolist(), strict=True)} == pairs
    started_s = messages.started_s.fillna(messages[["send_posted_s", "receive_posted_s"]].max(axis=1))
    delay_s = messages.ended_s - started_s - messages.alone_s
    assert (delay_s >= -1e-9 * messages.ended_s - 1e-9).all()  # dates closer than 1 ns are one


@pytest.mark.slow
@pytest.mark.parametrize("case", random.Random(3).sample(CASES, 30), ids=lambda case: case.name)
def test_identities_hold_on_programs_of_every_kind(case: Case, tmp_path: Path):
    summary = smpy_outcome(case, tmp_path, trace=tmp_path / "trace").summary
    assert list(summary.finish_s) == smpy_finish_s(case, tmp_path)
    trace = Trace(tmp_path / "trace")
    check_tiling(trace)
    messages = trace.table("messages").to_pandas()
    assert (len(messages), messages.bytes.sum()) == (summary.messages, summary.bytes)
    if trace.table("intervals").to_pandas().kind.eq("compute").any():
        found = pop([trace], replay).runs[0]
        product = found.load_balance * found.serialisation * found.transfer
        assert found.parallel == pytest.approx(product, rel=1e-12)
        assert found.transfer <= 1 + 1e-12


def test_the_rows_of_sites_say_where_and_on_what_ranks_a_call_was_made(traced: Callable):
    source = "from mpi4py import MPI\nhalf = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)\nhalf.Barrier()\n"
    _, _, trace = traced(source, 4)
    sites = trace.table("sites").to_pandas()
    barriers = sites[sites.call == "Barrier"]
    assert list(zip(barriers.file, barriers.line, strict=True)) == [("program.py", 3)] * 4
    comms = trace.table("comms").to_pandas().set_index("comm")
    ranks = {
        (row["rank"], tuple(range(own["first"], own["first"] + own["n"] * own["step"], own["step"])))
        for _, row in barriers.iterrows()
        for own in [comms.loc[row["comm"]]]
    }
    assert ranks == {(0, (0, 2)), (2, (0, 2)), (1, (1, 3)), (3, (1, 3))}


def test_regions_are_told_with_their_dates(traced: Callable):
    _, ran, trace = traced(REGIONS, 2)
    regions = trace.table("regions").to_pandas()
    assert regions.groupby(["rank", "name"], observed=True).size().to_dict() == {
        (0, "all"): 1,
        (0, "step"): 2,
        (1, "all"): 1,
        (1, "step"): 2,
    }
    for rank in range(2):
        own = regions[regions["rank"] == rank]
        whole, steps = own[own.name == "all"].iloc[0], own[own.name == "step"].sort_values("start_s")
        assert whole.start_s == steps.start_s.iloc[0]
        assert steps.end_s.iloc[0] == steps.start_s.iloc[1]
        assert whole.end_s == steps.end_s.iloc[1] <= ran.outcome.summary.makespan_s


def test_a_region_that_is_left_by_an_error_ends_with_the_run(traced: Callable):
    source = "import smpy\nwith smpy.region('doomed'):\n    smpy.execute(1e9)\n    raise SystemExit(3)\n"
    _, ran, trace = traced(source, 1)
    region = trace.table("regions").to_pylist()[0]
    assert (region["name"], region["end_s"]) == ("doomed", ran.outcome.summary.makespan_s)


def test_a_region_without_a_name_is_refused(emulated: Callable):
    ran = emulated("import smpy\nsmpy.region(3)\n", 1)
    assert "a region has a name, and 3 is a int" in str(ran.outcome.error)


def test_a_window_has_what_happens_in_it_and_cannot_be_replayed(emulated: Callable, tmp_path: Path):
    loop = "for i in range(10):\n    smpy.execute(5e7)\n    MPI.COMM_WORLD.Barrier()\n"
    source = f"import smpy\nfrom mpi4py import MPI\n{loop}"
    whole = emulated(source, 2, trace=tmp_path / "whole")
    makespan_s = whole.outcome.summary.makespan_s
    window_s = makespan_s * 0.25, makespan_s * 0.5
    emulated(source, 2, trace=tmp_path / "part", trace_window_s=window_s)
    all_of, part = (Trace(tmp_path / name).table("intervals").to_pandas() for name in ("whole", "part"))
    wanted = all_of[(all_of.end_s >= window_s[0]) & (all_of.start_s <= window_s[1])]
    assert 0 < len(part) < len(all_of)
    assert (
        part[["rank", "start_s", "end_s"]].to_numpy().tolist()
        == wanted[["rank", "start_s", "end_s"]].to_numpy().tolist()
    )
    assert not Trace(tmp_path / "part").info["trace"]["can_replay"]


def test_of_some_ranks_their_intervals_and_messages_are_there(emulated: Callable, tmp_path: Path):
    emulated(None, 5, program=str(APPS / "ring.py"), trace=tmp_path / "trace", trace_ranks=(1, 3))
    trace = Trace(tmp_path / "trace")
    assert set(trace.table("intervals")["rank"].to_pylist()) == {1, 3}
    messages = trace.table("messages").to_pylist()
    assert messages
    assert all({row["source"], row["target"]} & {1, 3} for row in messages)


@pytest.mark.parametrize(
    "how", ["raise RuntimeError('now')", "MPI.COMM_WORLD.Abort(3)", "MPI.COMM_WORLD.recv(source=0)"]
)
def test_a_run_that_fails_leaves_what_had_happened(emulated: Callable, tmp_path: Path, how: str):
    begin = "import smpy\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nsmpy.execute(1e9)\n"
    source = f"{begin}if MPI.COMM_WORLD.rank:\n    {how}\n"
    ran = emulated(source, 2, trace=tmp_path / "trace")
    assert ran.outcome.error is not None or ran.outcome.summary.is_partial
    trace = Trace(tmp_path / "trace")
    assert not trace.is_complete
    assert {"Barrier"} <= set(trace.table("sites").to_pandas().call)
    assert trace.table("intervals").num_rows > 0


def test_a_folder_with_something_else_is_left_alone(emulated: Callable, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(UsageError, match=r"holds 'thesis\.txt', which is no part of a trace"):
        emulated("pass\n", 1, trace=tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file, and a trace is a folder"):
        emulated("pass\n", 1, trace=tmp_path / "file")
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_an_earlier_trace_of_the_program_gives_way(emulated: Callable, tmp_path: Path):
    for n_ranks in (4, 1):
        emulated(None, n_ranks, program=str(APPS / "ring.py"), trace=tmp_path / "trace")
    assert Trace(tmp_path / "trace").n_ranks == 1
    emulated("pass\n", 2, trace=tmp_path / "trace", overwrite=True)
    assert Trace(tmp_path / "trace").n_ranks == 2
    assert "messages.parquet" not in {each.name for each in (tmp_path / "trace").iterdir()}


def test_the_trace_of_another_program_stays_unless_the_user_says_overwrite(tmp_path: Path):
    for name in ("mine.py", "yours.py"):
        (tmp_path / name).write_text("print('it ran')\n")
    command = ["run", "-np", "2", "--quiet", "--trace", str(tmp_path / "trace")]
    assert CliRunner().invoke(main, [*command, str(tmp_path / "yours.py")]).exit_code == 0
    before = (tmp_path / "trace" / "run.json").read_bytes()
    done = CliRunner().invoke(main, [*command, str(tmp_path / "mine.py")])
    assert (done.exit_code, "it ran" in done.output, len(done.output.splitlines())) == (2, False, 1)
    assert f"has a trace of {tmp_path}/yours.py, and this run is of {tmp_path}/mine.py" in done.output
    assert (tmp_path / "trace" / "run.json").read_bytes() == before
    assert CliRunner().invoke(main, [*command, "--overwrite", str(tmp_path / "mine.py")]).exit_code == 0
    assert Trace(tmp_path / "trace").info["trace"]["program_path"] == f"{tmp_path}/mine.py"
    alone = CliRunner().invoke(main, ["run", "-np", "2", "--overwrite", str(tmp_path / "mine.py")])
    assert (alone.exit_code, "--trace FOLDER names it" in alone.output) == (2, True)


def test_the_trace_of_another_function_stays_unless_the_caller_says_overwrite(tmp_path: Path):
    options = {"ranks": 1, "trace": str(tmp_path / "trace"), "compute": "none"}
    smpy.simulate(_sends_nothing, **options)
    smpy.simulate(_sends_nothing, **options)
    with pytest.raises(UsageError, match=r"has a trace of .*_sends_nothing.py, and this run is of .*_says_nothing.py"):
        smpy.simulate(_says_nothing, **options)
    smpy.simulate(_says_nothing, overwrite=True, **options)


def _sends_nothing() -> None:
    pass


def _says_nothing() -> None:
    pass


def test_a_full_disk_is_told_and_the_summary_follows(
    emulated: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    import pyarrow.parquet

    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "write_table", full)
    ran = emulated(None, 4, program=str(APPS / "ring.py"), trace=tmp_path / "trace")
    assert isinstance(ran.outcome.error, NoRoomError)
    assert "is not whole: No space left on device; make room" in str(ran.outcome.error)
    assert ran.outcome.summary.messages > 0


def test_a_run_without_a_trace_imports_none_of_its_libraries(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
        "print(sorted({'pyarrow', 'pandas', 'plotly', 'scipy'} & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "smpy", "run", "-np", "1", "--quiet", str(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[]\n"


def test_the_record_says_what_the_trace_has(traced: Callable):
    source = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank:
    comm.Send(b"x", dest=0)
else:
    for _ in range(comm.size - 1):
        comm.Recv(bytearray(1))
    while not comm.Iprobe(source=1, tag=5) and MPI.Wtime() < 1e-3:
        pass
"""
    _, ran, trace = traced(source, 3)
    info = trace.info["trace"]
    assert (info["format"], info["is_complete"], info["can_replay"]) == (FORMAT, True, True)
    assert info["n_wildcards"] == 2
    assert info["n_failed_polls"] > 0
    assert [host for host, n in info["hosts_of_ranks"] for _ in range(n)] == [0, 0, 0]
    assert json.loads(ran.outcome.summary.to_json())["makespan_s"] == trace.makespan_s


def test_a_trace_is_the_same_whenever_its_rows_were_taken(emulated: Callable, tmp_path: Path):
    args = ("--skeleton", "--n", "1500", "--nb", "60", "--p", "4", "--q", "4")  # waits for panels that come late
    for name in "first", "second", "third":
        emulated(None, 16, program=str(APPS / "hpl.py"), args=args, trace=tmp_path / name)
    first, *others = (Trace(tmp_path / name).table("actions") for name in ("first", "second", "third"))
    assert first.num_rows > 40_000
    assert all(first.equals(other) for other in others)


def test_a_failed_import_of_pyarrow_is_named_with_the_package_to_install(
    emulated: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"import of pyarrow halted.*; pip install '\.\[trace\]'"):
        emulated("pass\n", 1, trace=tmp_path / "trace")


def test_another_layout_of_traces_is_another_format(traced: Callable):
    """If this fails, raise FORMAT, and put the new digest here: readers refuse what they would read wrongly."""
    _, _, trace = traced("pass\n", 1)
    layout = [COLUMNS, INTERVAL_KINDS, sorted(ACTIONS), sorted(trace.info["trace"])]
    digest = hashlib.sha256(json.dumps(layout).encode()).hexdigest()[:16]
    assert (FORMAT, digest) == (9, "3b77cab8fca4a0ab")
