"""`smpy calibrate`: from kernels to a file that a machine includes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import numpy as np
import pytest
from click.testing import CliRunner

import smpy.calibrate.calibration as calibration_module
import smpy.calibrate.kernels as kernels_module
from smpy.calibrate import this_machine
from smpy.calibrate.calibration import CalibrationPlan, calibrate
from smpy.calibrate.kernels import Kernel, TimedKernel
from smpy.calibrate.measure import Clocks
from smpy.calibrate.result_file import toml_text
from smpy.calibrate.samples import KernelSample, read_samples
from smpy.calibrate.terms import evaluate
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.platforms import read_machine
from smpy.records.calibration_file import core_speed_flop_per_s, load_slowdown, read_result

PLANTED = {"n": 1e-6, "1": 2e-4}


class _PlantedTime:
    """The processor's clock, ahead by what planted kernels have taken: no busy machine disturbs that."""

    def __init__(self) -> None:
        self.taken_s = 0.0

    def read(self) -> float:
        return time.thread_time() + self.taken_s


PLANTED_TIME = _PlantedTime()


def _planted(_pools, sizes) -> TimedKernel:
    takes_s = float(sum(value * evaluate(term, sizes) for term, value in PLANTED.items()))

    def run() -> None:
        PLANTED_TIME.taken_s += takes_s

    return TimedKernel(run)


NEIGHBOURS = [
    KernelSample(kernel, ((size, number),), "warm", 0, seconds, seconds)
    for kernel, size, number, seconds in (
        ("busy_cores", "n", 1, 1.0),
        ("busy_cores", "n", 2, 1.25),
        ("core_alone", "n", 512, 1.0),
        ("core_beside", "n", 512, 1.05),
        ("memory_alone", "bytes", 1 << 20, 1.0),
        ("memory_beside", "bytes", 1 << 20, 1.6),
    )
]
KERNELS = {"planted": Kernel("planted", ("n",), ("n",), {"n": 1e5}, ("n",), _planted)}


@pytest.fixture(autouse=True)
def _small_machine(monkeypatch):
    """A small cache, whose curve takes no time; quiet; with memory that is known."""
    monkeypatch.setattr(calibration_module, "caches", lambda: [(32 << 10, 32 << 10)])
    monkeypatch.setattr(this_machine, "disturbance", lambda _probe: "")
    all_cores = KernelSample("all_cores", (("bytes", 10**12),), "warm", 0, 1.0, 1.0)
    monkeypatch.setattr(calibration_module, "all_cores", lambda _cores, _memory_bytes: [all_cores])
    monkeypatch.setattr(calibration_module, "measure_neighbours", lambda *_args, **_more: (NEIGHBOURS, []))
    monkeypatch.setattr(calibration_module, "Clocks", lambda: Clocks(PLANTED_TIME.read, PLANTED_TIME.read))
    monkeypatch.setattr(kernels_module, "kernels", lambda: KERNELS)


def _run(*args: str):
    return CliRunner().invoke(main, ["calibrate", *args])


def test_a_kernel_that_takes_a_known_polynomial_of_processor_time_calibrates_to_it(tmp_path):
    found = calibrate(CalibrationPlan(tmp_path / "n.toml", "quick"), "smpy", all_kernels=lambda: KERNELS)
    (cost,) = found.costs
    at = {"n": np.array([10, 100, 1000, 2048])}
    planted_s = sum(value * evaluate(term, at) for term, value in PLANTED.items())
    assert cost.fit.predict_s(at) == pytest.approx(planted_s, rel=0.01)
    assert np.median(np.abs(cost.held_out_errors)) < 0.01


