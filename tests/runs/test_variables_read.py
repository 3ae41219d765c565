"""Environment variables that a run's program has read by name are known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smpy.options import RunConfig
from smpy.runs.simulate import perform_run
from smpy.runs.variables_read import Noting, changed_variables


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMPY_TEST_SET", "1")
    monkeypatch.setenv("SMPY_TEST_LAST", "2")
    monkeypatch.delenv("SMPY_TEST_UNSET", raising=False)


def variables_of(folder: Path, program: str) -> dict[str, str]:
    """Environment variables that a run of this program on two ranks has read."""
    (folder / "program.py").write_text("from mpi4py import MPI\nimport os\n" + program)
    run = perform_run(RunConfig(2, "program.py", compute="none"), directory=str(folder), notes_reads=True)
    return dict(run.reads.variables)


@pytest.mark.parametrize(
    "program",
    [
        "os.environ['SMPY_TEST_SET']",
        "os.getenv('SMPY_TEST_SET')",
        "os.environ.get('SMPY_TEST_SET', '7')",
        "os.environb[b'SMPY_TEST_SET']",
        "assert 'SMPY_TEST_SET' in os.environ",
        "os.environ['SMPY_TEST_SET'] += 'x'",
        "assert os.environ.pop('SMPY_TEST_SET') == '1'",
        "exec(\"os.environ['SMPY_TEST_SET']\")",
        "copy = dict(os.environ); os.environ['SMPY_TEST_SET']",
        "sorted(os.environ); os.environ.get('SMPY_TEST_SET')",
        "assert 'SMPY_TEST_SET' in list(os.environ); os.environ['SMPY_TEST_SET']",
        "assert len(os.environ); (os.environ or {}).get('SMPY_TEST_SET')",
        "list(os.environ); dict(os.environ); os.environ['SMPY_TEST_SET']",
        "next(name for name, value in os.environ.items() if name == 'SMPY_TEST_SET')",
        "import collections; collections.ChainMap({}, os.environ)['SMPY_TEST_SET']",
        "assert os.path.expandvars('$SMPY_TEST_SET') == '1'",
        "import string; string.Template('$SMPY_TEST_SET').substitute(os.environ)",
        "match os.environ:\n    case {'SMPY_TEST_SET': n}: pass",
    ],
)
def test_a_variable_that_is_read_by_name_is_noted_as_it_was(program: str, tmp_path: Path):
    variables = variables_of(tmp_path, program)
    assert "SMPY_TEST_SET" in variables
    assert "items" in program or variables.keys() == {"SMPY_TEST_SET"}
    assert not changed_variables(variables, os.environ)
    others = {name: value for name, value in os.environ.items() if name != "SMPY_TEST_SET"}
    for other in ({"SMPY_TEST_SET": "2"}, {"SMPY_TEST_SET": ""}, {}):
        assert changed_variables(variables, others | other) == ["SMPY_TEST_SET"]


def test_a_variable_that_was_not_set_is_noted(tmp_path: Path):
    variables = variables_of(tmp_path, "os.environ.get('SMPY_TEST_UNSET')")
    assert not changed_variables(variables, os.environ)
    assert changed_variables(variables, {"SMPY_TEST_UNSET": ""}) == ["SMPY_TEST_UNSET"]


@pytest.mark.parametrize(
    "program",
    [
        "os.environ['SMPY_TEST_SET'] = '2'; assert os.environ['SMPY_TEST_SET'] == '2'",
        "import shutil, tempfile; shutil.get_terminal_size(); tempfile.gettempdir(); os.path.expanduser('~')",
        "assert os.environ['PMI_SIZE'] == '2'",
        "{**os.environ}, dict(os.environ), os.environ.copy(), list(os.environ.items()), os.environ | {}",
        "import subprocess, sys; subprocess.run(['true'], env={**os.environ, 'A': '1'})",
        "import numpy.fft, json, logging",
        "list(os.environ), len(os.environ), bool(os.environ)",
    ],
)
def test_what_no_program_has_asked_for_is_not_noted(program: str, tmp_path: Path):
    assert variables_of(tmp_path, program) == {}


def test_a_module_of_the_programs_own_reads_for_it(tmp_path: Path):
    (tmp_path / "settings.py").write_text("import os\nSIZE = os.environ.get('SMPY_TEST_SET')\n")
    assert variables_of(tmp_path, "import settings").keys() == {"SMPY_TEST_SET"}


def test_all_names_in_turn_are_a_copy_and_no_more_than_some_are_read() -> None:
    variables = Noting({b"A": b"1", b"B": b"2", b"C": b"3"})
    assert [variables[name] for name in variables] == [b"1", b"2", b"3"]
    assert variables.read() == {}
    list(variables), variables[b"A"], variables[b"B"]
    assert variables.read() == {b"A": b"1", b"B": b"2"}
    list(variables)
    assert variables.read() == {b"A": b"1", b"B": b"2"}
    variables[b"C"] = b"4"
    assert (variables[b"C"], variables.get(b"D")) == (b"4", None)
    assert variables.read() == {b"A": b"1", b"B": b"2", b"D": None}
