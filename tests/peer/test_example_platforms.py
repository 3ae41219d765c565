"""The platforms that come with SimGrid: ping-pongs between drawn pairs of hosts take what they take under smpirun.

They are not ours to copy: SIMGRID_SOURCES names the folder of SimGrid's sources, which `apt-get source simgrid` gets
where apt knows Debian's; `.ci/run` does that.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from smpy.errors import SmpyError
from tests.peer.campaign import NotSupported, Prepared
from tests.peer.machines import Draw

FOLDERS = ("examples/platforms", "teshsuite/platforms")
SOURCES = os.environ.get("SIMGRID_SOURCES")
FILES = sorted(file for folder in FOLDERS for file in Path(SOURCES, folder).rglob("*.xml")) if SOURCES else []
SAMPLED = [  # every sixth file goes with each change, the rest with the campaign
    pytest.param(file, marks=pytest.mark.campaign if place % 6 else pytest.mark.peer)
    for place, file in enumerate(FILES)
]
SIZES = (1, 1000, 30_000, 70_000, 1_000_000)
PHASES = 13  # four pairs each
N_RANKS = 24
REFUSED = {"wifi_ns3": "ns-3", "config": "cpu/optim"}  # options in a file that smpirun reads, and that smpy may refuse


def _numbers(radical: str) -> Iterator[int]:
    for part in radical.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def hosts_in(file: Path) -> list[str]:
    """Names of the hosts that a platform file declares."""
    names = []
    for element in ET.parse(file).iter():
        if element.tag in ("host", "peer"):
            names.append(element.attrib["id"])
        elif element.tag in ("cluster", "cabinet"):
            prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
            names += [f"{prefix}{number}{suffix}" for number in _numbers(element.attrib["radical"])]
    return names


@pytest.mark.skipif(not FILES, reason="SIMGRID_SOURCES names no folder with SimGrid's sources")
@pytest.mark.parametrize("file", SAMPLED, ids=[file.stem for file in FILES])
def test_ping_pongs_on_an_example_platform_take_what_they_take_under_smpirun(
    file: Path, binaries: Path, tmp_path: Path
) -> None:
    draw, hosts = Draw(file.stem), hosts_in(file)
    if len(hosts) < 2:
        pytest.skip("it has no two hosts")
    for attempt in range(10):  # not all pairs have a route on each
        prepared = prepare(file, tmp_path, draw, draw.sample(hosts, min(2 if attempt else N_RANKS, len(hosts))))
        try:
            theirs = prepared.smpirun_dates_s(binaries)
        except AssertionError as failure:
            refusal = _reason(str(failure))
            if "connecting path" not in refusal:
                break
        else:
            try:
                ours = prepared.smpy_dates_s(ignored_options=True)
            except (SmpyError, NotSupported) as refused:
                if isinstance(refused, SmpyError) and REFUSED.get(file.stem, "\0") not in str(refused):
                    raise
                pytest.skip(f"not supported: {refused}")
            differing = prepared.differences(ours, theirs)
            assert not differing, "\n".join([prepared.explain(binaries), *differing[:10]])
            return
    with suppress(SmpyError, NotSupported):  # it runs, or says why not
        prepared.smpy_dates_s(ignored_options=True)
    pytest.skip(f"smpirun does not run on it: {refusal}")


def prepare(file: Path, folder: Path, draw: Draw, ranks: list[str]) -> Prepared:
    """Ping-pongs of drawn sizes between drawn pairs of ranks."""
    (folder / "hostfile").write_text("".join(f"{host}\n" for host in ranks))
    words = tuple(f"pingpong:{draw.randrange(1000)}:{draw.choice(SIZES)}" for _ in range(PHASES))
    return Prepared(folder, len(ranks), is_listed=True, settings=(), phases=words, platform=str(file))


def _reason(said: str) -> str:
    """The line of smpirun's that says what went wrong."""
    lines = [line for line in said.splitlines() if "CRITICAL" in line or "ERROR" in line]
    return lines[0].partition("] ")[2][:200] if lines else said[-200:]