def test_a_calibration_is_written_shown_and_fitted_again(tmp_path):
    result, plot = tmp_path / "node.toml", tmp_path / "node.svg"
    first = _run("blas", "--quick", "--plot", str(plot), str(result))
    assert first.exit_code == 0, first.output
    tables = tomllib.loads(result.read_text())
    planted = tables["kernels"]["planted"]
    assert set(planted["seconds"]) == set(planted["half_widths"]) == {"n", "1"}
    (one, off), (same, other) = planted["correlations"]
    assert one == other == 1
    assert -1 < off == same < 0
    assert planted["sizes"] == ["n"]
    assert planted["smallest"][0] < planted["largest"][0] <= 2048
    assert planted["noise"]["kind"] == "empirical"
    assert planted["noise"]["residuals"] == sorted(planted["noise"]["residuals"])
    assert planted["r_squared"] > 0.999
    assert tables["kernels"]["reference_speed"] == tables["host"]["speed"]
    assert tables["host"]["memory_bandwidth"] == "1TB/s"
    assert list(tables["host"]["caches"]) == ["16KiB"]
    assert tables["calibration"]["raw"] == "node.csv"
    assert b"<svg" in plot.read_bytes()

    n_samples = len(read_samples(tmp_path / "node.csv").samples)
    text = result.read_text()
    assert _run("blas", "--quick", str(result)).exit_code == 0
    assert result.read_text() == text
    again = _run("blas", "--quick", "--noise-model", "half-normal", str(result))
    assert again.exit_code == 0, again.output
    assert len(read_samples(tmp_path / "node.csv").samples) == n_samples
    noise = tomllib.loads(result.read_text())["kernels"]["planted"]["noise"]
    assert noise["kind"] == "half-normal"
    assert 0 <= noise["sigma"] < 0.5

    shown = _run("show", str(result))
    assert shown.exit_code == 0
    assert "R²" in shown.output
    assert "planted" in shown.output
    assert "95 % interval" in shown.output
    assert f"{off:+.3f}" in shown.output


def test_a_machine_file_includes_a_calibration(tmp_path):
    pytest.importorskip("smpy.platforms.models.kernel_costs", reason="costs of kernels are not yet a part of machines")
    from smpy.platforms.machine import read_machine

    result = tmp_path / "node.toml"
    assert _run("blas", "--quick", str(result)).exit_code == 0
    (tmp_path / "cluster.toml").write_text('include = ["node.toml"]\n[host]\ncount = 4\n')
    machine = read_machine(str(tmp_path / "cluster.toml"), 4)
    written = tomllib.loads(result.read_text())
    (cost,) = machine.kernels.costs
    assert dict(cost.terms) == written["kernels"]["planted"]["seconds"]
    assert machine.kernels.reference_flop_per_s == core_speed_flop_per_s(result)
    assert cost.estimate((1000,))[0] == pytest.approx(1.2e-3, rel=0.01)


def test_a_run_with_a_calibration_takes_the_planted_time(tmp_path):
    pytest.importorskip("smpy.compute.models.modelling", reason="costs of kernels are not yet a part of machines")
    result, sizes = tmp_path / "node.toml", (30, 700, 1999)
    assert _run("blas", "--quick", str(result)).exit_code == 0
    (tmp_path / "program.py").write_text(
        "from mpi4py import MPI\n"
        "from smpy.compute.models.kernel_models import charge_kernel\n"
        f"for n in {sizes}:\n"
        "    charge_kernel('planted', (n,), flop=1)\n"
    )
    speed = tomllib.loads(result.read_text())["kernels"]["reference_speed"]
    command = ["run", "-np", "1", "--platform", f"flat hosts=1 speed={speed}", "--compute", "models", "--quiet"]
    command += ["--kernels", str(result), "--json", "run.json", "program.py"]
    subprocess.run([sys.executable, "-m", "smpy", *command], cwd=tmp_path, check=True)
    planted_s = sum(PLANTED["n"] * n + PLANTED["1"] for n in sizes)
    assert json.loads((tmp_path / "run.json").read_text())["makespan_s"] == pytest.approx(planted_s, rel=0.01)


def test_an_interruption_keeps_what_was_measured_and_says_so(tmp_path, monkeypatch):
    result, n_calls = tmp_path / "node.toml", []

    def interrupted(pools, sizes):
        n_calls.append(1)
        if len(n_calls) == 25:
            raise KeyboardInterrupt
        return _planted(pools, sizes)

    monkeypatch.setattr(
        kernels_module,
        "kernels",
        lambda: {"planted": Kernel("planted", ("n",), ("n",), {"n": 1e5}, ("n",), interrupted)},
    )
    stopped = _run("blas", "--quick", str(result))
    assert stopped.exit_code == 130
    assert " measurements are in" in stopped.output
    assert "the same command goes on from there" in stopped.output
    assert not result.exists()
    kept = read_samples(tmp_path / "node.csv").samples
    assert len(kept) >= 24
    assert _run("blas", "--quick", str(result)).exit_code == 0
    assert read_samples(tmp_path / "node.csv").samples[: len(kept)] == kept


