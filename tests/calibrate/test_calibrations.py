"""The calibrations in calibration/ are what their raw data give."""

import csv
import runpy
import shutil
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import median

import pytest

from smpy.calibrate.calibration import CalibrationPlan, calibrate
from smpy.calibrate.kernels import kernels
from smpy.calibrate.result_file import toml_text
from smpy.platforms import read_machine
from smpy.records.calibration_file import core_speed_flop_per_s

FOLDER = Path(__file__).parents[2] / "calibration"


def _close(one: object, other: object) -> bool:
    """Equal, but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-3, abs=1e-4 if abs(one) > 1e-4 else 0)
    return one == other


def test_the_studys_result_is_what_its_published_times_give():
    made = runpy.run_path(str(FOLDER / "study-2017" / "fit.py"))["tables"]()
    kept = tomllib.loads((FOLDER / "study-2017" / "laptop.toml").read_text(encoding="utf-8"))
    assert _close(tomllib.loads(toml_text(made)), kept)
    assert core_speed_flop_per_s(FOLDER / "study-2017" / "laptop.toml") == pytest.approx(12.13e9)


def test_the_studys_costs_tell_the_published_times_of_large_calls():
    kernels = tomllib.loads((FOLDER / "study-2017" / "laptop.toml").read_text(encoding="utf-8"))["kernels"]
    assert kernels["dgemm"]["residual_median"] < 0.02
    assert kernels["dtrsm_right"]["residual_median"] < 0.04
    assert kernels["dgemm"]["seconds"]["m*n*k"] == pytest.approx(1.65820e-10, rel=0.01)
    assert kernels["dtrsm_right"]["seconds"]["m*n^2"] == pytest.approx(8.62497e-11, rel=0.03)


def test_the_machines_result_is_what_its_raw_times_give(tmp_path):
    shutil.copy(FOLDER / "cloud-xeon" / "node.csv", tmp_path)
    made = calibrate(CalibrationPlan(tmp_path / "node.toml", "full"), "smpy", all_kernels=kernels)
    assert not made.failures  # though there are kernels today that were not measured then
    assert "sfft" not in {cost.name for cost in made.costs}
    kept = tomllib.loads((FOLDER / "cloud-xeon" / "node.toml").read_text(encoding="utf-8"))
    tables = made.tables()
    assert tables["host"].pop("cache_cores") == {"48KiB": 1, "2MiB": 1, "480MiB": 2}  # came later
    assert _close(tomllib.loads(toml_text(tables)), kept)


def test_the_machines_costs_are_as_uncertain_as_their_fits():
    """Half widths of calls with large operands: the coefficients' own add up to many times as much."""
    costs = {cost.name: cost for cost in read_machine(FOLDER / "cloud-xeon" / "machine.toml", 1).kernels.costs}
    told = {"daxpy": (10**6,), "dgemv": (3000, 3000), "sger": (2000, 2000), "triad": (8_000_000,)}
    for name, sizes in told.items():
        seconds, half_width_s = costs[name].estimate(sizes)
        assert 0.05 < half_width_s / seconds < 0.09, name
        assert replace(costs[name], correlations=()).estimate(sizes)[1] > 4 * half_width_s


def test_a_run_that_takes_its_speed_from_a_calibration_loads_no_blas_of_its_own(smpy_run):
    node = FOLDER / "cloud-xeon" / "node.toml"
    ran = smpy_run("import numpy", 1, "--platform", str(FOLDER / "cloud-xeon" / "machine.toml"), "--host", str(node))
    assert ran.code == 0
    assert "this machine counts as" in ran.err
    assert "threads" not in ran.err


@pytest.mark.parametrize("machine", ["cloud-xeon", "cloud-epyc"])
def test_the_page_shows_what_the_recorded_runs_say(monkeypatch, machine):
    monkeypatch.syspath_prepend(str(FOLDER))
    tables = runpy.run_path(str(FOLDER / "truth.py"))["tell"](FOLDER / machine)
    assert tables in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_page_shows_what_the_recorded_runs_in_threads_say():
    times_s: dict[tuple[str, str], dict[str, list[float]]] = {}
    with (FOLDER / "cloud-epyc" / "threads.csv").open(encoding="ascii") as file:
        for row in csv.DictReader(file):
            case = times_s.setdefault((row["arguments"], row["threads"]), {"mpich": [], "measured": []})
            case[row["way"]].append(float(row["seconds"]))
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for (arguments, threads), of_way in times_s.items():
        real_s, ours_s = (median(times) for times in of_way.values())
        row = f"| `subspace.py {arguments}` | {threads} | {real_s:.3f} | {ours_s:.3f}: {ours_s / real_s - 1:+.0%} |"
        assert row in page
        assert abs(ours_s / real_s - 1) < 0.1


def test_the_page_on_exchange_shows_the_recorded_circle(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.syspath_prepend(str(FOLDER))
    circle = import_module("circle")
    page = (FOLDER.parent / "docs" / "exchange.md").read_text(encoding="utf-8")
    assert circle.table(circle.read_rows(FOLDER / "cloud-xeon-2" / "circle.csv")) in page
