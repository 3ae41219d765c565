"""`smpy study scale`: its runs are those of `smpy run`, and its arguments what users write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import smpy
from smpy.cli.study_scale import command
from smpy.errors import UsageError
from smpy.study.scale import is_measured, read_growth, read_ranks

MACHINE = "flat hosts=64 cores=1 nic=10Gb/s latency=10us speed=1Gf"
PROGRAM = """
import sys
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
n = int(sys.argv[sys.argv.index("--n") + 1])
smpy.execute(n / comm.size)
comm.Barrier()
if comm.size > 8:
    raise SystemExit("too many ranks")
"""
LINE = [f"--platform={MACHINE}", "--compute", "none"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def scaled(*line: str) -> Result:
    return CliRunner().invoke(command, line)


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("1:1024", [2**k for k in range(11)]),
        ("1:1000", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]),
        ("3:12", [3, 6, 12]),
        ("1:64:8", [1, 8, 64]),
        ("9,1,3,3", [1, 3, 9]),
        ("5", [5]),
        ("4:4", [4]),
    ],
)
def test_numbers_of_ranks_are_read(text: str, ranks: list[int]):
    assert read_ranks(text) == ranks


@pytest.mark.parametrize(
    "text", ["", "0:4", "8:4", "1:2:1", "1:2:3:4", "1:4,8", "a:b", "1:-2", "0", "1:99999999999", "²:4"]
)
def test_what_is_no_number_of_ranks_is_refused(text: str):
    with pytest.raises(UsageError):
        read_ranks(text)


def test_an_argument_grows_with_the_ranks_to_a_power():
    assert read_growth("--n").values(["--n=10"], [1, 2, 4]) == [10, 20, 40]
    assert read_growth("--n:1/2").values(["--n", "10"], [1, 2, 4]) == [10, 14, 20]
    assert read_growth("-l:0.5").values(["-l", "1.5"], [1, 4]) == [1.5, 3.0]


@pytest.mark.parametrize("text", ["n", "--n:", "--n:x", "--n:1/0", "--n=3", ""])
def test_what_is_no_growing_argument_is_refused(text: str):
    with pytest.raises(UsageError, match="ARG or ARG:EXPONENT"):
        read_growth(text)


@pytest.mark.parametrize("args", [[], ["--n"], ["--m", "3"], ["--n", "many"]])
def test_an_argument_that_cannot_grow_is_told(args: list[str]):
    with pytest.raises(UsageError, match="--n"):
        read_growth("--n").values(args, [1, 2])


def test_runs_that_measure_are_told_from_others():
    assert [is_measured(options) for options in ({}, {"compute": "measured"}, {"compute": "record:x"})] == [True] * 3
    assert not any(is_measured({"compute": how}) for how in ("none", "models", "replay:x"))


@pytest.mark.slow
def test_a_table_has_the_runs_of_the_shell_and_a_second_call_runs_nothing(program: Path):
    first = scaled("--ranks", "1:8", *LINE, "--json", "a.json", "--plot", "a.html", str(program), "--n", "1000000")
    assert first.exit_code == 0, first.output
    record = json.loads(Path("a.json").read_text())
    assert [row["n_ranks"] for row in record["rows"]] == [1, 2, 4, 8]
    for row in record["rows"]:
        run = smpy.simulate(program, "--n", "1000000", ranks=row["n_ranks"], platform=MACHINE, compute="none")
        assert run.makespan_s == row["time_s"]
        assert row["load_balance"] == pytest.approx(1)
        assert row["computing"] == pytest.approx(1)
        factors = row["load_balance"] * row["serialisation"] * row["transfer"] * row["computing"]
        assert row["efficiency"] == pytest.approx(factors, rel=1e-6)
    assert "Plotly.newPlot" in Path("a.html").read_text()
    assert not Path("program-scale.study/traces").exists()
    wrote = Path("program-scale.study/journal.sqlite").read_bytes()
    again = scaled(str(program), "--ranks", "1:8", *LINE, "--", "--n", "1000000")
    assert (again.output, Path("program-scale.study/journal.sqlite").read_bytes()) == (first.output, wrote)


@pytest.mark.slow
def test_repeated_runs_have_their_median_and_their_spread(program: Path):
    program.write_text(
        "import smpy\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "late = comm.bcast(open('/dev/urandom', 'rb').read(1)[0] / 25_600)\n"
        "smpy.execute(1e9 * (1 + late) / comm.size)\ncomm.Barrier()\n"
    )
    result = scaled(str(program), "--ranks", "1:2", "--repeat", "3", *LINE, "--json", "a.json")
    assert result.exit_code == 0, result.output
    rows = json.loads(Path("a.json").read_text())["rows"]
    for row in rows:
        assert (row["n_runs"], row["lowest_s"] <= row["time_s"] <= row["highest_s"]) == (3, True)
        assert row["lowest_s"] < row["highest_s"]
        factors = row["load_balance"] * row["serialisation"] * row["transfer"] * row["computing"]
        assert row["efficiency"] == pytest.approx(factors, rel=1e-6)
    assert "larger than the spread: no runs overlap." in result.output


@pytest.mark.slow
def test_factors_that_have_changed_are_not_taken_and_their_point_runs_again(program: Path):
    line = (str(program), "--ranks", "2", *LINE, "--", "--n", "1000000")
    first = scaled(*line)
    (factors,) = Path("program-scale.study/factors").iterdir()
    factors.write_text(factors.read_text().replace("1.0", "9.0", 1))
    again = scaled(*line)
    assert f"{factors.name} is damaged, or another version of smpy has written it: its point runs again" in again.output
    assert again.stdout == first.stdout
    assert scaled(*line).output == first.output


@pytest.mark.slow
def test_memory_that_more_ranks_share_is_named(program: Path):
    program.write_text(
        "import smpy\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
        "smpy.execute(1e6 / comm.size, 8e8 / comm.size)\ncomm.Barrier()\n"
    )
    machine = "flat hosts=1 cores=4 host.memory_bandwidth=8GB/s host.core_memory_bandwidth=4GB/s"
    words = scaled(str(program), "--ranks", "1:4:4", "--platform", machine, "--compute", "none").output
    assert (
        "What limits on 4 ranks is computing: 50 %, of which memory of a host most (50 %); placement: a host" in words
    )


@pytest.mark.slow
def test_weak_scaling_gives_each_rank_as_much_and_a_failed_point_is_a_remark(program: Path):
    result = scaled(str(program), "--ranks", "1:16", "--weak", "--n", *LINE, "--folder", "weak", "--", "--n", "1000000")
    assert result.exit_code == 0, result.output
    assert [line.split()[1:3] for line in result.output.splitlines()[1:5]] == [
        ["--n", f"{n}"] for n in ("1e+06", "2e+06", "4e+06", "8e+06")
    ]
    assert "On 16 ranks it failed:" in result.output
    assert Path("weak", "journal.sqlite").exists()


@pytest.mark.slow
def test_what_fails_or_takes_no_time_on_some_ranks_is_told_once(program: Path):
    program.write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nassert MPI.COMM_WORLD.size not in (4, 8)\n")
    result = scaled(str(program), "--ranks", "1:16", *LINE)
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.output.splitlines()[1:3]] == ["2", "16"]
    assert "\nOn 1 rank it takes no time" in result.output
    assert "\nOn 4 ranks it failed: " in result.output
    assert "\nOn 2, 16 ranks no rank computes in the run" in result.output
    nothing = scaled(str(program), "--ranks", "4,8", *LINE)
    assert (nothing.exit_code, nothing.output.count("ranks it failed: ")) == (1, 2)
    unknown = scaled(str(program), "--ranks", "2,16", *LINE, "--algorithm", "barrier=nothing")
    assert (unknown.exit_code, "barrier has no algorithm 'nothing'" in unknown.output) == (2, True)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["program.py"], "--ranks"),
        (["--ranks", "8:1", "program.py"], "fewest ranks first"),
        (["--ranks", "1:4", "--weak", "n", "program.py"], "ARG or ARG:EXPONENT"),
        (["--ranks", "1:4", "--weak", "--n", "program.py"], "what is --n on one rank"),
        (["--ranks", "1:4", "nothing.py"], "no program"),
        (["--ranks", "1:4", "--map-by", "moon", "program.py"], "moon"),
        (["program.py", "--ranks", "1:4", "--plot", "x.png", "--m", "3"], "No such option"),
        (["--ranks", "1:4", "--set", "network.latncy=x2", "program.py"], "unknown key"),
    ],
)
def test_a_mistake_is_told_in_a_line(program: Path, line: list[str], told: str):
    result = scaled(*line)
    assert result.exit_code == 2, result.output
    assert told in result.output
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("program")
def test_what_cannot_be_drawn_is_told_before_anything_runs():
    result = scaled("--ranks", "1:4", "--plot", "scale.png", "program.py")
    assert (result.exit_code, "ends with .html" in result.output) == (2, True)
    assert not Path("program-scale.study").exists()
