"""Files that a run has read, or looked for in vain, are known: where one is another, the run would be another."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpy.options import RunConfig
from smpy.runs.files_read import are_as_they_were
from smpy.runs.simulate import perform_run


def files_of(folder: Path, program: str) -> dict[str, str]:
    """Files that a run of this program has read."""
    (folder / "program.py").write_text("from mpi4py import MPI\nimport os\n" + program)
    return dict(
        perform_run(RunConfig(1, "program.py", compute="none"), directory=str(folder), notes_reads=True).reads.files
    )


def test_a_file_that_was_not_there_is_noted(tmp_path: Path):
    files = files_of(tmp_path, "try:\n    open('settings')\nexcept FileNotFoundError:\n    pass\n")
    assert are_as_they_were(files, {})
    (tmp_path / "settings").write_text("x")
    assert not are_as_they_were(files, {})


@pytest.mark.parametrize("file", ["helper.py", "helper/__init__.py"])
def test_a_module_that_was_not_there_is_noted(file: str, tmp_path: Path):
    files = files_of(
        tmp_path, "for name in 'helper', 'a\\0b':\n    try: __import__(name)\n    except Exception: pass\n"
    )
    assert are_as_they_were(files, {})
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    assert not are_as_they_were(files, {})


def test_a_file_that_has_gone_since_it_was_read_is_trusted_no_more(tmp_path: Path):
    (tmp_path / "data").write_text("x")
    assert files_of(tmp_path, "open('data').close(); os.remove('data')")[str(tmp_path / "data")] == ""


def test_a_file_that_took_the_place_of_the_one_that_was_read_is_trusted_no_more(tmp_path: Path):
    for name in ("data", "other"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (1, 1))
    assert files_of(tmp_path, "open('data').close(); os.replace('other', 'data')")[str(tmp_path / "data")] == ""


@pytest.mark.parametrize(("mode", "is_noted"), [("r", True), ("r+", True), ("a", False), ("w+", False)])
def test_a_file_that_is_opened_for_changes_in_place_is_read(mode: str, is_noted: bool, tmp_path: Path):
    (tmp_path / "data").write_text("x")
    files = files_of(tmp_path, f"open('data', '{mode}').close()")
    assert (str(tmp_path / "data") in files) == is_noted
    assert are_as_they_were(files, {})


@pytest.fixture
def installed() -> Iterator[Path]:
    """The first file of a package among the installed ones."""
    folder = Path(sysconfig.get_paths()["purelib"], f"smpy_test_installed_{os.getpid()}")
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import part")
    (folder / "part.py").write_text("")
    yield folder / "__init__.py"
    shutil.rmtree(folder)


def test_an_installed_package_is_noted_by_its_first_file_and_those_of_known_versions_are_not(
    installed: Path, tmp_path: Path
):
    files = files_of(tmp_path, f"import {installed.parent.name}, numpy.fft, json, statistics\n")
    assert files.keys() == {str(tmp_path / "program.py"), str(installed)}
    assert are_as_they_were(files, {})
    installed.write_text("from . import part as x")
    assert not are_as_they_were(files, {})
