"""Every algorithm that SimGrid has ends when it does there; each rank has its result, also where SimGrid fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peer.forced_collectives import DRAWS, N_SAMPLES, OPERATIONS, TOLERANCE, Forced, PeerFails


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(each, marks=pytest.mark.peer if each.draw < N_SAMPLES else pytest.mark.campaign, id=each.id)
        for each in DRAWS
    ],
)
def test_every_rank_ends_when_it_does_under_smpirun(case: Forced, binaries: Path, tmp_path: Path) -> None:
    case.prepare(tmp_path)
    ours = case.smpy_dates_s(tmp_path)  # checks results
    try:
        theirs = case.smpirun_dates_s(binaries, tmp_path)
    except PeerFails:
        return
    differing = [
        f"rank {rank}: {mine!r} s, smpirun {other!r} s"
        for rank, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        if abs(mine - other) > TOLERANCE * other
    ]
    assert not differing, "\n".join(differing[:10])


def test_every_operation_is_drawn_and_the_draws_have_names_of_their_own() -> None:
    assert {each.operation for each in DRAWS} == set(OPERATIONS)
    assert len({each.id for each in DRAWS}) == len(DRAWS) >= 400
