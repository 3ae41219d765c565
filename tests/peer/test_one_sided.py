"""Drawn programs of one-sided calls end when they do under smpirun."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peer.case import OVERHEADS, Case
from tests.peer.cases import ONE_SIDED_KINDS
from tests.peer.runners import smpirun_finish_s, smpy_finish_s

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(600)]

SEEDS = 18
TOLERANCE = 1e-6  # relative


def _cases(kind: str) -> Iterator[Case]:
    for seed in range(SEEDS):
        for place, platform in enumerate(("full", "cluster", "fat_tree")):
            n_ranks = 2 + (seed * 7 + place) % (3 if platform == "full" else 7)
            per_host = 1 if platform == "full" else 1 + seed % 2
            arguments = (kind, seed, 6, 0 if seed % 3 == 0 else 1.3e3)
            # where ranks that do not compute call at one date, overheads decide who comes first: not as there
            has_no_order = kind == "atomic" and seed % 3 == 0
            for options in ({},) if has_no_order else ({}, OVERHEADS):
                yield Case("one_sided", arguments, platform, n_ranks, per_host=per_host, options=options)


@pytest.mark.parametrize("kind", ONE_SIDED_KINDS)
def test_drawn_programs_end_when_they_do_under_smpirun(kind: str, binaries: Path, tmp_path: Path) -> None:
    differing = []
    for case in _cases(kind):
        pairs = zip(smpy_finish_s(case, tmp_path), smpirun_finish_s(case, binaries, tmp_path), strict=True)
        if any(abs(ours - theirs) > TOLERANCE * theirs for ours, theirs in pairs):
            differing.append(case.name)
    assert not differing
