"""Run servers, runs and guards that are killed: a study goes on, and its table is that of a quiet one."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from smpy.options import RunConfig
from smpy.runs import simulate
from smpy.runs.run import KilledError, Run
from smpy.study import tasks
from smpy.study.study import Study
from tests.study.studies import simulated, study_table
from tests.study.test_disturbed import n_ended, start, workers_of, write_toml

N_POINTS = 40
END_S = 60.0  # longest time to the end of a study whose run servers are killed


@contextmanager
def busy_loops(n: int) -> Iterator[None]:
    """Processes that take all the time of as many cores."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def servers_of(study: subprocess.Popen[str]) -> list[psutil.Process]:
    """Run servers of a study and its workers: their guards and runs have the same command line."""
    servers = []
    with suppress(psutil.Error):
        for process in psutil.Process(study.pid).children(recursive=True):
            with suppress(psutil.Error):
                if is_server(process) and not is_server(process.parent()):
                    servers.append(process)
    return servers


def is_server(process: psutil.Process | None) -> bool:
    return process is not None and "smpy.runs.run_server" in " ".join(process.cmdline())


def kill_servers(study: subprocess.Popen[str], dates_s: Sequence[float], drawn: random.Random, until_s: float) -> int:
    """Kill a run server of a study at each date after its start, or as soon as there is one: how many were killed."""
    began_s = time.monotonic()
    n_killed = 0
    while n_killed < len(dates_s) and study.poll() is None and time.monotonic() < until_s:
        if time.monotonic() - began_s >= dates_s[n_killed] and (servers := servers_of(study)):
            with suppress(psutil.Error):
                drawn.choice(servers).kill()
                n_killed += 1
        time.sleep(0.005)
    return n_killed


