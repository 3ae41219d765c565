"""A study keeps the lost time of each point."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("distributed")

import smpy
from smpy.analysis import lost
from smpy.records.trace import Trace
from tests.study.studies import study_table


def test_lost_time_lies_beside_the_row_and_is_that_of_the_trace(tmp_path: Path):
    study = smpy.Study(study_table(tmp_path, keep=["lost", "trace"], axes={"args.n": [1]}), tmp_path / "results")
    (row,) = study.run(workers=1).to_dict("records")
    trace = Trace(study.folder / row["trace"])
    assert json.loads((study.folder / row["lost"]).read_text()) == lost(trace).to_record()


def test_lost_time_alone_keeps_no_trace(tmp_path: Path):
    study = smpy.Study(study_table(tmp_path, keep=["lost"], axes={"args.n": [1]}), tmp_path / "results")
    (row,) = study.run(workers=1).to_dict("records")
    record = json.loads((study.folder / row["lost"]).read_text())
    assert record["communication_s"] > 0
    assert row["trace"] == ""
    assert list((study.folder / "traces").iterdir()) == []
