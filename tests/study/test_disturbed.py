"""Studies with killed processes or full disks lose and repeat nothing; the table is that of a quiet study."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest

import smpy
from smpy.errors import SmpyError, UsageError
from smpy.study.journal import Journal
from smpy.study.study import Study
from tests.study.studies import simulated, study_table

SMPY = str(Path(sys.executable).with_name("smpy"))


def write_toml(folder: Path, n: int, *, more: str = "") -> Path:
    study_table(folder)  # the program
    path = folder / "many.toml"
    path.write_text(
        'program = "program.py"\nargs = ["{n}", "{what}"]\n'
        '[options]\nranks = 2\ncompute = "none"\nplatform = "fat-tree hosts=2 cores=1 nic=10Gb/s latency=1us"\n'
        f"[results]\ncarried = 'carried (\\d+)'\n[axes]\nargs.n = {{ from = 1, to = {n}, step = 1 }}\n"
        f"args.what = ['works']\n{more}"
    )
    return path


def start(path: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [SMPY, "study", "run", str(path), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )


def workers_of(study: subprocess.Popen[str]) -> list[psutil.Process]:
    """Dask's worker processes."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(study.pid).children():
            with suppress(psutil.Error):
                if "smpy.study.workers" in " ".join(child.cmdline()):
                    found.append(child)
    return found


def n_ended(path: Path) -> int:
    return len(Study(path).state().entries)


def wait_for_points(path: Path, study: subprocess.Popen[str], n: int) -> None:
    until_s = time.monotonic() + 120
    while study.poll() is None and n_ended(path) < n:
        assert time.monotonic() < until_s
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("n_points", "n_studies"), [(60, 2), pytest.param(200, 5, marks=pytest.mark.campaign)], ids=["few", "many"]
)
def test_points_of_a_study_whose_workers_and_itself_are_killed_are_those_of_a_quiet_one(
    tmp_path: Path, n_points: int, n_studies: int
):
    """Four workers are killed before each kill of the study."""
    path = write_toml(tmp_path, n_points)
    quiet = Study(path, tmp_path / "quiet").run(workers=2)
    assert len(quiet) == n_points
    drawn = random.Random(1)
    n_studies_killed = n_workers_killed = 0
    study = start(path, "--workers", "2")
    while study.poll() is None:
        time.sleep(drawn.uniform(0.2, 1.5))
        workers = workers_of(study)
        if n_workers_killed < 4 * n_studies and workers:
            with suppress(psutil.Error):
                drawn.choice(workers).kill()
                n_workers_killed += 1
        if n_workers_killed >= 4 * (n_studies_killed + 1) and n_studies_killed < n_studies:
            study.kill()
            study.communicate()
            n_studies_killed += 1
            study = start(path, "--workers", "2")
    out, _ = study.communicate()
    assert study.returncode == 0, out
    assert n_studies_killed == n_studies
    assert n_workers_killed == 4 * n_studies
    pd.testing.assert_frame_equal(simulated(Study(path).table().frame), simulated(quiet))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_study_that_is_killed_leaves_no_process_behind(tmp_path: Path):
    path = write_toml(tmp_path, 50, more="[limits]\ntime = '60s'\n").with_name("many.toml")
    path.write_text(path.read_text().replace("['works']", "['hangs']"))
    study = start(path, "--workers", "2")
    until_s = time.monotonic() + 60
    while len(family := psutil.Process(study.pid).children(recursive=True)) < 6:  # two workers, two servers, two runs
        assert time.monotonic() < until_s
        time.sleep(0.2)
    study.kill()
    study.communicate()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ctrl_c_ends_a_study_soon_and_keeps_what_has_ended(tmp_path: Path):
    path = write_toml(tmp_path, 200)
    study = start(path, "--workers", "1")
    wait_for_points(path, study, 3)
    study.send_signal(signal.SIGINT)
    out, _ = study.communicate(timeout=60)
    assert study.returncode == 130
    assert "the same command goes on" in out
    assert "Traceback" not in out
    assert 3 <= n_ended(path) < 200


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_scheduler_that_dies_ends_the_study_and_the_next_one_goes_on(tmp_path: Path):
    """Dask's own scheduler and two workers, processes of their own."""
    path = write_toml(tmp_path, 24)
    with cluster(tmp_path) as (address, scheduler):
        study = start(path, "--scheduler", address)
        wait_for_points(path, study, 3)
        scheduler.kill()
        out, _ = study.communicate(timeout=120)
        assert study.returncode == 1, out
        assert f"the scheduler at {address} has gone; what has finished is kept" in out
        assert "Traceback" not in out
    n = n_ended(path)
    assert 3 <= n < 24
    with cluster(tmp_path) as (address, _):
        study = start(path, "--scheduler", address)
        out, _ = study.communicate(timeout=200)
        assert study.returncode == 0, out
    frame = Study(path).table().frame
    assert list(frame["args.n"]) == list(range(1, 25))
    pd.testing.assert_frame_equal(simulated(frame), simulated(Study(path, tmp_path / "here").run(workers=1)))


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    dask = str(Path(sys.executable).with_name("dask"))
    file = folder / f"scheduler-{time.time_ns()}.json"
    log = open(folder / "dask.log", "ab")  # noqa: SIM115
    options = ["--scheduler-file", str(file)]
    tell = {"stdout": log, "stderr": log}
    work = [dask, "worker", "--nthreads", "1", "--no-dashboard", "--death-timeout", "30", *options]
    scheduler = subprocess.Popen([dask, "scheduler", "--port", "0", "--no-dashboard", *options], **tell)
    workers = [subprocess.Popen(work, **tell) for _ in range(2)]
    try:
        until_s = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < until_s
            time.sleep(0.1)
        yield pd.read_json(file, typ="series")["address"], scheduler
    finally:
        for process in (*workers, scheduler):
            process.terminate()
        for process in (*workers, scheduler):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        log.close()


