"""Messages between drawn pairs of hosts take as long as under smpirun, on drawn machines of nested zones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.peer.case import Case
from tests.peer.drawn_zones import drawn_platform
from tests.peer.runners import smpirun_finish_s, smpy_finish_s

pytestmark = pytest.mark.peer


@dataclass(frozen=True, slots=True)
class DrawnCase(Case):
    """A case whose platform is drawn, by the number that it has instead of a name."""

    def platform_xml(self) -> str:
        return drawn_platform(int(self.platform))[0]


@pytest.mark.parametrize("seed", range(40))
def test_messages_on_nested_zones_take_as_long_as_under_smpirun(seed: int, binaries: Path, tmp_path: Path) -> None:
    n_hosts = drawn_platform(seed)[1]
    case = DrawnCase("permutation", (seed, 40_000, 3), str(seed), n_hosts, placement="unlisted")
    theirs = smpirun_finish_s(case, binaries, tmp_path)
    assert smpy_finish_s(case, tmp_path) == pytest.approx(theirs, rel=1e-6)
