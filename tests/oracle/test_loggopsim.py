"""Programs in GOAL under LogGOPS take what LogGOPSim says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smpy.replay.goal import replay_goal
from tests.oracle.loggopsim import RECORDED, program

CASES = json.loads(RECORDED.read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("first", range(0, len(CASES), 20))
def test_a_program_ends_on_each_rank_when_loggopsim_says(first: int, tmp_path: Path) -> None:
    for case in CASES[first : first + 20]:
        text, parameters = program(case["seed"])
        (tmp_path / "x.goal").write_text(text)
        units = {name: f"{value}{'B' if name == 'S' else 'ns'}" for name, value in parameters.items()}
        network = "loggp:" + ",".join(f"{name}={value}" for name, value in units.items())
        finish_ns = 1e9 * replay_goal(tmp_path / "x.goal", network=network).finish_s
        assert finish_ns == pytest.approx(case["finish_ns"], rel=1e-9), (case["seed"], parameters)