def disturbed(path: Path, dates_s: Sequence[float], drawn: random.Random, limit_s: float = END_S) -> int:
    """Run a study whose servers are killed; it ends by itself, and soon. How many were killed."""
    study = start(path, "--workers", "2")
    until_s = time.monotonic() + limit_s
    try:
        n_killed = kill_servers(study, dates_s, drawn, until_s)
        out, _ = study.communicate(timeout=max(0.0, until_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        pytest.fail(f"after {limit_s} s {n_ended(path)} of {N_POINTS} points have ended, killed were {dates_s}")
    finally:
        end(study)
    assert study.returncode == 0, out
    assert f"ended          {N_POINTS} of {N_POINTS}" in out
    return n_killed


def end(study: subprocess.Popen[str]) -> None:
    """Leave nothing of a study, whether it has ended or not."""
    study.kill()
    study.wait()
    assert study.stdout is not None
    study.stdout.close()


@pytest.mark.slow
def test_a_study_goes_on_when_run_servers_are_killed(tmp_path: Path):
    path = write_toml(tmp_path, N_POINTS)
    assert disturbed(path, [0.0, 1.0, 2.0, 3.0], random.Random(1), limit_s=250) > 1
    frame = Study(path).table().frame
    assert list(frame["error"]) == [""] * N_POINTS
    pd.testing.assert_frame_equal(
        simulated(frame), simulated(Study(path, tmp_path / "quiet").run(workers=1)), check_dtype=False
    )


@pytest.mark.campaign
@pytest.mark.timeout(7200)
def test_studies_end_within_a_minute_when_run_servers_are_killed_at_100_dates_on_a_busy_machine(tmp_path: Path):
    drawn = random.Random(23)
    n_killed = n_studies = 0
    with busy_loops(2):
        while n_killed < 100:
            path = study_in(tmp_path / str(n_studies))
            n_killed += disturbed(path, sorted(drawn.uniform(0, 20) for _ in range(4)), drawn)
            n_studies += 1
            assert list(Study(path).table().frame["error"]) == [""] * N_POINTS


def study_in(folder: Path) -> Path:
    folder.mkdir()
    return write_toml(folder, N_POINTS)


@pytest.mark.parametrize(("n_kills", "error"), [(2, ""), (3, "ended by SIGKILL")])
def test_a_point_whose_run_is_killed_runs_three_times_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_kills: int, error: str
):
    calls: list[RunConfig] = []

    def perform_run(run: RunConfig, **how: Any) -> Run:
        calls.append(run)
        assert run.trace is not None
        assert list(run.trace.iterdir()) == []
        (run.trace / "half").touch()
        if len(calls) <= n_kills:
            raise KilledError("the run's process was ended by SIGKILL")
        return simulate.perform_run(replace(run, trace=None), **how)

    monkeypatch.setattr(tasks, "perform_run", perform_run)
    study = Study(study_table(tmp_path, keep=["trace"], axes={"args.n": [1]}), tmp_path / "results")
    study.folder.mkdir()
    entry, _ = tasks.perform(study._task(study.points[0], None))
    assert error in entry.error
    assert bool(entry.error) == entry.is_outside == bool(error)  # else it would not run again with the next command
    assert len(calls) == 3


VICTIMS = ("study", "worker", "server", "run", "whole tree")


def kill_one(victim: str, study: subprocess.Popen[str], drawn: random.Random) -> bool:
    """Kill a process of a study, or all of them, the study first; whether there was one."""
    everyone = [psutil.Process(study.pid), *psutil.Process(study.pid).children(recursive=True)]
    of_kind = {
        "study": everyone[:1],
        "worker": workers_of(study),
        "server": servers_of(study),
        "run": [process for process in everyone if is_guard_or_run(process)],
        "whole tree": everyone,
    }[victim]
    n_killed = 0
    for process in of_kind if victim == "whole tree" else drawn.sample(of_kind, min(1, len(of_kind))):
        with suppress(psutil.Error):
            process.kill()
            n_killed += 1
    return n_killed > 0


def is_guard_or_run(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return is_server(process) and is_server(process.parent())
    return False


def rounds_of_kills(path: Path, n: int) -> None:
    """Kill something of a study `n` times, at random dates after its start or after the kill before.

    A study that was killed runs again. One that has ended by itself has ended well; it loses its last points and runs
    again, until there is something to kill.
    """
    drawn = random.Random(5)
    study = start(path, "--workers", "2")
    try:
        for number in range(n):
            victim = VICTIMS[number % len(VICTIMS)]
            is_killed = False
            while not is_killed:
                until_s = time.monotonic() + drawn.uniform(0.5, 8.0)
                while time.monotonic() < until_s and study.poll() is None:
                    time.sleep(0.01)
                while study.poll() is None and not is_killed:
                    is_killed = kill_one(victim, study, drawn)
                if not is_killed or victim in ("study", "whole tree"):
                    out, _ = study.communicate()
                    assert is_killed or study.returncode == 0, out
                    if n_ended(path) == N_POINTS:
                        forget_points(path, N_POINTS // 2)
                    study = start(path, "--workers", "2")
        study.communicate()
    finally:
        end(study)


def forget_points(path: Path, n: int) -> None:
    """Remove points from the journal of a study, as if they had not ended."""
    with closing(sqlite3.connect(Study(path).folder / "journal.sqlite")) as db, db:
        db.execute("DELETE FROM finished WHERE rowid IN (SELECT rowid FROM finished ORDER BY rowid DESC LIMIT ?)", (n,))


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_36_rounds_of_kills_leave_the_table_of_a_quiet_study_and_no_process(tmp_path: Path):
    path = study_in(tmp_path / "killed")
    rounds_of_kills(path, 36)
    last = start(path, "--workers", "2")
    out, _ = last.communicate(timeout=600)
    assert last.returncode == 0, out
    frame = Study(path).table().frame
    assert list(frame["error"]) == [""] * N_POINTS
    pd.testing.assert_frame_equal(simulated(frame), simulated(Study(path, tmp_path / "quiet").run(workers=2)))
    until_s = time.monotonic() + 60
    while any(str(tmp_path) in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < until_s
        time.sleep(0.1)
