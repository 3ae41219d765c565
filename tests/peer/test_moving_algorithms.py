"""Every algorithm that moves blocks or holds ranks back, forced, ends at every rank when it does under smpirun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peer.case import Case
from tests.peer.moving_cases import ALGORITHMS, DRAWS, drawn
from tests.peer.runners import smpirun_finish_s, smpy_finish_s

SAMPLE = 1
TOLERANCE = 1e-6  # relative


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.peer if number < SAMPLE else pytest.mark.campaign, id=case.name)
        for operation, name in ALGORITHMS
        for number, case in enumerate(drawn(operation, name))
    ],
)
def test_every_rank_is_through_when_it_is_under_smpirun(case: Case, binaries: Path, tmp_path: Path) -> None:
    pairs = zip(smpy_finish_s(case, tmp_path), smpirun_finish_s(case, binaries, tmp_path), strict=True)
    differing = [(ours, theirs) for ours, theirs in pairs if abs(ours - theirs) > TOLERANCE * theirs]
    assert not differing


def test_there_are_hundreds_of_runs_of_every_algorithm_of_these_operations() -> None:
    assert len(ALGORITHMS) * DRAWS > 600
