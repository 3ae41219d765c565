"""Sizes of equal efficiency: closed forms of programs whose lost time is known, and what no size reaches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from smpy.cli.study_scale import command
from smpy.errors import UsageError
from smpy.study.equal_efficiency import Sized, _sized, equal_efficiency, first_size

MACHINE = "flat hosts=64 cores=1 nic=10Gb/s latency=10us speed=1Gf"
PROGRAM = """
import math, sys, time
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
n, kind = int(sys.argv[sys.argv.index("--n") + 1]), sys.argv[-1]
share = 2.0 if kind == "uneven" and comm.rank == 0 else 1.0
smpy.execute(share * n * 1e4 / comm.size)
if kind == "uneven":
    comm.allreduce(1)
else:
    time.sleep(1e-3 * (math.log2(comm.size) if kind == "log" else 1))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def found(program: Path, kind: str, ranks: str, efficiency: str = "0.8") -> Result:
    options = ["--ranks", ranks, "--efficiency", efficiency, "--size", "--n", f"--platform={MACHINE}"]
    line = [*options, "--compute", "none", "--json", "a.json", "--plot", "a.html", str(program), "--n", "100", kind]
    return CliRunner().invoke(command, line)


def rows() -> list[dict[str, Any]]:
    return json.loads(Path("a.json").read_text())["equal_efficiency"]


def sized(efficiency: float, first: int, target: float, most: float = 1.0) -> tuple[Sized, str, int]:
    """Search in E = most * n / (n + efficiency); also the number of runs."""
    sizes = []

    def run(n: int) -> Sized:
        sizes.append(n)
        return Sized(n, 1.0, most * n / (n + efficiency), {"load_imbalance": 0.3, "communication": 0.1})

    return *_sized(run, first, target), len(sizes)


@pytest.mark.parametrize("first", [1, 10, 4000, 10**9])
def test_a_size_is_found_from_any_first_one_in_a_dozen_runs(first: int):
    run, stops, n_runs = sized(1000.0, first, 0.8)
    assert (run.size, stops) == (pytest.approx(4000, rel=5e-3), "")
    assert n_runs <= 12


def test_a_size_of_one_that_has_more_is_the_size():
    run, stops, _ = sized(0.01, 100, 0.8)
    assert (run.size, stops) == (1, "")


def test_an_efficiency_that_no_size_reaches_is_told_with_its_largest_cause():
    run, stops, n_runs = sized(1000.0, 10, 0.8, most=0.7)
    assert run.efficiency < 0.8
    assert "most is lost to load imbalance (30.0% of" in stops
    assert n_runs < 12


def test_a_first_size_is_read_and_one_that_is_none_refused():
    assert first_size(["--n", "12"], "--n") == first_size(["--n=12"], "--n") == 12
    for args in ([], ["--n"], ["--n", "0"], ["--n", "many"], ["--m", "3"]):
        with pytest.raises(UsageError, match="--n"):
            first_size(args, "--n")


def test_options_that_leave_parts_of_runs_out_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="iterations"):
        equal_efficiency("p.py", ["--n", "9"], [1, 2], argument="--n", efficiency=0.5, options={"iterations": "skip"})
    asked = ["--ranks", "1:2", "--efficiency", "0.8", "--size", "--n", "--repeat", "3", "p.py", "--n", "4"]
    result = CliRunner().invoke(command, asked)
    assert result.exit_code == 2
    assert "leave --repeat out" in result.output


@pytest.mark.slow
def test_lost_time_that_grows_with_the_logarithm_has_the_scale_of_the_closed_form(program: Path):
    """Useful n/p x 1e-5 s and lost 1e-3 log2 p s: n = 100 p E / (1 - E) log2 p, scale(4, 64) = 2/6."""
    assert found(program, "log", "4,16,64").exit_code == 0
    assert [row["size"] for row in rows()] == pytest.approx([3200, 25600, 153600], rel=0.01)
    assert [row["scale"] for row in rows()] == pytest.approx([1, 2 / 4, 2 / 6], rel=0.01)
    assert [row["lost_s"] for row in rows()] == pytest.approx([2e-3, 4e-3, 6e-3], rel=0.01)


@pytest.mark.slow
def test_lost_time_that_does_not_grow_has_a_scale_of_one(program: Path):
    assert found(program, "constant", "4,64").exit_code == 0
    assert [row["scale"] for row in rows()] == pytest.approx([1, 1], rel=0.01)


@pytest.mark.slow
def test_an_uneven_program_is_told_to_be_stopped_by_its_imbalance(program: Path):
    done = found(program, "uneven", "2", "0.9")  # (2 + 1) / (2 x 2) = 75 % at best
    assert done.exit_code == 0
    assert rows()[0]["size"] is None
    assert "insufficient parallelism" in done.output


def test_the_options_go_together(program: Path):
    line = ["--ranks", "4", "--efficiency", "0.8", str(program)]
    done = CliRunner().invoke(command, line)
    assert (done.exit_code, "--efficiency and --size go together" in done.output) == (2, True)
    done = CliRunner().invoke(command, ["--ranks", "4", "--efficiency", "1.2", "--size", "--n", str(program)])
    assert done.exit_code == 2
