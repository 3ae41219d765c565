"""Analyses of a measured run name the functions and lines in which ranks computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import fsum
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from smpy.analysis.comparison import compare
from smpy.analysis.path_analysis import critical_path
from smpy.analysis.wait_analysis import waits
from smpy.errors import DamagedFileError
from smpy.records.trace import Trace
from tests.analysis.small_run import Compute, Message, perform
from tests.records.synthetic_trace import seal

STEPS = [Compute(0, 3.0, 3), Message(0, 1, 10**9, 5), Compute(1, 1.0, 4)]
ROWS = [
    {"ended_by": "prog.py:3", "function": "sweep", "line": "prog.py:1", "seconds": 2.25, "samples": 30},
    {"ended_by": "prog.py:3", "function": "<module>", "line": "prog.py:2", "seconds": 0.75, "samples": 10},
]


def trace_with(folder: Path, rows: Any) -> Trace:
    """A trace whose summary has samples."""
    path = perform(2, STEPS).write(folder) / "run.json"
    content = json.loads(path.read_text())
    content["profile"] = {"kinds": [], "sites": [], "computing_lines": rows}
    path.write_text(json.dumps(content))
    return Trace(seal(folder))


def test_the_critical_path_names_functions_and_lines(tmp_path: Path):
    path = critical_path(trace_with(tmp_path / "trace", ROWS))
    computed_s = {(each.place.function, each.place.line): each.seconds for each in path.rows if each.kind == "compute"}
    assert computed_s == pytest.approx({("sweep", 1): 2.25, ("<module>", 2): 0.75, ("", 4): 1.0})
    assert fsum(each.seconds for each in path.rows) == pytest.approx(path.time_s)
    calls = [line.split()[3:] for line in path.table().splitlines()[2:6]]
    assert ["compute", "sweep()", "prog.py:1"] in calls
    assert ["compute", "module", "prog.py:2"] in calls
    assert {row["function"] for row in path.to_record()["rows"]} == {"sweep", "<module>", None}


def test_causes_of_waits_name_functions_and_lines(tmp_path: Path):
    result = waits(trace_with(tmp_path / "trace", ROWS))
    caused_s = {(cause.rank, cause.place.function, cause.place.line): cause.seconds for cause in result.causes}
    assert caused_s == pytest.approx({(0, "sweep", 1): 2.25, (0, "<module>", 2): 0.75})
    assert fsum(cause.seconds for cause in result.causes) == pytest.approx(result.seconds)
    assert ["compute", "sweep()", "prog.py:1"] in [line.split()[6:] for line in result.table().splitlines()]


def test_runs_are_compared_by_function_and_line(tmp_path: Path):
    before = trace_with(tmp_path / "before", ROWS)
    after = trace_with(tmp_path / "after", [{**ROWS[0], "samples": 20}, {**ROWS[1], "samples": 20}])
    differences = {
        each.place.text: each.seconds for each in compare(before, after).differences if abs(each.seconds) > 1e-9
    }
    assert differences == pytest.approx({"sweep() prog.py:1": -0.75, "module prog.py:2": 0.75})


DAMAGED = [
    "all",
    [3],
    [{**ROWS[0], "line": "prog.py"}],
    [{**ROWS[0], "line": 3}],
    [{**ROWS[0], "samples": "many"}],
    [{**ROWS[0], "samples": float("nan")}],
    [{**ROWS[0], "samples": -1}],
    [{"line": "prog.py:1"}],
]


@pytest.mark.parametrize("rows", DAMAGED)
def test_damaged_samples_are_refused_in_a_line(tmp_path: Path, rows: Any):
    with pytest.raises(DamagedFileError, match=r"run.json is damaged: .*record .* again"):
        trace_with(tmp_path / "trace", rows)


def test_a_trace_of_a_measured_run_has_computing_lines(emulated: Callable, tmp_path: Path):
    program = (
        "from mpi4py import MPI\n"
        "def busy():\n"
        "    for i in range(2_000_000):\n"
        "        pass\n"
        "busy()\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    ran = emulated(program, 2, compute="measured", trace=tmp_path / "trace")
    assert ran.error == ""
    first = critical_path(Trace(tmp_path / "trace")).rows[0]
    assert (first.kind, first.place.function) == ("compute", "busy")
