"""Kernels of imported traces: times of regions and counters as planted, tables of traces, bad tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.importers import formats
from smpy.importers.import_options import ImportOptions
from smpy.importers.real_run import RealRun
from smpy.importers.trace_builder import TraceBuilder
from smpy.study.model import study_model
from smpy.study.trace_table import read_trace_table

pytest.importorskip("scipy")
pytest.importorskip("pandas")

RANKS = [2, 4, 8, 16, 24, 32]
SOLVE_S, SETUP_S = 12.0, 0.5
INSTRUCTIONS, STALLS = 4e9, 1e8


def run_of(n_ranks: int, miss_share: float = 0.02) -> Callable[[Path, TraceBuilder, ImportOptions], None]:
    """Ranks that set up and solve; rank 0 computes for twice the mean of the others' instructions in neither."""

    def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        builder.begin(n_ranks)
        run = RealRun(builder, options)
        for rank in range(n_ranks):
            counted = dict.fromkeys(("PAPI_TOT_INS", "PAPI_MEM_SCY", "PAPI_L3_TCA", "PAPI_L3_TCM"), 0.0)
            run.counters_are(rank, counted)
            run.region_begins(rank, 0.0, "setup")
            run.region_ends(rank, SETUP_S)
            run.region_begins(rank, SETUP_S, "solve")
            solved = INSTRUCTIONS / n_ranks, STALLS, 1e6 / n_ranks, miss_share * 1e6 / n_ranks
            run.counters_are(rank, dict(zip(counted, solved, strict=True)))
            run.region_ends(rank, SETUP_S + SOLVE_S / n_ranks)
        run.end()

    return read


@pytest.fixture
def table_of_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    def write(n_misses_less: int = 0, ranks: list[int] = RANKS) -> Path:
        (tmp_path / "run.test").write_text("test")
        monkeypatch.setitem(formats.FORMATS, "test", "reader_of_a_test")
        for n_ranks in ranks:
            module = ModuleType("reader_of_a_test")
            module.recognises = lambda path, head: head.startswith(b"test")  # type: ignore[attr-defined]
            module.read = run_of(n_ranks, 0.02 - 0.001 * (n_ranks < n_misses_less))  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "reader_of_a_test", module)
            smpy.import_trace(tmp_path / "run.test", tmp_path / f"{n_ranks}.trace")
        (tmp_path / "traces.csv").write_text("trace\n" + "".join(f"{n_ranks}.trace\n" for n_ranks in ranks))
        return tmp_path / "traces.csv"

    return write


def test_regions_and_counters_of_imported_traces_have_their_formulas(table_of_traces: Callable[..., Path]):
    found = study_model(read_trace_table(table_of_traces()), "kernels", validate=["ranks=32"], predict=["ranks=128"])
    formulas = {name: fit.formula.text for name, fit in found.fits.items()}
    assert formulas == {"setup": "0.5", "solve": "12 ranks^(-1)"}
    counters = {key: fit.formula.text for key, fit in found.counter_fits.items()}
    assert counters["solve", "PAPI_TOT_INS"] == "4e+09 ranks^(-1)"
    assert counters["solve", "PAPI_MEM_SCY"] == "1e+08"
    (predicted,) = found.predicted
    assert predicted.parts_s == pytest.approx({"setup": 0.5, "solve": SOLVE_S / 128})
    assert predicted.counters["solve", "PAPI_TOT_INS"] == pytest.approx(INSTRUCTIONS / 128)
    assert found.validated[0].makespan_s == pytest.approx(found.validated[0].measured_s, rel=1e-9)
    assert not any("cache" in flag for flag in found.flags)


def test_another_share_of_cache_misses_is_flagged(table_of_traces: Callable[..., Path]):
    found = study_model(read_trace_table(table_of_traces(n_misses_less=8)), "kernels")
    assert "solve has another cache regime at some points: 1.90% to 2.00% of its accesses miss." in found.flags


def test_the_command_models_a_table_of_traces(table_of_traces: Callable[..., Path], tmp_path: Path):
    line = ["study", "model", str(table_of_traces()), "--of", "kernels", "--predict", "ranks=64"]
    done = CliRunner().invoke(main, [*line, "--json", str(tmp_path / "model.json")])
    assert done.exit_code == 0, done.output
    assert "Counters of a mean rank" in done.output
    record = json.loads((tmp_path / "model.json").read_text())
    solve = next(each for each in record["predicted"][0]["kernels"] if each["kernel"] == "solve")
    assert solve["counters"]["PAPI_MEM_SCY"] == pytest.approx(STALLS)
    assert {row["counter"] for row in record["counters"] if row["kernel"] == "solve"} >= {"PAPI_TOT_INS"}
    makespan = CliRunner().invoke(main, [*line[:-4], "--of", "makespan", "--predict", "ranks=64"])
    assert "0.5 + 12 ranks^(-1)" in makespan.output
    for of in ("lost", "counts"):
        refused = CliRunner().invoke(main, [*line[:3], "--of", of])
        assert (refused.exit_code, f"--of {of} needs a study" in refused.output) == (2, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: it needs a column trace"),
        ("n,ranks\n", "line 1: it needs a column trace"),
        ("n,n,trace\n", "line 1: it needs a column trace"),
        ("ranks,trace\n", "line 1: each trace has its ranks"),
        ("n,trace\n1\n", "line 2: 1 values for 2 columns"),
        ("n,trace\n1,nowhere\n", "line 2: .*nowhere"),
    ],
)
def test_a_table_of_traces_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, told: str):
    (tmp_path / "traces.csv").write_text(text)
    with pytest.raises(UsageError, match=told):
        read_trace_table(tmp_path / "traces.csv")


def test_a_level_that_is_no_number_is_refused(table_of_traces: Callable[..., Path]):
    path = table_of_traces(ranks=[2])
    path.write_text("n,trace\nsmall,2.trace\n")
    with pytest.raises(UsageError, match="line 2: 'small' is no number above 0"):
        read_trace_table(path)


def test_too_few_traces_are_counted(table_of_traces: Callable[..., Path]):
    with pytest.raises(UsageError, match="there are 3"):
        study_model(read_trace_table(table_of_traces(ranks=[2, 4, 8])), "kernels")
