"""Energy: every host and link draws the Joules that smpirun's plugins host_energy and link_energy count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from xml.etree import ElementTree as ET

import pytest

from smpy.errors import PlatformWarning
from tests.peer.case import Case
from tests.peer.runners import smpirun_output, smpy_outcome

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings(f"ignore::{PlatformWarning.__module__}.PlatformWarning")]

TOLERANCE = 1e-6  # relative; smpirun prints six decimals
PLUGINS = (("plugin", "host_energy"), ("plugin", "link_energy"))
SPEED = "0 1\n0.0005 0.4\n0.002 0.9\n0.5 1\nLOOPAFTER 0.1\n"


@dataclass(frozen=True, slots=True)
class PoweredCase(Case):
    """A case on its machine with power of drawn parts, and with speeds that change if the machine has none such."""

    changes: bool = False
    n_states: int = 0

    def platform_xml(self) -> str:
        root = ET.fromstring(Case.platform_xml(self))
        draw = Random(f"{self.name} {self.changes}")
        for part in root.iter("host") if self.changes else ():
            n_states = self.n_states or draw.randrange(1, 4)
            part.set("speed", ",".join(("1Gf", "0.7Gf", "0.55Gf")[:n_states]))
            part.set("pstate", str(draw.randrange(n_states)))
            part.set("core", str(draw.randrange(1, 4)))
        for part in [*root.iter("host"), *root.iter("cluster")]:
            if part.tag == "cluster" or draw.random() < 0.9:
                n_states = part.attrib["speed"].count(",") + 1
                states = ",".join(_host_power(draw) for _ in range(n_states))
                ET.SubElement(part, "prop", id="wattage_per_state", value=states)
                ET.SubElement(part, "prop", id="wattage_off", value="7")
        for part in root.iter("link"):
            if draw.random() < 0.9:
                idle = draw.randrange(100) / 4
                name = draw.choice(("wattage_range", "watt_range"))
                ET.SubElement(part, "prop", id=name, value=f"{idle}:{idle + draw.randrange(200) / 8}")
        if self.changes:
            zone = root[0]
            for name in [host.attrib["id"] for host in root.iter("host")]:  # smpirun's hosts have a trace of their own
                trace = ET.SubElement(zone, "trace", id=f"speed-{name}", periodicity="-1")
                trace.text = SPEED
                ET.SubElement(zone, "trace_connect", kind="SPEED", trace=f"speed-{name}", element=name)
        head = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        return head + ET.tostring(root, encoding="unicode")


def _host_power(draw: Random) -> str:
    idle = draw.randrange(200) / 2
    epsilon = idle + draw.randrange(100) / 4
    busy = epsilon + draw.randrange(400) / 4
    return f"{idle}:{epsilon}:{busy}" if draw.random() < 0.7 else f"{idle}:{busy}"


def cases() -> Iterator[PoweredCase]:
    """Each program of the comparison, on machines whose links say power and on clusters, whose links say none."""
    programs: list[tuple[str, tuple[object, ...]]] = [
        ("anything", (5, 60)),
        ("collectives", ("allreduce", 20_000, 0, 2, 1e6)),
        ("collectives", ("alltoall", 70_000, 0, 2, 1e6)),
        ("communicators", ("split", 70_000, 2)),
        ("completion", ("waitany", 70_000, 3, 3e5)),
        ("compute", (3, 1e6, 3, 100_000)),
        ("halo", (2, 20_000, 70_000, 3, 1e6, 1)),
        ("incast", ("isend", 70_000, 2, 1e6, 1)),
        ("mix", (7, 3, 20)),
        ("mix", (8, 3, 20)),
        ("modes", ("ibsend", 900, 1, 4, 1e6)),
        ("nonblocking", ("iallreduce", 70_000, 2, "wait", 1e5)),
        ("one_sided", ("fence", 3, 6, 1.3e3)),
        ("permutation", (2, 500_000, 3)),
        ("pingpong", ("send", 100_000, 3, 1)),
        ("pipeline", (70_000, 6, 1e6)),
        ("poll", ("iprobe", 70_000, 2e6, 2)),
        ("poll", ("test", 70_000, 2e6, 2)),
        ("reductions", ("allreduce", 5000, "sum", 0, 2, 1e6)),
        ("ring", (65_536, 4, 1e6)),
        ("shift", (70_000, 1, 2, 0)),
        ("varying", ("gatherv", 3000, 2, 2, 1e6)),
        ("window", (65_536, 8, 2)),
    ]
    for program, arguments in programs:
        yield PoweredCase(program, arguments, "full", 4)
        yield PoweredCase(program, arguments, "full", 6, placement="cyclic", changes=True)
        yield PoweredCase(program, arguments, "cluster_multicore", 10, per_host=4)
        yield PoweredCase(program, arguments, "nested_zones", 8, placement="unlisted")
    for seed in range(8):
        where = {"placement": "cyclic"} if seed % 2 else {}
        yield PoweredCase(
            "states", (seed, 1e5, 5, 1 + seed % 3), "full", 4 + 4 * (seed % 2), **where, changes=True, n_states=3
        )


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name + "-changes" * case.changes)
def test_each_host_and_link_draws_what_smpirun_counts(case: PoweredCase, binaries: Path, tmp_path: Path) -> None:
    compare(case, binaries, tmp_path)


@pytest.mark.parametrize("governor", ["performance", "powersave", "ondemand", "conservative"])
@pytest.mark.parametrize("seed", range(4))
def test_a_governor_sets_the_states_that_smpiruns_does(
    governor: str, seed: int, binaries: Path, tmp_path: Path
) -> None:
    work = (seed, 1e5, 6, 3) if seed % 2 else (seed, 1e5, 6, 70_000)
    where = {"placement": "cyclic"} if seed > 1 else {}
    case = PoweredCase(
        "states" if seed % 2 else "compute", work, "full", 8 if seed > 1 else 4, **where, changes=True, n_states=3
    )
    compare(case, binaries, tmp_path, (governor, 0.00137 if seed else 0.1))


def compare(case: PoweredCase, binaries: Path, tmp_path: Path, governor: tuple[str, float] | None = None) -> None:
    """Run a case under both: all dates and Joules agree."""
    settings = PLUGINS
    if governor is not None:
        name, period_s = governor
        settings += ("plugin", "host_dvfs"), ("plugin/dvfs/governor", name)
        settings += (("plugin/dvfs/sampling-rate", str(period_s)),)
    output, log = smpirun_output(case, binaries, tmp_path, settings, ("host_energy", "link_energy"))
    hosts_j = {name: float(j) for name, j in re.findall(r"Energy consumption of host (\S+): (\S+) Joules", log)}
    links_j = {name: float(j) for name, j in re.findall(r"Energy consumption of link '(\S+)': (\S+) Joules", log)}
    used_j = float(re.search(r"used hosts: (\S+) Joules", log)[1])  # type: ignore[index]
    summary = smpy_outcome(case, tmp_path, governor=governor).summary
    for rank, date_s in map(str.split, output.splitlines()):
        assert summary.finish_s[int(rank)] == pytest.approx(float(date_s), rel=TOLERANCE)
    energy = summary.energy
    assert energy is not None
    assert hosts_j.keys() >= energy.hosts_j.keys()
    assert links_j.keys() >= energy.links_j.keys()
    for name, joules in hosts_j.items():
        assert energy.hosts_j.get(name, 0.0) == pytest.approx(joules, rel=TOLERANCE, abs=1e-6), name
    for name, joules in links_j.items():
        assert energy.links_j.get(name, 0.0) == pytest.approx(joules, rel=TOLERANCE, abs=1e-6), name
    assert energy.used_hosts_j == pytest.approx(used_j, rel=TOLERANCE, abs=1e-5)
