"""HPL's calls take as long as under smpirun, on a star with factors, polls and overheads of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peer.case import Case
from tests.peer.runners import smpirun_finish_s, smpy_finish_s

pytestmark = pytest.mark.peer

TOLERANCE = 1e-5  # relative: of two events less than 1 ns apart, which are one date, either may come first
STAR = {  # 16 hosts of 12 cores; no two sums of these numbers are equal
    "smpi/lat-factor": "0:1.17;1000:1.93;8192:2.71;65536:4.37",
    "smpi/bw-factor": "0:0.71;1000:0.43;8192:0.83;65536:0.967",
    "smpi/os": "0:0.713us:0.131ns;8192:1.97us:0",
    "smpi/ois": "0:0.397us:0",
    "smpi/or": "0:0.911us:0.073ns;8192:2.33us:0",
    "smpi/test": "0.83e-6",
    "smpi/iprobe": "1.37e-6",
    # Growing polls would count the polls of all ranks, which depends on who of two comes first at one date.
    "smpi/grow-injected-times": "no",
    "smpi/async-small-thresh": "65536",
    "smpi/wtime": "0",
}
SETTINGS = {
    "1ring": ("--p", "4", "--q", "12", "--bcast", "1ring", "--depth", "0"),
    "2ringM": ("--p", "6", "--q", "8", "--bcast", "2ringM", "--depth", "1"),
    "long": ("--p", "3", "--q", "16", "--bcast", "long", "--depth", "1"),
}


@pytest.mark.parametrize("bcast", [pytest.param("1ring", marks=pytest.mark.campaign), "2ringM", "long"])
def test_every_rank_is_through_hpl_when_it_is_under_smpirun(bcast: str, binaries: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    arguments = (calls, "--skeleton", "--n", "320", "--nb", "40", *SETTINGS[bcast])
    case = Case("hpl_calls", arguments, "star", 48, per_host=12, options=STAR)
    ours = smpy_finish_s(case, tmp_path)  # writes the calls that the other performs
    theirs = smpirun_finish_s(case, binaries, tmp_path)
    differing = [
        f"rank {rank}: {mine!r} s, smpirun {other!r} s"
        for rank, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        if abs(mine - other) > TOLERANCE * other
    ]
    assert not differing, "\n".join(differing[:10])
