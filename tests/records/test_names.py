"""Names that are no UTF-8: of a program, its arguments, its regions, and the folders of a trace and a study."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from smpy.cli.main import main

NAME = os.fsdecode(b"caf\xe9")  # Latin-1, no UTF-8
PROGRAM = """
import sys
import smpy
from mpi4py import MPI
with smpy.region(sys.argv[1]):
    MPI.COMM_WORLD.allreduce(1)
    smpy.execute(1e6)
"""
STUDY = """
program = "program.py"
args = ["all"]
options = { compute = "none" }
axes = { ranks = [1, 2] }
keep = ["trace", "profile"]
"""


def smpy(*words: str | Path) -> str:
    done = CliRunner().invoke(main, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("folder", ["trace", NAME])
def test_a_trace_with_names_that_are_not_utf_8_is_read_by_every_command(tmp_path: Path, folder: str):
    program, trace = tmp_path / f"{NAME}.py", tmp_path / folder
    program.write_text(PROGRAM)
    smpy("run", "-np", "2", "--compute", "none", "--quiet", "--trace", trace, program, NAME)
    if folder != NAME:
        assert pq.read_table(trace / "regions.parquet")["name"].to_pylist() == ["caf\\udce9"] * 2
    assert "caf\\udce9.py:6" in smpy("analyze", "waits", trace)
    for analysis in ("pop", "bounds", "critical-path"):
        smpy("analyze", analysis, trace)
    smpy("replay", trace)
    for form in ("csv", "perfetto"):
        smpy("export", trace, "--to", form, "-o", tmp_path / form)
    smpy("report", trace, "-o", tmp_path / "page.html")
    assert "caf\\udce9.py" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_study_in_a_folder_whose_name_is_not_utf_8_is_run_shown_and_exported(tmp_path: Path):
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    (folder / "study.toml").write_text(STUDY)
    smpy("study", "run", folder / "study.toml", "--workers", "1")
    assert "2 of 2" in smpy("study", "status", folder / "study.toml")
    smpy("study", "export", folder / "study.toml", "--to", "parquet", "-o", folder / "table.parquet")
    table = pq.read_table(pa.BufferReader((folder / "table.parquet").read_bytes()))
    assert table["ranks"].to_pylist() == [1, 2]
    smpy("report", folder / "study.study", "-o", tmp_path / "page.html")
    assert '"folder":"caf%E9/study.study"' in (tmp_path / "page.html").read_text(encoding="utf-8")
