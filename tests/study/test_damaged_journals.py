"""A damaged journal keeps what can be read; the rest runs again, and one line says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import smpy
import smpy.study.journal
from smpy.cli.main import main
from smpy.errors import JournalWarning, UsageError
from smpy.study.journal import Entry, Journal, RunOrigin

PROGRAM = "import smpy, sys\nsmpy.inject_seconds(float(sys.argv[1]))\n"
N_POINTS = 4
STUDY = """
program = "program.py"
args = ["{n}"]
options = { compute = "none" }
axes = { ranks = [1], "args.n" = [1, 2, 3, 4] }
"""
DATES = ["point", "args.n", "makespan_s", "error"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> smpy.Study:
    """A study whose points have ended."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "study.toml").write_text(STUDY)
    study = smpy.Study(folder / "study.toml", folder / "a.study")
    study.run(workers=1)
    return study


@pytest.fixture
def study(ended: smpy.Study, tmp_path: Path) -> smpy.Study:
    """A finished study with a journal of its own."""
    return smpy.Study(Path(shutil.copytree(ended.folder, tmp_path / "a.study")))


def journal_of(study: smpy.Study) -> Path:
    return study.folder / "journal.sqlite"


def change(study: smpy.Study, statement: str) -> None:
    with closing(sqlite3.connect(journal_of(study))) as db, db:
        db.execute(statement)


def test_a_row_that_has_changed_runs_again_and_the_others_stay(study: smpy.Study):
    before = study.table().frame
    change(study, "UPDATE finished SET entry = replace(entry, '\"makespan_s\": 2', '\"makespan_s\": 9')")
    told = (
        r"journal.sqlite is damaged: 1 finished point cannot be read; 3 finished points are kept, the rest runs again"
    )
    with pytest.warns(JournalWarning, match=told):
        assert len(study.state().entries) == N_POINTS - 1
    with pytest.warns(
        JournalWarning, match=r"; the damaged file is kept as journal.sqlite.damaged; 3 finished points are kept"
    ):
        after = study.run(workers=1)
    pd.testing.assert_frame_equal(after[DATES], before[DATES])
    assert (study.folder / "journal.sqlite.damaged").exists()
    assert len(study.state().entries) == N_POINTS


