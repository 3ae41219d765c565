"""Commands on studies: their output, pages and tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import smpy
from smpy.cli.main import main
from smpy.runs.request import RunInputs
from smpy.study.candidates import points_between
from smpy.study.journal import Entry, Journal
from tests.records.synthetic_trace import late_sender
from tests.study.studies import study_table

DEFINITION = """
name = "small"
program = "program.py"
args = ["{n}", "{what}"]
[options]
compute = "none"
platform = "fat-tree hosts=4 cores=1 nic=10Gb/s latency=1us"
[axes]
ranks = [2, 4]
"args.n" = [1, 1000]
"args.what" = ["well", "fails"]
[results]
carried = 'carried (\\d+)'
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of eight points, half of which fail, that has run."""
    folder = tmp_path_factory.mktemp("small")
    study_table(folder)  # the program
    path = folder / "small.toml"
    path.write_text(DEFINITION)
    smpy.Study(path).run(workers=1)
    return path


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, [str(arg) for arg in args])


def test_a_plan_lists_points_and_what_is_left_of_them(tmp_path: Path, told: Callable[..., Result]):
    study_table(tmp_path)
    (tmp_path / "new.toml").write_text(DEFINITION)
    done = told("study", "plan", tmp_path / "new.toml")
    assert done.exit_code == 0, done.output
    head, names, *rows = done.output.splitlines()
    assert "8 points" in head
    assert names.split() == ["point", "ranks", "args.n", "args.what"]
    assert rows[0].split() == ["0", "2", "1", "well"]
    assert "their time is known once some have run" in rows[-1]
    assert "4 are left: about " in told("study", "plan", tmp_path / "new.toml", "--probe", 4).output
    assert not list(tmp_path.glob("*.html"))


def test_a_plan_of_what_has_run_leaves_nothing(study: Path, told: Callable[..., Result]):
    assert told("study", "plan", study).output.splitlines()[-1] == "all have run"


def test_a_plan_names_the_points_that_failed(study: Path, told: Callable[..., Result]):
    lines = told("study", "plan", study).output.splitlines()
    assert lines[-6:-4] == [
        "  failed         4 (--retry-failed runs them again)",
        "    point 1 (ranks 2, args.n 1, args.what fails): rank 0 failed at 0 s: ValueError: this one cannot work",
    ]


@pytest.mark.parametrize("by_folder", [False, True])
def test_the_status_tells_how_many_have_ended_and_which_failed(
    study: Path, told: Callable[..., Result], by_folder: bool
):
    done = told("study", "status", study.parent / "small.study" if by_folder else study)
    assert done.exit_code == 0, done.output
    assert "ended          8 of 8" in done.output
    assert "failed         4 (--retry-failed runs them again)" in done.output
    point, _, error = next(line for line in done.output.splitlines() if "point 1 " in line).partition(": rank 0 ")
    assert point.strip() == "point 1 (ranks 2, args.n 1, args.what fails)"
    assert error == "failed at 0 s: ValueError: this one cannot work"


def test_a_run_of_which_points_failed_says_so_by_its_exit_code(study: Path, told: Callable[..., Result]):
    assert told("study", "run", study, "--quiet").exit_code == 1


@pytest.mark.parametrize("command", [["study", "export"], ["export"]], ids=" ".join)
def test_the_table_is_the_same_as_csv_and_as_parquet(study: Path, told: Callable[..., Result], command: list[str]):
    frame = smpy.Study(study).table().frame
    for form, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        done = told(*command, study, "--to", form)
        assert done.exit_code == 0, done.output
        assert f"small.{form} is written" in done.output
        written = read(f"small.{form}")
        assert list(written.columns) == list(frame.columns)
        for name in ("ranks", "args.n", "args.what", "makespan_s", "messages", "carried"):
            pd.testing.assert_series_equal(written[name], frame[name], check_dtype=form == "parquet")


@pytest.mark.parametrize("command", [["study", "export"], ["export"]], ids=" ".join)
def test_extra_p_gets_axes_of_numbers_as_parameters_and_no_failed_point(
    study: Path, told: Callable[..., Result], command: list[str]
):
    done = told(*command, study, "--to", "extrap", "-o", "of_numbers.json")
    assert done.exit_code == 0, done.output
    content = json.loads(Path("of_numbers.json").read_text())
    assert content["parameters"] == ["ranks", "n"]
    (path,) = content["measurements"]
    assert path == "program->args.what=well"
    frame = smpy.Study(study).table().frame
    made_well = frame[frame["args.what"] == "well"]
    times = content["measurements"][path]["time"]
    assert [entry["point"] for entry in times] == [[2, 1], [2, 1000], [4, 1], [4, 1000]]
    assert [entry["values"] for entry in times] == [[time_s] for time_s in made_well["makespan_s"]]
    carried = content["measurements"][path]["carried"]
    assert [entry["values"] for entry in carried] == [[1.0], [1000.0], [1.0], [1000.0]]


@pytest.mark.parametrize("command", [["study", "report"], ["report"]], ids=" ".join)
@pytest.mark.parametrize("options", [[], ["-o", "other.html"]], ids=["named after it", "named"])
def test_a_page_is_written_on_a_study(study: Path, told: Callable[..., Result], command: list[str], options: list[str]):
    for what in study, study.parent / "small.study":
        done = told(*command, what, *options)
        assert done.exit_code == 0, done.output
        path = Path(options[-1] if options else "small.html")
        assert f"{path} is written" in done.output
        assert "args.what" in path.read_text()
        path.unlink()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["report", "--no-replay"], "--no-replay is for the page of a trace"),
        (["export", "--to", "perfetto"], "is not written as perfetto, but as csv or parquet or extrap"),
    ],
)
def test_what_is_for_traces_is_refused_for_a_study(
    study: Path, told: Callable[..., Result], arguments: list[str], why: str
):
    done = told(*arguments, study)
    assert done.exit_code == 2
    assert why in done.output
    assert not list(Path.cwd().iterdir())


def test_what_is_for_studies_is_refused_for_a_trace(tmp_path: Path, told: Callable[..., Result]):
    done = told("export", late_sender().write(tmp_path / "trace"), "--to", "extrap")
    assert done.exit_code == 2
    assert "is not written as extrap, but as perfetto or csv" in done.output


def test_a_study_none_of_whose_points_has_ended_has_no_page_and_no_table(tmp_path: Path, told: Callable[..., Result]):
    study_table(tmp_path)
    (tmp_path / "new.toml").write_text(DEFINITION)
    for command in ["report"], ["export", "--to", "csv"], ["study", "report"], ["study", "export", "--to", "extrap"]:
        done = told(*command, tmp_path / "new.toml")
        assert done.exit_code == 2
        assert "no point of the study has ended: run it first" in done.output
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".html", ".csv", ".json")]


# ---- a purchase ----

WORKLOAD = """
priced_by = "hosts"
prices = {host_eur = 1000, switch_eur = 500, cable_eur = 10, power = {idle = "50W", busy = "200W", switch = "100W"}}
[programs.few]
program = "program.py"
args = ["1000"]
runs_per_week = 100
[programs.many]
program = "program.py"
args = ["100000"]
runs_per_week = 50
[options]
ranks = 2
compute = "models"
[axes]
set.host.count = [3, 5]
[axes.network]
slow = {platform = "flat cores=1 nic=1Gb/s latency=1us"}
fast = {platform = "flat cores=1 nic=10Gb/s latency=1us"}
"""


def workload(folder: Path, text: str = WORKLOAD) -> Path:
    study_table(folder)  # the program
    path = folder / "workload.toml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_purchase_names_the_best_machine_and_tells_its_price_power_and_runs(
    tmp_path: Path, told: Callable[..., Result]
):
    path = workload(tmp_path)
    done = told("study", "buy", path, "--budget", "4.6kEUR", "--workers", 1, "--json", "bought.json")
    assert done.exit_code == 0, done.output
    assert "the best of 4 machines (2 more cost or draw too much)" in done.output
    assert "machine        set.host.count = 4, network = fast" in done.output
    assert "4 hosts, 4 cores, 1 switch, 4 cables: 4,540 EUR, 0.9 kW" in done.output
    assert "times have no ±" in done.output
    record = json.loads(Path("bought.json").read_text())
    assert record["machines"] == 4
    assert record["runs"] <= 8
    assert (record["failed"], record["open"]) == (0, 0)
    assert record["best"][0]["settings"] == {"set.host.count": 4, "network": "fast"}
    assert record["best"][0]["power_w"] == 900
    assert done.output.splitlines()[-1].startswith('computing of few and many takes no time: compute = "models" counts')
    again = told("study", "buy", path, "--budget", "4.6kEUR", "--workers", 1)
    assert "runs           0 of 8" in again.output


@pytest.mark.parametrize(
    ("options", "text", "error"),
    [
        (["--budget", "1kEUR"], WORKLOAD, "costs 3,530 EUR, above the budget of 1,000 EUR: raise it"),
        (["--budget", "5keur"], WORKLOAD, "the case of units matters, did you mean 'kEUR'?"),
        (["--budget", "5k$"], WORKLOAD, "unknown unit 'k$'; write it such as \"1.3MEUR\""),
        (["--budget", "0"], WORKLOAD, "'0' is not above 0"),
        (["--budget", "9kEUR", "--power", "1kw"], WORKLOAD, "did you mean 'kW'?"),
        (["--budget", "9kEUR", "--power", "10W"], WORKLOAD, "draws 0.7 kW or more, above 0.01 kW"),
        (["--budget", "9kEUR", "--runs", "3"], WORKLOAD, "--runs 3: two machines take 4"),
        (["--budget", "9kEUR"], WORKLOAD.replace("host_eur = 1000, ", ""), "there is no price.host_eur of hosts"),
        (["--budget", "9kEUR"], WORKLOAD.replace("runs_per_week = 50", "runs_per_week = 0"), "is not a number above 0"),
        (["--budget", "9kEUR"], WORKLOAD.replace('"program.py"', '"progam.py"'), "there is no program 'progam.py'"),
        (["--budget", "9kEUR"], WORKLOAD.replace("nic=10Gb/s", "nic=10gb/s"), "did you mean"),
    ],
)
def test_a_purchase_that_cannot_be_is_refused_in_a_sentence_before_anything_runs(
    tmp_path: Path, told: Callable[..., Result], options: list[str], text: str, error: str
):
    done = told("study", "buy", workload(tmp_path, text), *options)
    assert done.exit_code == 2
    assert error in done.output
    assert done.output.count("\n") == 1
    assert not (tmp_path / "workload.study").exists()


@pytest.mark.slow
def test_a_run_of_a_workload_tells_the_throughput_of_each_machine(tmp_path: Path, told: Callable[..., Result]):
    done = told("study", "run", workload(tmp_path), "--workers", 1)
    assert done.exit_code == 0, done.output
    head, *rows, last = done.output.partition("throughput: weeks of work in a week\n")[2].splitlines()
    assert last.startswith("computing of few and many takes no time")
    assert head.split()[:3] == ["set.host.count", "network", "throughput"]
    assert [row.split()[:2] for row in rows] == [["3", "slow"], ["3", "fast"], ["5", "slow"], ["5", "fast"]]


def test_a_run_of_programs_on_machines_of_other_sizes_is_refused_before_it(tmp_path: Path, told: Callable[..., Result]):
    text = WORKLOAD.partition("[axes]")[0].replace("ranks = 2", 'platform = "hdr"\nppn = 1')
    for name, n_ranks in (("few", 2), ("many", 300)):
        text = text.replace(f"[programs.{name}]", f"[programs.{name}]\noptions = {{ranks = {n_ranks}}}")
    path = workload(tmp_path, text)
    done = told("study", "run", path, "--workers", 1)
    assert done.output.startswith("smpy: point 0: a machine has another size for each program: say how many hosts")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "ended          0 of 2" in told("study", "status", path).output


def test_the_status_tells_of_sizes_between_and_of_their_failures(tmp_path: Path, told: Callable[..., Result]):
    path = workload(tmp_path)
    study = smpy.Study(path)
    study.folder.mkdir()
    with closing(Journal(study.folder / "journal.sqlite")) as journal:
        few_slow, many_slow, *_ = points_between(study.definition)
        entries = (few_slow, Entry({"makespan_s": 1.0})), (many_slow, Entry({}, "it failed"))
        journal.add((point.key, study.origin(point, RunInputs()), entry) for point, entry in entries)
    output = told("study", "status", path).output
    assert "ended          0 of 8, and 2 runs of sizes between" in output
    assert "failed         1 (--retry-failed runs them again)" in output
    assert "    program many, set.host.count 4, network slow: it failed" in output
