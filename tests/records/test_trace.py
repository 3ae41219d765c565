"""A trace is read as its schema says, and what is no trace is told apart from it."""

import json
import sys
from pathlib import Path

import pytest

from smpy.errors import UsageError
from smpy.records.trace import FORMAT, TABLES, Trace

pytest.importorskip("pyarrow")

from tests.records.synthetic_trace import SCHEMAS, late_sender


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


def test_the_tables_are_those_of_the_schema():
    assert tuple(SCHEMAS) == TABLES


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "is not a trace: run.json: No such file"),
        ("{", "is damaged"),
        ("[]", "is not of a trace"),
        ('{"schema": 3}', "is not of a trace"),
        (json.dumps({"smpy": "9.0", "trace": {"format": FORMAT + 1}}), "use the version that wrote it, 9.0"),
    ],
)
def test_what_is_no_trace_is_refused(folder: Path, content: str | None, told: str):
    file = folder / "run.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(UsageError, match=told):
        Trace(folder)


def test_a_missing_or_damaged_table_and_unknown_names_are_told(folder: Path):
    (folder / "regions.parquet").unlink()
    (folder / "messages.parquet").write_bytes(b"PAR1 and no more")
    trace = Trace(folder)
    with pytest.raises(UsageError, match=r"has no regions\.parquet"):
        trace.table("regions")
    with pytest.raises(UsageError, match=r"messages\.parquet cannot be read"):
        list(trace.batches("messages"))
    with pytest.raises(UsageError, match="no table 'intervalls': did you mean 'intervals'"):
        trace.table("intervalls")
    with pytest.raises(UsageError, match="no column 'finish_s'"):
        trace.table("intervals", ["finish_s"])


def test_without_pyarrow_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    trace = Trace(folder)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install \"smpy-mpi\[analysis\]\""):
        trace.table("sites")
