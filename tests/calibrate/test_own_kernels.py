"""Costs of kernels that programs name, as `calibration/own_kernels.py` finds them."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from math import log2
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("scipy")

from smpy.platforms import read_machine

SCRIPT = Path(__file__).parents[2] / "calibration" / "own_kernels.py"
PROGRAM = """
import sys
from modelled import kernel

@kernel(bytes="8*n", working_set_bytes="4*n + 100")
def twice(n):
    return 2 * n

@kernel(bytes="n", name="dgemm")
def measured_elsewhere(n):
    return n

n = int(sys.argv[1])
print([measured_elsewhere(twice(n)), twice(3 * n)])
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a program in place of those of `apps/`."""
    (tmp_path / "twice.py").write_text(PROGRAM)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
    monkeypatch.setitem(sys.modules, "modelled", ModuleType("modelled"))
    monkeypatch.delitem(sys.modules, SCRIPT.stem, raising=False)
    module = import_module(SCRIPT.stem)
    monkeypatch.setattr(module, "APPS", tmp_path)
    monkeypatch.setattr(module, "PROGRAMS", {"twice.py": ["100 0", "5000 0"]})
    return module


def test_calls_are_told_with_the_bytes_that_the_program_says(script: ModuleType, capsys: pytest.CaptureFixture):
    calls = script.run("twice.py", "10 0")
    assert [call[:2] for call in calls["twice"]] == [(80.0, 140.0), (240.0, 220.0)]
    assert all(seconds >= 0 for *_, seconds in calls["twice"])
    assert "dgemm" not in calls
    assert "measured_elsewhere" not in calls
    assert capsys.readouterr().out == ""


def test_a_program_that_fails_is_no_measurement(script: ModuleType):
    with pytest.raises(SystemExit):
        script.run("twice.py", "10 1")


def test_planted_costs_are_found_to_the_digits_that_are_written(script: ModuleType):
    def planted_s(moved: float, working_set: float) -> float:
        return 2e-6 + moved * (1e-10 + 3e-11 * log2(working_set / 1e4) + 2e-17 * working_set)

    calls = [(3.0 * size, float(size), planted_s(3 * size, size)) for size in (10**4, 10**5, 10**6, 10**7, 10**8)]
    disturbed = [(moved, working_set, 5 * seconds) for moved, working_set, seconds in calls]
    made = script.table([[*calls, *calls, (0.0, 0.0, 1.0)], calls, disturbed])
    assert made["sizes"] == ["bytes", "working_set_bytes"]
    assert (made["smallest"], made["largest"]) == ([3 * 10**4, 10**4], [3 * 10**8, 10**8])
    found = made["seconds"]
    for moved, working_set, seconds in calls:
        beyond = found["bytes*log2(working_set_bytes)"] * log2(working_set)
        beyond += found["bytes*working_set_bytes"] * working_set
        assert found["1"] + moved * (found["bytes"] + beyond) == pytest.approx(seconds, rel=1e-3)


def test_without_a_working_set_there_are_bytes_and_calls(script: ModuleType):
    made = script.table([[(size, 0.0, 1e-6 + 2e-9 * size) for size in (100.0, 1000.0, 10_000.0)]])
    assert (made["sizes"], made["smallest"], made["largest"]) == (["bytes"], [100], [10_000])
    assert made["seconds"] == pytest.approx({"bytes": 2e-9, "1": 1e-6}, rel=1e-4)


def test_a_machine_can_include_what_is_written(script: ModuleType, tmp_path: Path):
    script.main(tmp_path / "programs.toml")
    text = (tmp_path / "programs.toml").read_text()
    written = tomllib.loads(text)["kernels"]["twice"]
    assert (written["smallest"], written["largest"]) == ([800, 500], [120_000, 60_100])
    (tmp_path / "machine.toml").write_text(
        'include = ["programs.toml"]\n[host]\ncores = 1\n[kernels]\nreference_speed = "1Gf"\n'
    )
    costs = read_machine(tmp_path / "machine.toml", 1).kernels
    assert costs is not None
    assert [cost.name for cost in costs.costs] == ["twice"]
