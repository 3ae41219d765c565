"""A study runs each point once, keeps what has ended, and goes on where it was."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import smpy
from smpy.errors import NoRoomError, UsageError
from smpy.options import RunConfig
from smpy.runs.request import RunInputs
from smpy.runs.run import RunError
from smpy.runs.run_text import command_line
from smpy.runs.simulate import perform_run
from smpy.study.journal import Entry, Journal, RunOrigin
from smpy.study.points import Point
from smpy.study.state import StudyState
from smpy.study.study import Study
from smpy.study.tasks import perform
from tests.study.studies import simulated, study_table


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, pd.DataFrame]:
    """A study that has run: three sizes on two latencies, with profiles and traces."""
    folder = tmp_path_factory.mktemp("small")
    given = study_table(folder, keep=["profile", "trace"])
    given["axes"]["set.network.latency"] = ["x1", "x10"]
    study = smpy.Study(given, folder / "results")
    return study, study.run(workers=1)


@pytest.mark.slow
def test_a_point_has_the_bits_of_the_same_command_in_a_shell(small: tuple[Study, pd.DataFrame], tmp_path: Path):
    study, frame = small
    for point, row in zip(study.points, frame.to_dict("records"), strict=True):
        json_path = tmp_path / "alone.json"
        arguments = [f"--json={json_path}", *command_line(point.run)]
        command = [os.path.join(os.path.dirname(sys.executable), "smpy"), "run", "--quiet", *arguments]
        assert os.spawnv(os.P_WAIT, command[0], command) == 0
        alone = json.loads(json_path.read_text())
        for name in ("makespan_s", "messages", "bytes", "waiting_share", "ranks"):
            assert row[name] == alone[name]
        kept = json.loads((study.folder / row["profile"]).read_text())
        for name in alone.keys() - {"host"}:
            assert kept[name] == alone[name]


def test_the_table_has_axes_results_and_files(small: tuple[Study, pd.DataFrame]):
    study, frame = small
    assert list(frame["point"]) == list(range(6))
    assert list(frame["args.n"]) == [1, 1, 1000, 1000, 100_000, 100_000]
    assert list(frame["set.network.latency"]) == ["x1", "x10"] * 3
    assert list(frame["carried"]) == list(frame["args.n"])
    assert (frame["error"] == "").all()
    assert (frame["makespan_s"].to_numpy()[1::2] > frame["makespan_s"].to_numpy()[::2]).all()
    assert all((study.folder / trace / "run.json").exists() for trace in frame["trace"])


def test_the_folder_of_a_study_is_a_study_and_its_parquet_file_the_table(small: tuple[Study, pd.DataFrame]):
    study, frame = small
    pd.testing.assert_frame_equal(Study(study.folder).table().frame, frame)
    pd.testing.assert_frame_equal(pd.read_parquet(study.folder / "points.parquet"), frame)


def test_a_study_that_has_run_runs_nothing_again(small: tuple[Study, pd.DataFrame], monkeypatch: pytest.MonkeyPatch):
    study, frame = small
    monkeypatch.setattr("smpy.study.study.run_tasks", lambda *_, **__: pytest.fail("it runs again"))
    pd.testing.assert_frame_equal(study.run(), frame)


@pytest.mark.slow
def test_what_fails_hangs_or_eats_memory_is_a_row_with_its_error(tmp_path: Path):
    given = study_table(
        tmp_path,
        args=["5", "{what}"],
        axes={"args.what": ["works", "fails", "hangs", "eats", "exits"]},
        limits={"time": "4s", "memory": "200MB"},
    )
    frame = smpy.Study(given, tmp_path / "results").run(workers=1).set_index("args.what")
    assert frame.loc["works", "error"] == frame.loc["exits", "error"] == ""
    assert "this one cannot work" in frame.loc["fails", "error"]
    assert "longer than timeout_s" in frame.loc["hangs", "error"]
    assert "more memory than" in frame.loc["eats", "error"]
    assert frame["makespan_s"].notna().sum() == 2
    study = smpy.Study({**given, "limits": {"time": "5s", "memory": "200MB"}}, tmp_path / "results")
    again = study._to_run(study.state(), study.points, retry_failed=False)
    assert [point.values for point in again] == [("hangs",)]
    assert len(study._to_run(study.state(), study.points, retry_failed=True)) == 3


@pytest.mark.slow
def test_only_what_is_new_runs_when_an_axis_grows_and_all_when_the_program_changes(tmp_path: Path):
    folder = tmp_path / "results"
    small = smpy.Study(study_table(tmp_path), folder)
    first = small.run(workers=1)
    ran: list[int] = []
    grown = study_table(tmp_path, axes={"args.n": [1, 7, 1000, 100_000]})
    study = smpy.Study(grown, folder)
    assert [point.values for point in study._to_run(study.state(), study.points, retry_failed=False)] == [(7,)]
    frame = study.run(workers=1, progress=lambda progress: ran.append(progress.n_done))
    assert ran[0] == 3
    assert list(frame["args.n"]) == [1, 7, 1000, 100_000]
    pd.testing.assert_frame_equal(
        frame[frame["args.n"] != 7].drop(columns="point").reset_index(drop=True), first.drop(columns="point")
    )
    program = tmp_path / "program.py"
    program.write_text(program.read_text().replace("world.Send(data, 1)", "world.Send(data, 1); time.sleep(1)"))
    stale = smpy.Study(grown, folder)
    assert len(stale.state().stale) == 4
    assert stale.table().frame["is_stale"].all()
    pd.testing.assert_frame_equal(simulated(stale.table().frame), simulated(frame))
    assert "program.py has changed" in next(iter(stale.state().stale.values()))
    again = stale.run(workers=1)
    assert (again["makespan_s"] > 1).all()
    assert not again["is_stale"].any()


@pytest.mark.slow
def test_equal_runs_are_taken_from_another_study_and_measured_ones_never_are(tmp_path: Path):
    cache = tmp_path / "cache"
    given = study_table(tmp_path)
    first = smpy.Study(given, tmp_path / "one").run(workers=1, cache=cache)
    second = smpy.Study(given, tmp_path / "two").run(workers=1, cache=cache)
    assert not first["is_reused"].any()
    assert second["is_reused"].all()
    pd.testing.assert_frame_equal(simulated(second), simulated(first))
    other = {**given, "options": {**given["options"], "set": {"network.latency": "x2"}}}
    assert not smpy.Study(other, tmp_path / "three").run(workers=1, cache=cache)["is_reused"].any()
    (tmp_path / "program.py").write_text((tmp_path / "program.py").read_text() + "\n")
    assert not smpy.Study(given, tmp_path / "four").run(workers=1, cache=cache)["is_reused"].any()
    measured = {**given, "options": {**given["options"], "compute": "measured"}, "axes": {"args.n": [1]}}
    for name in ("five", "six"):
        assert not smpy.Study(measured, tmp_path / name).run(workers=1, cache=cache)["is_reused"].any()


def test_data_that_a_program_reads_is_of_its_identity(tmp_path: Path):
    (tmp_path / "data.txt").write_text("4")
    (tmp_path / "reads.py").write_text(
        "from mpi4py import MPI\nimport time\nfrom pathlib import Path\n"
        "time.sleep(float(Path(__file__).with_name('data.txt').read_text()))\n"
    )
    run = perform_run(RunConfig(1, "reads.py", compute="none"), directory=str(tmp_path), notes_reads=True)
    assert {Path(path).name for path in run.reads.files} == {"data.txt", "reads.py"}
    journal = Journal(tmp_path / "journal.sqlite")
    study = Study(
        {"program": str(tmp_path / "reads.py"), "options": {"ranks": 1, "compute": "none"}, "axes": {"seed": [1]}}
    )
    journal.add(
        [(study.points[0].key, study.origin(study.points[0], run.reads), Entry({"makespan_s": run.makespan_s}))]
    )
    assert not study._state(journal).stale
    (tmp_path / "data.txt").write_text("5")
    assert "data.txt has changed" in study._state(journal).stale[study.points[0].key]
    journal.close()


@pytest.mark.slow
def test_variables_that_a_program_reads_are_of_its_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given = study_table(tmp_path, axes={"args.n": [1]})
    (tmp_path / "program.py").write_text(
        "from mpi4py import MPI\nimport os, time\ntime.sleep(float(os.environ.get('SMPY_TEST_LENGTH', 1)))\n"
    )
    study, cache = smpy.Study(given, tmp_path / "one"), tmp_path / "cache"
    for value, length_s in (("3", 3), ("2", 2), (None, 1)):
        monkeypatch.delenv("SMPY_TEST_LENGTH", raising=False)
        if value is not None:
            monkeypatch.setenv("SMPY_TEST_LENGTH", value)
        stale = list(study.state().stale.values())
        assert stale == (["the environment variable SMPY_TEST_LENGTH has changed"] if value != "3" else [])
        frame = study.run(workers=1, cache=cache)
        assert frame["makespan_s"].tolist() == pytest.approx([length_s], rel=1e-3)
        assert frame["is_reused"].tolist() == [False]
    assert smpy.Study(given, tmp_path / "two").run(workers=1, cache=cache)["is_reused"].all()


def test_points_run_again_when_a_file_becomes_an_input(tmp_path: Path):
    (tmp_path / "mesh").write_text("4")
    given = study_table(tmp_path, axes={"args.n": [1]})
    study = Study(given)
    journal = Journal(tmp_path / "journal.sqlite")
    journal.add([(study.points[0].key, study.origin(study.points[0], RunInputs()), Entry({}))])
    assert not study._state(journal).stale
    grown = Study({**given, "inputs": [str(tmp_path / "mesh")]})
    assert "mesh is an input now" in grown._state(journal).stale[study.points[0].key]
    journal.add([(study.points[0].key, grown.origin(grown.points[0], RunInputs()), Entry({}))])
    assert not grown._state(journal).stale
    journal.close()


def test_points_run_again_when_a_variable_that_the_study_names_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SMPY_TEST_NAMED", "1")
    given = study_table(tmp_path, axes={"args.n": [1]})
    study = Study(given)
    key = study.points[0].key
    journal = Journal(tmp_path / "journal.sqlite")
    journal.add([(key, study.origin(study.points[0], RunInputs()), Entry({}))])
    named = Study({**given, "environment": ["SMPY_TEST_NAMED"]})
    assert not study._state(journal).stale
    assert named._state(journal).stale[key] == "the environment variable SMPY_TEST_NAMED is an input now"
    journal.add([(key, named.origin(named.points[0], RunInputs()), Entry({}))])
    assert not named._state(journal).stale
    assert journal.variables() == {"SMPY_TEST_NAMED"}
    monkeypatch.setenv("SMPY_TEST_NAMED", "2")
    assert named._state(journal).stale[key] == "the environment variable SMPY_TEST_NAMED has changed"
    journal.close()


def test_a_file_that_is_written_while_it_is_read_is_trusted_no_more(tmp_path: Path):
    (tmp_path / "writes.py").write_text(
        "from mpi4py import MPI\nfrom pathlib import Path\nimport os\n"
        "Path('out.txt').write_text('x'); Path('out.txt').read_text()\n"
        "Path('seen.txt').read_text(); os.utime('seen.txt')\n"
    )
    (tmp_path / "seen.txt").write_text("x")
    os.utime(tmp_path / "seen.txt", (1, 1))
    run = perform_run(RunConfig(1, "writes.py", compute="none"), directory=str(tmp_path), notes_reads=True)
    states = {Path(path).name: state for path, state in run.reads.files.items()}
    assert states.keys() == {"writes.py", "seen.txt"}
    assert states["seen.txt"] == ""


def test_a_journal_keeps_one_row_a_key_and_tells_of_another_format(tmp_path: Path):
    path = tmp_path / "journal.sqlite"
    journal = Journal(path)
    origin = RunOrigin({"a.py": "0"}, {"smpy": "1"})
    journal.add([("k", origin, Entry({"makespan_s": 1.0})), ("l", origin, Entry({}, "broke"))])
    journal.add([("k", origin, Entry({"makespan_s": 2.0}))])
    assert {key: entry.row.get("makespan_s") for key, _, entry in journal.entries()} == {"k": 2.0, "l": None}
    assert journal.get("k") == (origin, Entry({"makespan_s": 2.0}))
    assert journal.get("m") is None
    journal.close()
    path.write_text("no database, and long enough to be looked at as one " * 10)
    with closing(Journal(path)) as journal:
        assert (list(journal.entries()), journal.get("k")) == ([], None)
        assert "nothing of it can be read (file is not a database)" in journal.damage


def test_a_journal_of_another_version_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def connect_and_tell(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect_and_tell)
    with pytest.raises(UsageError, match="another version"):
        Journal(path)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"program": "nowhere.py"}, "no program 'nowhere.py'"),
        ({"inputs": ["nowhere.h5"]}, "no file 'nowhere.h5'"),
        ({"axes": {"set.nic.latnecy": ["1us"]}}, "latnecy"),
        ({"axes": {"platform": ["default", "nowhere.xml"]}}, "nowhere.xml"),
    ],
)
def test_what_no_point_could_run_with_is_told_before_any_runs(changes: dict[str, Any], told: str, tmp_path: Path):
    study = Study(study_table(tmp_path, **changes), tmp_path / "results")
    with pytest.raises(UsageError) as error:
        study.run(workers=1)
    assert told in str(error.value)
    assert study.table().frame.empty


def test_the_table_has_the_joules_that_runs_count_where_machines_say_power(tmp_path: Path):
    (tmp_path / "machine.toml").write_text(
        '[host]\ncount = 4\ncores = 1\nspeed = "4Gf"\n[topology]\nkind = "flat"\n[price]\nkwh_eur = 0.3\n'
        '[power]\nidle = "100W"\none_core = "130W"\nbusy = "250W"\nlink = "2W:6W"\nswitch = "10W"\n'
    )
    (tmp_path / "compute.py").write_text("import sys, smpy\nsmpy.execute(float(sys.argv[1]))\n")
    given = {
        "program": str(tmp_path / "compute.py"),
        "args": ["{flop}"],
        "options": {"ranks": 2, "compute": "none", "platform": str(tmp_path / "machine.toml")},
        "axes": {"args.flop": [4e9]},
    }
    row = smpy.Study(given, tmp_path / "results").run(workers=1).iloc[0]
    joules = 2 * 250 + 2 * 100 + 8 * 2 + 10
    assert row["energy_kwh"] == pytest.approx(joules / 3.6e6)
    assert row["energy_eur"] == pytest.approx(0.3 * joules / 3.6e6)
    assert row["edp"] == pytest.approx(joules * 1)


def test_a_study_that_runs_already_is_left_alone(tmp_path: Path):
    study = Study(study_table(tmp_path), tmp_path / "results")
    assert not study.is_running
    with study._locked():
        assert study.is_running
        with pytest.raises(UsageError, match="is running already"):
            Study(study_table(tmp_path), tmp_path / "results").run()
    assert not study.is_running


def test_the_table_has_what_machines_and_runs_cost_and_other_prices_run_nothing_again(tmp_path: Path):
    prices = {"host_eur": 100, "switch_eur": 50, "cable_eur": 5, "kwh_eur": 0.5, "lifetime_years": 1}
    prices |= {"power": {"idle": "360W", "busy": "720W", "switch": "0W"}}
    given = study_table(tmp_path, axes={"set.host.count": [2, 4]}, args=["7"], prices=prices)
    frame = smpy.Study(given, tmp_path / "results").run(workers=1)
    assert frame["hosts"].tolist() == [2, 4]
    assert (frame["switches"].tolist(), frame["cables"].tolist()) == ([1, 1], [2, 4])
    assert frame["price_eur"].tolist() == [2 * 100 + 50 + 10, 4 * 100 + 50 + 20]
    energy_kwh = frame["makespan_s"] * frame["hosts"] * 0.36 / 3600  # nothing computes
    assert frame["energy_kwh"].tolist() == pytest.approx(energy_kwh.tolist())
    written_off = frame["price_eur"] * frame["makespan_s"] / (365.25 * 86400)
    assert frame["run_eur"].tolist() == pytest.approx((written_off + energy_kwh / 2).tolist())
    dear_prices = {"host_eur": 1000, "switch_eur": 0, "cable_eur": 0, "power": prices["power"]}
    dear = smpy.Study(given | {"prices": dear_prices}, tmp_path / "results")
    assert not [point for point in dear.points if point.key not in dear.state().entries]
    assert dear.table().frame["price_eur"].tolist() == [2000, 4000]
    assert dear.table().frame["energy_kwh"].equals(frame["energy_kwh"])
    assert dear.table().frame["energy_eur"].isna().all()
    assert dear.table().frame["makespan_s"].equals(frame["makespan_s"])


@pytest.mark.parametrize("own", ["", '[power]\nidle = "90W"\nbusy = "300W"\n'])
def test_runs_count_the_power_of_a_price_list_where_the_machine_says_none(own: str, tmp_path: Path):
    (tmp_path / "machine.toml").write_text(
        f'[host]\ncount = 2\ncores = 2\nspeed = "1Gf"\n[topology]\nkind = "flat"\n{own}'
    )
    (tmp_path / "compute.py").write_text("import smpy\nsmpy.execute(1e9)\n")
    given = {
        "program": str(tmp_path / "compute.py"),
        "options": {"ranks": 1, "compute": "none", "platform": str(tmp_path / "machine.toml")},
        "prices": {"kwh_eur": 0.5, "power": {"idle": "100W", "busy": "200W", "switch": "10W"}},
        "keep": ["profile"],
    }
    study = smpy.Study(given, tmp_path / "results")
    row = study.run(workers=1).iloc[0]
    joules = {"": 150 + 100 + 10}.get(own, 195 + 90 + 10)  # of 1 s, in which one of two cores computes
    assert row["energy_kwh"] == pytest.approx(joules / 3.6e6)
    assert row["energy_eur"] == pytest.approx(0.5 * joules / 3.6e6)
    record = json.loads((tmp_path / "results" / row["profile"]).read_text())
    assert record["energy"]["total_kwh"] == pytest.approx(row["energy_kwh"])
    hot = given | {"prices": {"power": {"idle": "100W", "busy": "300W", "switch": "10W"}}}
    assert smpy.Study(hot, tmp_path / "results").points[0].key != study.points[0].key


def test_a_run_and_a_simulation_import_nothing_of_studies(tmp_path: Path):
    (tmp_path / "says.py").write_text("import sys\nfrom mpi4py import MPI\nprint(*sorted(sys.modules))\n")
    code = "import smpy, sys; print(smpy.simulate('says.py', ranks=1, compute='none').stdout, *sys.modules)"
    for command in (["-m", "smpy", "run", "-np", "1", "--compute", "none", "says.py"], ["-c", code]):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
        packages = {name.partition(".")[0] for name in done.stdout.split()}
        assert "smpy" in packages
        assert not packages & {"dask", "distributed", "pandas", "plotly", "pyarrow", "SALib", "scipy", "sqlite3"}
        assert "smpy.study" not in done.stdout


def test_a_point_that_failed_by_what_may_have_gone_runs_again(tmp_path: Path):
    given = study_table(tmp_path, axes={"platform": ["eth25", "none.toml", "hdr"]}, args=["1"])
    del given["options"]["platform"]
    study = smpy.Study(given, tmp_path / "results")
    entries = {point.key: perform(study._task(point, None))[0] for point in study.points}
    assert [bool(entry.error) for entry in entries.values()] == [False, True, False]
    assert study._to_run(StudyState(entries), study.points, retry_failed=False) == [study.points[1]]


def test_a_point_that_had_no_room_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object) -> None:
        raise RunError("no room", failure=NoRoomError("no room"))

    study = smpy.Study(study_table(tmp_path, axes={"args.n": [1]}), tmp_path / "results")
    monkeypatch.setattr("smpy.study.tasks.perform_run", full)
    entry, _ = perform(study._task(study.points[0], None))
    assert entry.error == "no room"
    assert study._to_run(StudyState({study.points[0].key: entry}), study.points, retry_failed=False)


class Search:
    """Chooses all points that have not ended, once."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = points
        self._left = list(points)

    def next(self, state: StudyState) -> list[Point]:
        left, self._left = self._left, []
        return [point for point in left if state.current(point.key) is None]


