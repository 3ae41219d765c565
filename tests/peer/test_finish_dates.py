"""Every rank finishes when it does under SimGrid's smpirun: the same program in C there and in Python here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpirun_finish_s, smpy_finish_s

pytestmark = pytest.mark.peer

TOLERANCE = 1e-6  # relative
FOR_EVERY_CHANGE = 2  # of as many cases in a row, one runs for every change, the others in campaigns


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("case")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=pytest.mark.campaign if at % FOR_EVERY_CHANGE else ())
        for at, case in enumerate(CASES)
    ],
)
def test_every_rank_finishes_when_it_does_under_smpirun(case: Case, binaries: Path, folder: Path) -> None:
    theirs = smpirun_finish_s(case, binaries, folder)
    ours = smpy_finish_s(case, folder)
    differing = [
        f"rank {rank}: {mine!r} s, smpirun {other!r} s"
        for rank, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        if abs(mine - other) > TOLERANCE * other
    ]
    assert not differing, "\n".join(differing[:10])


def test_the_cases_have_names_of_their_own() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 700
