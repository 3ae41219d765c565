"""`smpy analyze` prints, writes JSON, draws, and tells errors in a line."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")

from smpy.analysis.wait_analysis import waits
from smpy.cli.analyze import command
from smpy.errors import UsageError
from smpy.records.trace import Trace
from tests.analysis.small_run import Barrier, Compute, Message, perform

STEPS = [Compute(0, 3.0, 3, "dgemm"), Message(0, 1, 10**9, 5), Compute(1, 1.0, 4), Barrier(9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return perform(2, STEPS).write(tmp_path / "trace")


def analyzed(*words: object) -> str:
    done = CliRunner().invoke(command, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("critical-path", "Critical path: 5 s, with 1 message of 1 GB together"),
        ("waits", "Waits: 4 s, 40.0% of the ranks' time"),
        ("pop", "  Efficiencies                2 ranks"),
    ],
)
def test_a_table_is_printed_and_json_is_written(folder: Path, tmp_path: Path, name: str, first: str):
    assert analyzed(name, folder, "--json", tmp_path / "found.json").splitlines()[0] == first
    assert json.loads((tmp_path / "found.json").read_text()) == json.loads(analyzed(name, folder, "--json", "-"))


def test_json_of_waits_names_rank_line_and_seconds(folder: Path):
    found = json.loads(analyzed("waits", folder, "--json", "-"))
    cause = found["causes"][0]
    assert cause.pop("seconds") == pytest.approx(3.0)
    assert cause == {"rank": 0, "call": "dgemm", "file": "prog.py", "line": 3, "function": None, "kind": "compute"}


def test_two_traces_are_compared(folder: Path):
    assert "Both spend the same time in every line" in analyzed("compare", folder, folder)


def test_traces_of_three_numbers_of_ranks_predict_others(tmp_path: Path):
    folders = [
        perform(n, [Compute(rank, 1.0 + 0.1 * n * (rank == 0), 3) for rank in range(n)]).write(tmp_path / str(n))
        for n in (2, 4, 8)
    ]
    assert "Predicted efficiencies\n  ranks" in analyzed("pop", *folders, "--predict", "16,64", "--weak")
    assert len(json.loads(analyzed("pop", *folders, "--predict", "16", "--json", "-"))["predictions"]["ranks"]) == 1


@pytest.mark.parametrize("name", ["critical-path", "waits", "pop"])
def test_a_page_is_drawn_that_needs_no_network(folder: Path, tmp_path: Path, name: str):
    pytest.importorskip("plotly")
    analyzed(name, folder, "--plot", tmp_path / "found.html")
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    assert "Plotly.newPlot" in page
    assert 'src="http' not in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["waits", "nowhere"], "nowhere is not a trace"),
        (["bounds", "trace"], "trace cannot be replayed"),
        (["pop", "trace", "--predict", "16"], "a prediction needs at least 3 different numbers of ranks"),
        (["pop", "trace", "--region", "solve"], "trace has no region 'solve': its program names none"),
        (["waits", "trace", "--plot", "a.png"], "name a file that ends with .html"),
    ],
)
def test_errors_are_told_in_a_line(folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str):
    monkeypatch.chdir(folder.parent)
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_number_of_ranks_is_one(folder: Path):
    done = CliRunner().invoke(command, ["pop", str(folder), "--predict", "1e6"])
    assert done.exit_code == 2
    assert "'1e6' is not a number of ranks" in done.stderr


def test_without_plotly_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("plotly", "plotly.graph_objects"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install '\.\[analysis\]'"):
        waits(Trace(folder)).plot()