def test_ctrl_c_keeps_what_was_measured(tmp_path):
    raw = tmp_path / "node.csv"
    command = [
        sys.executable,
        "-m",
        "smpy",
        "calibrate",
        "blas",
        "--quick",
        "--loaded",
        "--kernel",
        "dgemm",
        "node.toml",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and (not raw.exists() or raw.read_bytes().count(b"\n") < 12):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"smpy: interrupted: \d+ of \d+ measurements are in node.csv; .* goes on from there\n", err)
    assert len(read_samples(raw).samples) >= 10


def test_measurements_of_another_plan_or_machine_are_not_gone_on_with(tmp_path):
    result, raw = tmp_path / "node.toml", tmp_path / "node.csv"
    assert _run("host", str(result)).exit_code == 0
    assert "another plan: 'host', not 'quick'" in _run("blas", "--quick", str(result)).output
    assert "another seed: 0, not 1" in _run("host", "--seed", "1", str(result)).output
    head, *rows = raw.read_text().splitlines()[:-1]  # not ended
    about = json.loads(head.removeprefix("# smpy calibrate "))
    about["machine"]["cpu"] = "abacus"
    raw.write_text("\n".join([f"# smpy calibrate {json.dumps(about)}", *rows[:3]]) + "\n")
    other = _run("host", str(result))
    assert other.exit_code == 2
    assert "another cpu: 'abacus'" in other.output


def test_measurements_up_to_another_limit_are_not_gone_on_with(tmp_path):
    result = tmp_path / "node.toml"
    assert _run("blas", "--quick", "--limit", "64", str(result)).exit_code == 0
    assert "another limit: 64, not 2048" in _run("blas", "--quick", str(result)).output


def test_an_empty_file_that_a_full_disk_left_is_begun_anew(tmp_path):
    (tmp_path / "node.csv").touch()
    assert _run("host", str(tmp_path / "node.toml")).exit_code == 0


@pytest.mark.parametrize("measured", [("host",), ("blas", "--quick")])
def test_a_calibration_says_how_far_neighbours_slow_a_core_down_and_runs_read_it(measured, tmp_path):
    result = tmp_path / "node.toml"
    assert _run(*measured, str(result)).exit_code == 0
    (tmp_path / "cluster.toml").write_text('include = ["node.toml"]\n[host]\ncount = 4\n')
    machine = read_machine(str(tmp_path / "cluster.toml"), 1).build()
    assert list(machine.busy_speeds()) == [(range(4), (1.0, 0.8))]
    slowdown = load_slowdown(result)
    assert slowdown is not None
    assert (slowdown.core, slowdown.memory) == (1.05, 1.6)
    assert slowdown.core_bandwidth_bytes_per_s > 0
    assert "memory_slowdown" in _run("show", str(result)).output


def test_sentences_on_neighbours_that_are_left_out_are_warnings(tmp_path, monkeypatch):
    result = tmp_path / "node.toml"
    monkeypatch.setattr(calibration_module, "measure_neighbours", lambda *_args, **_more: ([], ["one core: left out"]))
    assert _run("host", str(result)).exit_code == 0
    tables = read_result(result)
    assert tables["calibration"]["warnings"][0] == "one core: left out"
    assert "busy_speed" not in tables["host"]
    assert load_slowdown(result) is None


def test_a_result_that_cannot_be_written_tells_where_the_measurements_are(tmp_path, monkeypatch):
    def full(path, _text):
        raise UsageError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr("smpy.calibrate.result_file.write_whole", full)
    told = _run("host", str(tmp_path / "node.toml"))
    assert told.exit_code == 2
    assert f"; {tmp_path / 'node.csv'} has all measurements, the same command fits them" in told.output


def test_what_disturbs_only_the_rest_of_a_measurement_is_told_too(tmp_path, monkeypatch):
    result, raw = tmp_path / "node.toml", tmp_path / "node.csv"
    assert _run("host", str(result)).exit_code == 0
    raw.write_text(raw.read_text().removesuffix("# ended\n"))
    monkeypatch.setattr(this_machine, "disturbance", lambda _probe: "others work")
    assert _run("host", "--loaded", str(result)).exit_code == 0
    assert read_result(result)["calibration"]["warnings"][0] == "measured all the same: others work"


