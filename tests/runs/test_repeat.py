"""`smpy run --repeat N`: the results of N runs, the output and the files of the first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

import smpy
from smpy.errors import UsageError

PROGRAM = """\
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = sum(i * i for i in range(20_000 * (comm.rank + 1)))
comm.Barrier()
if comm.rank == 0:
    with open("runs.txt", "a") as file:
        file.write(f"{MPI.Get_processor_name()} {sys.argv[1:]} {sys.stdin.read()!r}\\n")
    print("once")
"""


def runs(tmp_path: Path) -> list[str]:
    return (tmp_path / "runs.txt").read_text().splitlines()


def test_measured_runs_tell_median_and_range(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(PROGRAM, 2, "--repeat", "3", "--json", "out.json", args=("--repeat", "9"), stdin="told")
    assert (ran.code, ran.out) == (0, "once\n")
    record = json.loads((tmp_path / "out.json").read_text())
    repeats = record["repeats"]
    assert len({*repeats["makespans_s"]}) == 3
    assert repeats["makespans_s"][0] == record["makespan_s"]
    assert repeats["makespan_s"] == {
        "median": median(repeats["makespans_s"]),
        "lowest": min(repeats["makespans_s"]),
        "highest": max(repeats["makespans_s"]),
    }
    assert 0 < repeats["compute_share"]["lowest"] <= repeats["compute_share"]["highest"] <= 1
    assert "repeated       3 runs: makespan " in ran.err
    assert [line.split(" ", 1)[1] for line in runs(tmp_path)] == [
        "['--repeat', '9'] 'told'",
        *["['--repeat', '9'] ''"] * 2,
    ]


@pytest.mark.slow
def test_runs_whose_computing_is_free_are_all_alike(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(PROGRAM, 2, "--compute", "none", "--repeat=2", "--json", "out.json")
    assert "repeated       2 runs: all alike" in ran.err
    first, other = json.loads((tmp_path / "out.json").read_text())["repeats"]["makespans_s"]
    assert first == other


def test_one_run_has_no_repeats(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(PROGRAM, 2, "--compute", "none", "--json", "out.json")
    assert "repeated" not in ran.err
    assert json.loads((tmp_path / "out.json").read_text())["repeats"] is None


def test_each_run_has_the_next_seed_and_all_other_options(smpy_run: Callable, tmp_path: Path):
    machine = "fat-tree hosts=64 cores=1 nic=100Gb/s latency=1us"
    options = ("--platform", machine, "--map-by", "random", "--set", "host.cores=2", "--seed", "3", "--compute", "none")
    smpy_run(PROGRAM, 2, *options, "--repeat", "2")
    together = runs(tmp_path)
    (tmp_path / "runs.txt").unlink()
    for seed in ("3", "4"):
        smpy_run(PROGRAM, 2, *options, "--seed", seed)
    assert together == runs(tmp_path)
    assert len({*together}) == 2


def test_files_are_those_of_the_first_run(smpy_run: Callable, tmp_path: Path):
    pytest.importorskip("pyarrow")
    files = ("--trace", "trace", "--overwrite", "--compute", "record:bursts", "--json", "out.json")
    ran = smpy_run(PROGRAM, 2, *files, "--repeat", "2")
    assert ran.code == 0
    record = json.loads((tmp_path / "out.json").read_text())
    assert json.loads((tmp_path / "trace" / "run.json").read_text())["makespan_s"] == record["makespan_s"]
    replayed = smpy_run(PROGRAM, 2, "--compute", "replay:bursts", "--json", "again.json", "--repeat", "2")
    assert "2 runs: all alike" in replayed.err
    assert json.loads((tmp_path / "again.json").read_text())["makespan_s"] == record["makespan_s"]


def test_a_later_run_that_fails_is_named_and_the_runs_before_it_are_recorded(smpy_run: Callable, tmp_path: Path):
    program = PROGRAM + "    if len(open('runs.txt').readlines()) == 3:\n        sys.exit(7)\n"
    ran = smpy_run(program, 2, "--compute", "none", "--repeat", "5", "--json", "out.json")
    assert ran.code == 1
    assert "smpy: run 3 of 5 failed: rank 0" in ran.err
    assert len(json.loads((tmp_path / "out.json").read_text())["repeats"]["makespans_s"]) == 2


def test_a_first_run_that_fails_is_not_repeated(smpy_run: Callable, tmp_path: Path):
    ran = smpy_run(PROGRAM + "    sys.exit(7)\n", 2, "--compute", "none", "--repeat", "5")
    assert ran.code == 7
    assert len(runs(tmp_path)) == 1


def test_simulate_says_how_to_repeat(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with pytest.raises(UsageError, match=r"call smpy\.simulate as often, or make a study with repetitions"):
        smpy.simulate(tmp_path / "program.py", ranks=2, repeat=2)