def test_there_is_no_scheduler_where_none_is(tmp_path: Path):
    study = Study(study_table(tmp_path), tmp_path / "results")
    with pytest.raises(UsageError, match="no Dask scheduler at nowhere"):
        study.run(scheduler="nowhere")


def test_a_folder_that_takes_nothing_is_told_before_anything_runs(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="name another folder"):
        Study(study_table(tmp_path), tmp_path / "file" / "results").run()


def test_a_full_disk_ends_a_study_and_keeps_what_had_ended(tmp_path: Path):
    """A limit on the size of files stands for the disk: SQLite says of both that it cannot write."""
    folder = tmp_path / "results"
    study = smpy.Study(study_table(tmp_path, axes={"args.n": list(range(1, 120))}), folder)
    frame = study.run(workers=1, only=study.points[:2])
    size = os.path.getsize(folder / "journal.sqlite")
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    journal = Journal(folder / "journal.sqlite")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, was[1]))
    try:
        with pytest.raises(SmpyError, match="what has finished is kept: make room") as error:
            for key, origin, entry in list(journal.entries()) * 400:
                journal.add([(f"{key}{time.time_ns()}", origin, entry)])
        assert not isinstance(error.value, UsageError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
        signal.signal(signal.SIGXFSZ, handler)
        journal.close()
    pd.testing.assert_frame_equal(
        smpy.Study(study_table(tmp_path, axes={"args.n": list(range(1, 120))}), folder).table().frame, frame
    )


@pytest.mark.slow
def test_modules_in_the_working_directory_are_not_for_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "queue.py").write_text("raise SystemExit('a queue of the user')")
    monkeypatch.chdir(tmp_path)
    frame = smpy.Study(study_table(tmp_path, axes={"args.n": [1]}), tmp_path / "results").run(workers=1)
    assert list(frame["error"]) == [""]
