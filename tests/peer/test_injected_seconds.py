"""Seconds that a program tells take as long as SMPI_SAMPLE_DELAY's, on cores of their own and on shared ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peer.case import Case
from tests.peer.runners import smpirun_finish_s, smpy_finish_s

pytestmark = pytest.mark.peer

SPEED_FLOP_PER_S = 3.7e9  # speed of this machine, as both are told


@pytest.mark.parametrize("seconds", [1e-4, 3e-8])  # a third of the latter is below the threshold of a microsecond
@pytest.mark.parametrize(("n_ranks", "per_host"), [(2, 1), (8, 2), (16, 8)])
def test_injected_seconds_take_as_long_as_under_smpirun(
    seconds: float, n_ranks: int, per_host: int, binaries: Path, tmp_path: Path
) -> None:
    case = Case("delay", (n_ranks, seconds, 5), "cluster_multicore", n_ranks, per_host)
    theirs = smpirun_finish_s(case, binaries, tmp_path, (("smpi/host-speed", f"{SPEED_FLOP_PER_S}f"),))
    ours = smpy_finish_s(case, tmp_path, host_speed_flop_per_s=SPEED_FLOP_PER_S)
    assert ours == pytest.approx(theirs, rel=1e-6)