@pytest.mark.parametrize(
    ("damage", "is_told"),
    [
        pytest.param(lambda data: b"", True, id="empty"),
        pytest.param(lambda data: b"thesis" * 1000, True, id="something-else"),
        pytest.param(lambda data: data[: len(data) // 2], True, id="half"),
        pytest.param(lambda data: data[:4096] + bytes(4096) + data[8192:], True, id="a-page-of-zeros"),
        pytest.param(lambda data: data[:-4096] + bytes(4096), False, id="an-index-alone"),
        pytest.param(lambda data: bytes(100) + data[100:], True, id="head"),
    ],
)
def test_readable_rows_of_a_damaged_file_are_kept_and_points_are_added(study: smpy.Study, damage, is_told: bool):
    before = study.state().entries
    journal_of(study).write_bytes(damage(journal_of(study).read_bytes()))
    status = CliRunner().invoke(main, ["study", "status", str(study.folder)])
    assert (status.exit_code, status.exception) == (0, None), status.output
    told = re.compile("journal.sqlite is (damaged|empty): ")
    assert sum(told.search(line) is not None for line in status.output.splitlines()) == is_told
    with warnings.catch_warnings(action="ignore"), closing(study._journal()) as journal:
        left = {key: entry for key, _, entry in journal.entries()}
        assert left.items() <= before.items()
        journal.add((point.key, RunOrigin({}, {}), Entry({"makespan_s": 1.0})) for point in study.points)
        assert len(list(journal.entries())) == N_POINTS
    with closing(Journal(journal_of(study))) as journal:
        journal.check()
        assert not journal.damage


def test_a_missing_journal_is_warned_of(study: smpy.Study):
    journal_of(study).unlink()
    with pytest.warns(JournalWarning, match=r"journal.sqlite is missing: all points run again"):
        assert not study.state().entries
    with pytest.warns(JournalWarning, match=r"journal.sqlite is missing: all points run again"):
        assert len(study.run(workers=1)) == N_POINTS


def test_a_journal_with_more_than_its_tables_is_not_read(study: smpy.Study):
    """A view or a trigger of somebody else's would run as it is read or written."""
    change(study, "CREATE TRIGGER more AFTER INSERT ON finished BEGIN DELETE FROM finished; END")
    with pytest.warns(JournalWarning, match="its tables are not those of a journal.*all points run again"):
        assert not study.state().entries


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_journal_that_is_no_plain_file_is_refused(study: smpy.Study, make):
    journal_of(study).unlink()
    make(journal_of(study))
    with pytest.raises(UsageError, match=r"journal.sqlite is no plain file"):
        study.state()


def test_files_of_a_study_that_are_no_plain_files_keep_nobody_waiting(study: smpy.Study):
    lock, definition = study.folder / "lock", study.folder / "study.json"
    lock.unlink()
    os.mkfifo(lock)
    assert not study.is_running
    with pytest.raises(UsageError, match="cannot write the study's folder"):
        study.run(workers=1)
    definition.unlink()
    os.mkfifo(definition)
    with pytest.raises(UsageError, match=r"study.json: it is no plain file"):
        smpy.Study(study.folder)


def test_an_input_that_became_a_pipe_keeps_nobody_waiting(study: smpy.Study):
    program = Path(study.definition.folder, "program.py")
    kept = program.read_bytes()
    program.unlink()
    os.mkfifo(program)
    try:
        assert len(study.state().stale) == N_POINTS
    finally:
        program.unlink()
        program.write_bytes(kept)


@pytest.mark.parametrize("text", ['{"folder": "/", "study": []}', "[" * 100_000])
def test_a_definition_that_is_none_is_refused(study: smpy.Study, text: str):
    (study.folder / "study.json").write_text(text)
    with pytest.raises(UsageError, match=r"study.json is not what a study has written"):
        smpy.Study(study.folder)


PRICED = {"ranks": 1, "makespan_s": 1.0, "compute_share": 0.5}
PARTS = '{"parts": null, "n_hosts": 1}'
WRONG_PARTS = ("soon", "[]", "{}", '{"parts": {}}', PARTS.replace("1", '"x"'), PARTS.replace("1", "9" * 400))
WRONG_ROWS = [
    *({**PRICED, "parts": text} for text in WRONG_PARTS),
    *({**PRICED, name: None, "parts": PARTS} for name in PRICED),
]


@pytest.mark.parametrize(
    "entry",
    [
        *(json.dumps({"row": row}) for row in WRONG_ROWS),
        "[]", "{}", '{"row": {"makespan_s": "soon"}}', '{"row": {"parts": "{}"}}', '{"row": {}, "error": 3}',
        "{" * 10_000,
        '{"row": {}, "over": "limit"}', '{"row": {}, "more": 1}', '{"row": {"makespan_s": ' + "9" * 400 + "}}",
    ],
)  # fmt: skip
def test_an_entry_with_an_impossible_value_counts_as_damage(tmp_path: Path, entry: str):
    with closing(Journal(tmp_path / "journal.sqlite")) as journal:
        journal.add([("good", RunOrigin({}, {}), Entry({"makespan_s": 1.0})), ("bad", RunOrigin({}, {}), Entry({}))])
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as db, db:
        db.execute("UPDATE finished SET entry = ?, checksum = NULL WHERE key = 'bad'", (entry,))
    with closing(Journal(tmp_path / "journal.sqlite")) as journal:
        assert [key for key, _, _ in journal.entries()] == ["good"]
        assert journal.get("bad") is None
        assert "1 finished point cannot be read" in journal.damage


def test_points_that_end_while_a_journal_is_read_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process writes after the origins were read, and before the rows are."""
    path = tmp_path / "journal.sqlite"
    read_all = Journal._all

    def read_and_add(self: Journal, query: str) -> Iterator[Any]:
        yield from read_all(self, query)
        if "FROM origins" in query:
            with closing(Journal(path)) as writer:
                writer.add([("new", RunOrigin({"read.txt": "1"}, {}), Entry({"makespan_s": 1.0}))])

    monkeypatch.setattr(Journal, "_all", read_and_add)
    with closing(Journal(path)) as journal:
        assert [(key, origin.files) for key, origin, _ in journal.entries()] == [("new", {"read.txt": "1"})]
        assert not journal.damage


def test_a_journal_whose_creation_failed_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The process that creates it may be killed between one table and the next."""
    path = tmp_path / "journal.sqlite"
    with monkeypatch.context() as only_here:
        only_here.setattr(smpy.study.journal, "_TABLES", (smpy.study.journal._TABLES[0], "CREATE nothing"))
        with closing(Journal(path)) as journal:
            assert "nothing of it can be read" in journal.damage
    with closing(Journal(path)) as journal:
        assert not journal.damage
        journal.add([("point", RunOrigin({}, {}), Entry({"makespan_s": 1.0}))])
        assert [key for key, _, _ in journal.entries()] == ["point"]
