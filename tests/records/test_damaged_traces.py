"""A trace that is not as it was written gives one line that names the file, and no other answer."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.errors import DamagedFileError, DeadlockError, UsageError
from smpy.records.trace import Trace
from smpy.records.trace_layout import COLUMNS, RARE_TABLES
from smpy.replay import replay
from tests.records.synthetic_trace import seal

PROGRAM = """
import smpy
from mpi4py import MPI
world = MPI.COMM_WORLD
half = world.Split(world.rank % 2)
with smpy.region("all"):
    for step in range(3):
        arrives = world.irecv(source=(world.rank - 1) % world.size)
        leaves = world.isend(step, (world.rank + 1) % world.size)
        MPI.Request.Waitany([arrives])
        leaves.wait()
        half.allreduce(1)
        world.Ibarrier().Wait()
        smpy.execute(1e6)
"""
TABLES = [f"{name}.parquet" for name in COLUMNS if name not in RARE_TABLES]
COMPUTING_LINE = {"ended_by": "program.py:7", "function": "f", "line": "program.py:1", "seconds": 1.0, "samples": 3}
LINKS = {"link": ["up"], "most_flows": [1], "bytes": [1.0], "busy_s": [0.0], "saturated_s": [0.0]}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    options = ["-np", "4", "--platform", "flat hosts=4 cores=1", "--compute", "none", "--quiet"]
    done = CliRunner().invoke(main, ["run", *options, "--trace", str(folder / "trace"), str(folder / "program.py")])
    assert done.exit_code == 0, done.output
    return folder / "trace"


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "trace"))


def told(folder: Path, *command: str) -> str:
    """The only line that a command says that refuses the trace."""
    done = CliRunner().invoke(main, [*(command or ("replay",)), str(folder)])
    assert done.exit_code == 2, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert len(done.output.splitlines()) == 1, done.output
    return done.output


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def replaced(path: Path) -> None:
        path.unlink()
        make(path)

    return replaced


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (Path.unlink, "is missing"),
        (flip, "has changed since it was written"),
        (cut, "is shorter than when it was written"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "is longer than when it was written"),
        (replace_by(os.mkfifo), "is no plain file"),
        (replace_by(os.mkdir), "is no plain file"),
        (replace_by(lambda path: path.symlink_to("/dev/zero")), "is no plain file"),
    ],
    ids=["missing", "flipped", "cut", "longer", "fifo", "folder", "device"],
)
@pytest.mark.parametrize(
    "name", ["actions.parquet", "collectives.parquet", "comms.parquet", "sites.parquet", "machine.json"]
)
def test_a_file_that_has_changed_is_named(folder: Path, name: str, change: Callable, complaint: str):
    change(folder / name)
    assert f"{name} {complaint}" in told(folder)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("intervals", ("analyze", "waits")),
        ("messages", ("analyze", "critical-path")),
        ("regions", ("export", "--to", "perfetto")),
    ],
)
def test_each_command_names_the_table_that_is_missing(folder: Path, name: str, command: tuple[str, ...]):
    (folder / f"{name}.parquet").unlink()
    assert f"{name}.parquet is missing" in told(folder, *command)


def test_tables_of_another_trace_are_refused(folder: Path):
    os.replace(folder / "regions.parquet", folder / "collectives.parquet")
    assert "collectives.parquet is shorter than when it was written" in told(folder)


def test_a_table_that_the_trace_does_not_have_is_refused(folder: Path):
    info = json.loads((folder / "run.json").read_text())
    assert info["trace"]["files"].keys() == {*TABLES, "machine.json"}
    (folder / "regions.parquet").rename(folder / "kept")
    seal(folder)
    (folder / "kept").rename(folder / "regions.parquet")
    assert "regions.parquet is no part of this trace" in told(folder, "export", "--to", "csv")


@pytest.mark.parametrize(
    ("before", "after"),
    [('"ranks": 4', '"ranks": 3'), ('"makespan_s": ', '"makespan_s": 1'), ('"rows": ', '"rows": 1')],
)
def test_run_json_that_has_changed_is_refused(folder: Path, before: str, after: str):
    text = (folder / "run.json").read_text()
    assert before in text
    (folder / "run.json").write_text(text.replace(before, after))
    assert "run.json has changed since it was written" in told(folder)


def test_the_summary_of_a_profile_may_lack_parts(folder: Path):
    info = json.loads((folder / "run.json").read_text())
    info["profile"] |= {"computing_lines": [COMPUTING_LINE], "links": None, "hosts": None}
    (folder / "run.json").write_text(json.dumps(info))
    assert Trace(seal(folder)).info["profile"]["links"] is None


def test_nested_lists_of_any_depth_are_refused_as_run_json(folder: Path):
    """At some depths they can be read, and no checksum can be made of them."""
    text = (folder / "run.json").read_text()
    for depth in range(800, 1200):
        (folder / "run.json").write_text(text.replace('"ranks": 4', f'"ranks": {"[" * depth}{"]" * depth}'))
        with pytest.raises(DamagedFileError, match=r"run.json "):
            Trace(folder)


@pytest.mark.parametrize("name", ["actions.parquet", "collectives.parquet", "machine.json"])
def test_a_report_is_not_written_without_the_rows_of_a_damaged_file(folder: Path, tmp_path: Path, name: str):
    flip(folder / name)
    assert f"{name} has changed since it was written" in told(folder, "report", "-o", str(tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()


def test_a_report_refuses_rows_that_no_rank_can_perform(folder: Path, tmp_path: Path):
    rows = pq.read_table(folder / "actions.parquet")
    pq.write_table(rows.slice(0, rows.num_rows // 2), folder / "actions.parquet")
    refused = told(seal(folder), "report", "-o", str(tmp_path / "page.html"))
    assert "actions.parquet: the rows end before rank" in refused
    assert not (tmp_path / "page.html").exists()


def test_words_that_are_no_utf_8_are_refused(folder: Path, tmp_path: Path):
    path = folder / "sites.parquet"
    rows = pq.read_table(path)
    words = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(bytes(4) + b"\1\0\0\0"), pa.py_buffer(b"\xff")])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows.num_rows, pa.int32()), words)
    pq.write_table(rows.set_column(rows.column_names.index("file"), "file", column), path)
    for command in (("replay",), ("analyze", "waits"), ("report",), ("export", "--to", "csv")):
        output = [] if command[0] in ("replay", "analyze") else ["-o", str(tmp_path / "output")]
        assert "sites.parquet: column file: " in told(seal(folder), *command, *output)


def test_run_json_may_be_laid_out_anew(folder: Path):
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info, indent=4, sort_keys=True))
    assert Trace(folder).n_ranks == 4


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")], ids=["fifo", "folder", "device"]
)
def test_run_json_that_is_no_file_is_refused_at_once(folder: Path, make: Callable):
    (folder / "run.json").unlink()
    make(folder / "run.json")
    assert "is not a trace: run.json: it is" in told(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ranks", 0), ("ranks", True), ("ranks", 5), ("finish_s", [None, "soon"]), ("mapping", [["a"]]),
        ("makespan_s", -1.0),
        ("trace.hosts_of_ranks", [[0, 1 << 60]]), ("trace.window_s", [1.0]), ("trace.can_replay", "yes"),
        ("trace.algorithms", [["bcast"]]), ("trace.files", {}), ("trace.regions", [1]), ("trace.n_polls", 0.5),
        ("trace.ranks", []), ("trace.ranks", [4]), ("trace.ranks", [1, 0]), ("trace.window_s", [2.0, 1.0]),
        ("finish_s", [1.0]), ("makespan_s", 10**400), ("host", 3), ("compute", ["none"]), ("waiting_share", 1.5),
        ("waiting_share", "half"), ("remarks", ["folded"]), ("remarks", [{}]), ("profile", []), ("profile", {}),
        ("remarks", [{"topic": "shared hosts"}]), ("remarks", [{"topic": "shared hosts", "kernels": {"relax": {}}}]),
        ("profile.noise_waiting_s", "long"),
        ("profile.kinds", [1]), ("profile.sites", [{}]), ("profile.sites", 7), ("profile.computing_lines", "all"),
        ("profile.computing_lines", [{**COMPUTING_LINE, "seconds": "long"}]),
        ("profile.computing_lines", [{**COMPUTING_LINE, "line": "program.py"}]),
        ("profile.computing_lines", [{**COMPUTING_LINE, "samples": -1}]),
        ("profile.links", {"link": ["up"]}), ("profile.links", {**LINKS, "busy_s": [1e300]}),
        ("profile.links", {**LINKS, "bytes": []}), ("profile.hosts", {"host": ["a"], "compute_s": []}),
    ],
)  # fmt: skip
def test_a_key_with_an_impossible_value_is_named(folder: Path, key: str, value: object):
    info = json.loads((folder / "run.json").read_text())
    inside, _, name = key.rpartition(".")
    (info[inside] if inside else info)[name] = value
    (folder / "run.json").write_text(json.dumps(info))
    if key != "trace.files":
        seal(folder)
        assert "run.json is damaged: " in told(folder)
        assert "run.json is damaged: " in told(folder, "report")
    else:
        assert "run.json has changed" in told(folder)


def rewrite(folder: Path, table: str, column: str, value: object, *, where: tuple[str, object] | None = None) -> None:
    """Change a column of a table in the first row, or in the first that has something in another column."""
    path = folder / f"{table}.parquet"
    rows = pq.read_table(path)
    content = rows.to_pylist()
    row = next(row for row in content if where is None or row[where[0]] == where[1])
    row[column] = value
    pq.write_table(pa.Table.from_pylist(content, schema=rows.schema), path)
    seal(folder)


@pytest.mark.parametrize(
    ("table", "column", "value", "where"),
    [
        ("actions", "rank", 4, None),
        ("actions", "rank", -1, None),
        ("actions", "action", "dance", None),
        ("actions", "site", 10**6, None),
        ("actions", "comm", 99, ("action", "isend")),
        ("actions", "comm", None, ("action", "isend")),
        ("actions", "peer", 4, ("action", "isend")),
        ("actions", "peer", -4, ("action", "isend")),
        ("actions", "peer", -3, ("action", "collective")),
        ("actions", "bytes", -1, ("action", "isend")),
        ("actions", "bytes", -2, ("action", "collective")),
        ("actions", "amount", float("nan"), ("action", "compute")),
        ("actions", "amount", -1.0, ("action", "compute")),
        ("actions", "amount", 1e300, ("action", "compute")),
        ("actions", "bytes", 2**62, ("action", "isend")),
        ("actions", "amount", 1e18, ("action", "collective")),
        ("actions", "amount", 1e18, ("action", "latch")),
        ("actions", "tag", -5, ("action", "latch")),
        ("actions", "tag", 2**31 - 1, ("action", "latch")),
        ("actions", "detail", -1, ("action", "collective")),
        ("actions", "detail", 2**31 - 1, ("action", "begin_region")),
        ("actions", "request", -3, ("action", "isend")),
        ("comms", "comm", 2**31 - 1, None),
        ("comms", "other", 2**31 - 1, None),
        ("comms", "other", -(2**31), None),
        ("comms", "n", 2**31 - 1, None),
        ("comms", "first", 3, None),
        ("collectives", "bytes", -1, None),
        ("collectives", "n_ranks", 2**31 - 1, None),
        ("collectives", "item_bytes", 0, None),
        ("collectives", "operation", "dance", None),
        ("sites", "site", 7, None),
    ],
)
def test_a_row_with_an_impossible_value_is_refused_by_a_replay(
    folder: Path, table: str, column: str, value: object, where: tuple[str, object] | None
):
    rewrite(folder, table, column, value, where=where)
    assert f"{table}.parquet" in told(folder)


def test_polls_for_what_never_comes_end_a_replay(tmp_path: Path):
    """A rank has not started a collective, and the others wait for it; another one polls."""
    folder = Path(shutil.copytree(Path(__file__).parent / "data" / "trace_7", tmp_path / "trace"))
    rows = pq.read_table(folder / "actions.parquet").to_pylist()
    row = next(row for row in rows if row["action"] == "start" and row["rank"] == 2)
    row["rank"] = 0
    schema = pq.read_schema(folder / "actions.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "actions.parquet")
    seal(folder)
    with pytest.raises(DeadlockError, match="no rank of the trace can go on"):
        replay(folder)


@pytest.mark.parametrize("detail", [-1, 3, 2**31 - 1])
def test_a_choice_of_a_request_that_is_not_listed_ends_a_replay(folder: Path, detail: int):
    rewrite(folder, "actions", "detail", detail, where=("action", "wait_any"))
    done = CliRunner().invoke(main, ["replay", str(folder)])
    assert done.exit_code in (1, 2)
    assert len(done.output.splitlines()) == 1
    assert "a request that is over" in done.output or "row " in done.output


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("intervals", "rank", 9), ("intervals", "end_s", float("nan")), ("intervals", "start_s", 1e300),
        ("intervals", "end_s", -1.0), ("intervals", "kind", "dancing"), ("intervals", "site", -1),
        ("intervals", "other", 4), ("messages", "source", 4), ("messages", "bytes", -1),
        ("messages", "ended_s", float("inf")),
        ("messages", "send_site", 10**6), ("messages", "target", -1),
    ],
)  # fmt: skip
def test_a_row_with_an_impossible_value_is_refused_when_it_is_read(
    folder: Path, table: str, column: str, value: object
):
    rewrite(folder, table, column, value)
    with pytest.raises(UsageError, match=rf"{table}.parquet: .*record the run again"):
        Trace(folder).table(table)
    with pytest.raises(UsageError, match=rf"{table}.parquet: .*record the run again"):
        list(Trace(folder).batches(table, [column, "rank" if table == "intervals" else "message"]))


def test_intervals_of_a_rank_in_another_order_are_refused(folder: Path):
    path = folder / "intervals.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.take(list(range(rows.num_rows))[::-1]), path)
    seal(folder)
    assert "a start before the end of its rank's row above" in told(folder, "analyze", "waits")


def test_a_column_that_is_missing_or_of_another_type_is_named(folder: Path):
    path = folder / "messages.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.drop_columns(["alone_s"]), path)
    assert "messages.parquet has no column alone_s of double" in told(seal(folder), "analyze", "critical-path")
    pq.write_table(rows.set_column(0, "message", pa.array([str(n) for n in range(rows.num_rows)])), path)
    assert "messages.parquet has no column message of int64" in told(seal(folder), "analyze", "critical-path")
