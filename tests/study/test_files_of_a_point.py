"""Number of files of studies and runs through which a point goes, from its definition to its row of the table."""

import os
import subprocess
import sys
from pathlib import Path

import smpy

FILES_MAX = 13
WATCH = """  # notes files whose functions take or return a form of a point; each process imports it as it starts
import os, sys

FORMS = {
    "Definition", "Axis", "Combination", "Point", "RunConfig", "Task", "RunRequest", "Reply", "Run", "Summary", "Entry",
}

def is_carried(value, depth=2):
    if type(value) in (tuple, list):
        return depth > 0 and any(is_carried(each, depth - 1) for each in value[:9])
    return type(value).__name__ in FORMS and type(value).__module__.startswith("smpy.")

def look(frame, event, value):
    path = frame.f_code.co_filename
    if path in seen or not path.startswith(WATCHED) or frame.f_code.co_name == "<module>":
        return
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    local = frame.f_locals
    values = [local[name] for name in names if name in local] if event == "call" else [value]
    if is_carried(values):
        seen.add(path)
        print(path, file=log, flush=True)

seen = set()
WATCHED = tuple(os.environ["WATCHED"].split(os.pathsep))
log = open(os.environ["WATCH_LOG"], "a")
sys.setprofile(look)
"""
PROGRAM = """  # a study of one point, whose task this process performs itself, as a worker does
import smpy
from smpy.study import study
from smpy.study.tasks import perform

def run_here(tasks, done, *_, **__):
    done([(task, *perform(task)) for task in tasks])

study.run_tasks = run_here
smpy.Study({"program": "prog.py", "options": {"compute": "none"}, "axes": {"ranks": [2]}}).run()
smpy.Study("prog.study").table()
"""


def test_thirteen_files_at_most_lie_between_a_point_and_its_row(tmp_path: Path):
    home = Path(smpy.__file__).parent
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    (tmp_path / "prog.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(tmp_path), str(home.parent))),
            "WATCHED": os.pathsep.join((str(home / "study"), str(home / "runs"))),
            "WATCH_LOG": str(tmp_path / "log"),
        },
        check=False,
    )
    assert run.returncode == 0, run.stderr
    entered = {str(Path(path).relative_to(home)) for path in (tmp_path / "log").read_text().split()}
    assert {"runs/run_server.py", "study/table.py"} <= entered
    assert len(entered) <= FILES_MAX, sorted(entered)
