"""A trace is read as its schema says, and what is no trace is told apart from it."""

import json
import sys
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.engine.trace import ROW_KINDS
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.records.trace_layout import COLUMNS, FORMAT
from tests.records.synthetic_trace import late_sender, seal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return late_sender().write(tmp_path / "trace")


def test_a_trace_tells_its_ranks_hosts_and_makespan(folder: Path):
    trace = Trace(folder)
    assert (trace.n_ranks, trace.makespan_s, trace.host_of_rank, trace.is_complete) == (2, 4.0, ["a", "b"], True)


def test_a_table_is_read_in_part(folder: Path):
    table = Trace(folder).table("intervals", ["kind", "end_s"], where=[("rank", "==", 1)])
    assert table.to_pydict() == {"kind": ["compute", "late_sender", "transfer"], "end_s": [1.0, 3.0, 4.0]}


def test_batches_together_are_the_table(folder: Path):
    trace = Trace(folder)
    batches = list(trace.batches("intervals", n_rows=2))
    assert [batch.num_rows for batch in batches] == [2, 2, 2]
    assert [row for batch in batches for row in batch.to_pylist()] == trace.table("intervals").to_pylist()
    assert trace.n_rows("intervals") == 6


def test_sites_of_all_ranks_share_their_labels(folder: Path):
    trace = Trace(folder)
    assert trace.labels == ["", "Send prog.py:7", "Recv prog.py:9", "prog.py:5"]
    assert trace.label_of_site.tolist() == [0, 1, 2, 3, 3]
    assert not trace.is_kernel.any()


def test_a_table_without_rows_has_its_columns(folder: Path):
    trace = Trace(folder)
    assert not (folder / "regions.parquet").exists()
    assert (trace.n_rows("regions"), list(trace.batches("regions"))) == (0, [])
    assert trace.table("regions").to_pydict() == {"rank": [], "name": [], "start_s": [], "end_s": []}
    assert trace.table("regions", ["name"]).column_names == ["name"]


def test_the_schema_tells_of_each_kind_of_row_what_the_kernel_does():
    schema = files("smpy.records").joinpath("schema.md").read_text(encoding="utf-8")
    for kind in ROW_KINDS:
        assert f"| `{kind.name}` | {kind.means} | {kind.detail}{' ' * bool(kind.detail)}|\n" in schema


def test_a_trace_that_a_run_has_recorded_has_the_columns_that_are_known(tmp_path: Path):
    program = tmp_path / "program.py"
    lines = (
        "import smpy, threading",
        "from mpi4py.MPI import COMM_WORLD",
        "def talk():",
        "    with smpy.region('thread'):",
        "        COMM_WORLD.sendrecv(1, COMM_WORLD.rank, source=COMM_WORLD.rank)",
        "with smpy.region('all'):",
        "    COMM_WORLD.Barrier()",
        "thread = threading.Thread(target=talk)",
        "thread.start()",
        "thread.join()",
    )
    program.write_text("\n".join(lines))
    options = ["-np", "3", "--platform", "fat-tree hosts=2 cores=2", "--compute", "none", "--quiet"]
    options += ["--trace", str(tmp_path / "trace")]
    done = CliRunner().invoke(main, ["run", *options, str(program)])
    assert done.exit_code == 0, done.output
    trace = Trace(tmp_path / "trace")
    for name, columns in COLUMNS.items():
        if name == "counters":  # of imported traces alone
            continue
        assert (trace.folder / f"{name}.parquet").exists()
        table = trace.table(name)
        assert set(table.column_names) == set(columns)
        for field in table.schema:
            expected = getattr(pa, columns[field.name])()
            is_wider = pa.types.is_integer(expected) and pa.types.is_integer(field.type)
            says_nothing = pa.types.is_null(field.type)
            assert field.type == expected or is_wider or says_nothing or pa.types.is_dictionary(field.type), field
    assert trace.host_of_rank == ["node-0", "node-0", "node-1"]


def test_hosts_that_come_again_or_are_not_spelt_out_keep_their_names_or_numbers(folder: Path):
    info = json.loads((folder / "run.json").read_text())
    for mapping, told in (([["a", 2], ["b", 1]], "aabaab"), ([["n[0-9]", 2]], None)):
        info["mapping"], info["trace"]["hosts_of_ranks"] = mapping, [[4, 2], [9, 1], [4, 2], [9, 1]]
        (folder / "run.json").write_text(json.dumps(info | {"ranks": 6, "finish_s": [1.0] * 6}))
        seal(folder)
        numbers = [f"host {host}" for host in (4, 4, 9, 4, 4, 9)]
        assert Trace(folder).host_of_rank == (list(told) if told else numbers)


@pytest.mark.parametrize("files", [(), ("points.parquet",)], ids=["empty", "a study"])
def test_a_folder_without_a_trace_is_refused(tmp_path: Path, files: tuple[str, ...]):
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(UsageError, match=r"is not a trace: run\.json: No such file"):
        Trace(tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "is incomplete: the run ended before it wrote run.json: record the run again"),
        ("{", "is damaged"),
        ("[]", "is not of a trace"),
        ('{"schema": 3}', "is not of a trace"),
        (
            json.dumps({"smpy": "9.0", "trace": {"format": FORMAT + 1}}),
            "another version of smpy, 9.0: .* record the run again",
        ),
        (json.dumps({"trace": {"format": 2}}), "version of smpy, which is not known: .*of format 2; this .*: record"),
    ],
)
def test_what_is_no_trace_is_refused(folder: Path, content: str | None, told: str):
    file = folder / "run.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(UsageError, match=told):
        Trace(folder)


def test_a_damaged_table_and_unknown_names_are_told(folder: Path):
    trace = Trace(folder)
    (folder / "messages.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match=r"messages\.parquet is shorter than when it was written"):
        list(trace.batches("messages"))
    with pytest.raises(UsageError, match="no table 'intervalls': did you mean 'intervals'"):
        trace.table("intervalls")
    with pytest.raises(UsageError, match="no column 'finish_s'"):
        trace.table("intervals", ["finish_s"])


def test_without_pyarrow_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    trace = Trace(folder)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[analysis\]'"):
        trace.table("sites")