def test_a_measurement_that_ran_out_of_time_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration_module, "measure", lambda *_args, **_more: False)
    raw = tmp_path / "node.csv"
    assert "was not measured in time" in _run("host", str(tmp_path / "node.toml")).output
    assert "# warning: time was over, 90 s, before all measurements were made" in raw.read_text()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no threads on cores of their own here")
def test_one_core_is_measured_and_then_all_that_the_process_may_use(tmp_path, monkeypatch):
    before, seen = os.sched_getaffinity(0), []

    def all_cores(cores, _memory_bytes):
        seen.append((os.sched_getaffinity(0), set(cores)))
        return [KernelSample("all_cores", (("bytes", 10**12),), "warm", 0, 1.0, 1.0)]

    monkeypatch.setattr(calibration_module, "all_cores", all_cores)
    assert _run("host", str(tmp_path / "node.toml")).exit_code == 0
    assert seen == [({max(before)}, before)]
    assert os.sched_getaffinity(0) == before


def test_a_machine_that_is_not_quiet_is_refused_unless_the_user_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(this_machine, "disturbance", lambda _probe: "others work")
    result = tmp_path / "node.toml"
    refused = _run("host", str(result))
    assert refused.exit_code == 2
    assert refused.output.startswith("smpy: this machine is not quiet: others work.")
    assert not (tmp_path / "node.csv").exists()
    assert _run("host", "--loaded", str(result)).exit_code == 0
    assert "measured all the same: others work" in read_result(result)["calibration"]["warnings"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("host", "node.csv"), "node.csv: the result is a .toml file"),
        (("host", "nowhere/node.toml"), "cannot write nowhere/node.toml"),
        (("blas", "--kernel", "dgem", "node.toml"), "there is no kernel 'dgem'; there are planted"),
        (("blas", "--plot", "node.pdf", "node.toml"), "a plot is a .png or a .svg file"),
        (("show", "none.toml"), "cannot read none.toml: No such file or directory"),
    ],
)
def test_what_cannot_work_is_one_clear_line(tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    result = _run(*args)
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("text", ["not = toml = at all", "[host]\nspeed = '1Gf'", "calibration = 3"])
def test_a_file_that_is_no_calibration_is_refused(tmp_path, text):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="is no calibration"):
        read_result(path)


@pytest.mark.parametrize(
    "table",
    [
        "warnings = 3",
        "transfers = [{above_bytes = 1}]",
        "[kernels.x]\nseconds = {n = 1}",
        '[kernels.x]\nsizes = ["n"]\nseconds = "n"',
        '[kernels.x]\nsizes = ["n"]\nseconds = {n = "1"}',
        "[kernels]\nx = 3",
    ],
)
def test_show_of_a_calibration_that_was_damaged_is_a_line(tmp_path, table):
    path = tmp_path / "x.toml"
    path.write_text(f"[calibration]\n{table}\n")
    shown = _run("show", str(path))
    assert shown.exit_code == (0 if table.endswith("x = 3") else 2), shown.output
    assert "Traceback" not in shown.output


def test_show_tells_all_that_a_calibration_says_of_a_machine(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text('[calibration]\ncpu = "abacus"\nwarnings = ["[slow] beads"]\n[mpi]\neager_limit = "8KiB"\n')
    shown = _run("show", str(path)).output.splitlines()
    assert [line.split(maxsplit=1) for line in shown[1:]] == [
        ["cpu", "abacus"],
        ["mpi.eager_limit", "8KiB"],
        ["warning", "[slow] beads"],
    ]


def test_without_the_extra_the_command_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr("smpy.cli.calibrate.find_spec", lambda name: None if name == "threadpoolctl" else object())
    result = _run("host", str(tmp_path / "x.toml"))
    assert result.exit_code == 2
    assert "needs threadpoolctl: pip install '.[calibrate]'" in result.output


def test_toml_that_is_written_is_read_back():
    tables = {"kernels.x": {"a": {"m*n": 1e-10, "log2(n)": 2.0}, "b": ["ä", 1], "c": True, "empty": {}}}
    assert tomllib.loads(toml_text(tables, "two\nlines")) == {"kernels": {"x": tables["kernels.x"]}}