@pytest.mark.parametrize(("retry_failed", "asked"), [(False, [1]), (True, [1, 2])])
def test_a_search_asks_again_for_what_runs_again_and_leaves_other_points_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retry_failed: bool, asked: list[int]
):
    axes = {"args.n": [1, 2, 3, 4]}
    study = smpy.Study(study_table(tmp_path, axes=axes), tmp_path / "results")
    well, outside, failed = Entry({"makespan_s": 1.0}), Entry({}, "no room", is_outside=True), Entry({}, "it failed")
    study.folder.mkdir()
    with closing(Journal(study.folder / "journal.sqlite")) as journal:
        outcomes = zip(study.points, (well, outside, failed, well), strict=True)
        journal.add((point.key, study.origin(point, RunInputs()), entry) for point, entry in outcomes)
    keys: list[str] = []
    monkeypatch.setattr("smpy.study.study.run_tasks", lambda tasks, *_, **__: keys.extend(task.key for task in tasks))
    frame = study.run(search=Search(study.points[:3]), retry_failed=retry_failed)
    assert keys == [study.points[i].key for i in asked]
    assert list(frame["error"]) == ["", "no room", "it failed", ""]
    assert list(pd.read_parquet(study.folder / "points.parquet")["args.n"]) == axes["args.n"]


@pytest.mark.parametrize(("share_bytes", "n"), [(1000, 0), (2000, 1), (None, 1)])
def test_a_point_that_held_more_than_its_share_runs_again_when_that_is_more(
    share_bytes: int | None, n: int, tmp_path: Path
):
    study = smpy.Study(study_table(tmp_path, axes={"args.n": [1]}), tmp_path / "results")
    entry = Entry({}, "too much", over="memory", limit=1000)
    assert len(study._to_run(StudyState({study.points[0].key: entry}), study.points, False, share_bytes)) == n
