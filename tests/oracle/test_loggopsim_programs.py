"""LogGOPSim's own example, and programs of ours that are written in GOAL, end on each rank when LogGOPSim says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smpy.replay.goal import replay_goal
from tests.oracle.loggopsim_programs import PARAMETERS, PROGRAMS, RECORDED, binomial_tree

CASES = json.loads(RECORDED.read_text(encoding="utf-8"))["cases"]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['program']}-{PARAMETERS.index(case['parameters'])}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_each_rank_ends_when_loggopsim_says(case: dict[str, Any], tmp_path: Path):
    path = PROGRAMS / f"{case['program']}.goal"
    if case["program"] == "binomial_tree":
        path = tmp_path / "tree.goal"
        path.write_text(binomial_tree(32))
    units = {name: f"{value}{'B' if name == 'S' else 'ns'}" for name, value in case["parameters"].items()}
    network = "loggp:" + ",".join(f"{name}={value}" for name, value in units.items())
    finish_ns = 1e9 * replay_goal(path, network=network).finish_s
    assert finish_ns == pytest.approx(case["finish_ns"], abs=1)


def test_sends_that_are_concurrent_are_sent_in_the_order_of_their_lines(tmp_path: Path):
    (tmp_path / "x.goal").write_text(
        "num_ranks 4\nrank 0 {\na: send 1b to 3 tag 0\nb: send 1b to 1 tag 0\nc: send 1b to 2 tag 0\n}\n"
        + "".join(f"rank {rank} {{\na: recv 1b from 0 tag 0\n}}\n" for rank in (1, 2, 3))
    )
    finish_ns = (
        1e9 * replay_goal(tmp_path / "x.goal", network="loggp:L=1000ns,o=100ns,g=10ns,G=1ns,O=0ns,S=65535B").finish_s
    )
    assert finish_ns == pytest.approx([300, 1300, 1400, 1200])


def test_send_begins_before_work_that_became_ready_with_it(tmp_path: Path):
    (tmp_path / "x.goal").write_text(
        "num_ranks 2\nrank 0 {\na: calc 50\nb: calc 1000\nc: send 1b to 1 tag 0\nb requires a\nc requires a\n}\n"
        "rank 1 {\na: recv 1b from 0 tag 0\n}\n"
    )
    network = "loggp:L=1000ns,o=100ns,g=10ns,G=1ns,O=0ns,S=65535B"
    assert 1e9 * replay_goal(tmp_path / "x.goal", network=network).finish_s == pytest.approx([1150, 1250])
