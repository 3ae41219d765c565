"""Every rank is through with every pattern when it is under SimGrid's smpirun, on drawn machines of every kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.peer.__main__ import RESULT
from tests.peer.campaign import KNOWN, PHASES, RUNS, SAMPLE, SEEDS, TOLERANCE, NotSupported, Run
from tests.peer.machines import KINDS


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(run, marks=pytest.mark.peer if run.seed < SAMPLE else pytest.mark.campaign, id=run.name)
        for run in RUNS
    ],
)
def test_every_phase_ends_when_it_does_under_smpirun(case: Run, binaries: Path, tmp_path: Path) -> None:
    prepared = case.prepare(tmp_path)
    theirs = prepared.smpirun_dates_s(binaries)
    try:
        ours = prepared.smpy_dates_s()
    except NotSupported as refusal:
        pytest.skip(f"not supported: {refusal}")
    differing = prepared.differences(ours, theirs)
    if differing and case.name in KNOWN:
        pytest.xfail(KNOWN[case.name])
    assert not differing, "\n".join([prepared.explain(binaries), *differing[:10]])


def test_the_runs_have_names_of_their_own() -> None:
    assert len({run.name for run in RUNS}) == len(RUNS) >= 400
    assert len(RUNS) * PHASES >= 1500
    assert len(KINDS) >= 20


def test_the_last_result_of_the_campaign_is_of_these_runs_and_none_failed() -> None:
    result = json.loads(RESULT.read_text())
    assert result["all"]["runs"] == len(RUNS), "run python -m tests.peer"
    assert {kind: numbers["runs"] for kind, numbers in result["kinds"].items()} == dict.fromkeys(KINDS, SEEDS)
    assert result["all"]["failed"] == 0
    assert result["all"]["worst_relative_difference"] < result["relative_tolerance"] == TOLERANCE
    assert result["known_to_differ"].items() <= KNOWN.items()
