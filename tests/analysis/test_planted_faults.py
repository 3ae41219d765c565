"""Seven planted faults: summary, profile, analyses and page name the same cause, in the same words.

A fault is a program, the words of its cause and the rank that causes it. A place is a function from a run to what it
says first, and the rank that it names. To check another command, add a line to `PLACES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")
pytest.importorskip("plotly")

from smpy.analysis.path_analysis import critical_path
from smpy.analysis.run_bounds import bounds
from smpy.analysis.wait_analysis import waits
from smpy.cli.main import main
from smpy.records.profile_text import tables
from smpy.records.summary import Summary
from smpy.records.trace import Trace
from smpy.replay import replay
from smpy.units import parse_time_s

HEAD = """
import numpy as np
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

@smpy.kernel(flop="flop", bytes="bytes")
def relax(flop, bytes=0): pass

@smpy.kernel(flop="flop")
def rest(flop): pass

def total():
    comm.Allreduce(np.ones(1), np.zeros(1))

"""
ALONE = "fat-tree hosts=8 cores=1 nic=10Gb/s latency=1us speed=1Gf"
SHARED = "flat hosts=2 cores=7 sockets=1 speed=1Gf host.memory_bandwidth=10GB/s host.core_memory_bandwidth=5GB/s"


class Fault(NamedTuple):
    """A program, and the cause of its time.

    Attributes
    ----------
    source : str
        The program, on eight ranks.
    words : str
        Words of the cause, among the first words of every place.
    rank : int or None
        The rank that is to blame; None: several are.
    link : str
        The link that is to blame.
    machine : str
        Machine, for `--platform`.
    """

    source: str
    words: str
    rank: int | None = None
    link: str = ""
    machine: str = ALONE

    @property
    def line(self) -> str:
        """Line that is to blame, in the words of tables; empty: a link is to blame."""
        lines = (HEAD + self.source).splitlines()
        numbers = [number for number, text in enumerate(lines, 1) if text.strip().startswith(f"{self.words}(")]
        return f"{self.words} program.py:{numbers[0]}" if numbers else ""


FAULTS = {
    "a slow rank in front of an allreduce": Fault(
        """
for _ in range(5):
    relax(5e7 if rank == 5 else 1e7)
    total()
""",
        "relax",
        5,
    ),
    "an imbalance": Fault(
        """
for _ in range(5):
    relax(1e7 * (1 + rank))
    total()
""",
        "relax",
        7,
    ),
    "a serial section": Fault(
        """
for _ in range(5):
    if rank == 0:
        relax(3e7)
    comm.Bcast(np.zeros(1), 0)
    rest(1e6)
""",
        "relax",
        0,
    ),
    "a hot link": Fault(  # messages of all others to rank 0 share its link
        """
if rank == 0:
    MPI.Request.Waitall([comm.Irecv(np.zeros(10**6), peer) for peer in range(1, size)])
else:
    comm.Send(np.zeros(10**6), 0)
rest(1e5)
""",
        "contention in the network",
        link="switch 0 to node-0",
    ),
    "memory-bound kernels on a shared host": Fault(  # seven ranks on a host, one has another to itself
        """
for _ in range(5):
    relax(1e6, 1e8)
    total()
""",
        "relax",
        machine=SHARED,
    ),
    "a poll loop": Fault(
        """
if rank == 0:
    relax(5e7)
    comm.Send(np.zeros(1), 1)
elif rank == 1:
    while not comm.Iprobe(0):
        pass
    comm.Recv(np.zeros(1), 0)
rest(1e5)
""",
        "relax",
        0,
    ),
    "a chain of late senders": Fault(
        """
rest(1e6)
if rank == 0:
    relax(5e7)
if rank > 0:
    comm.Recv(np.zeros(1), rank - 1)
if rank < size - 1:
    comm.Send(np.zeros(1), rank + 1)
""",
        "relax",
        0,
    ),
}


class Ran(NamedTuple):
    """A run, and the trace of it."""

    summary: Summary
    trace: Trace


class Said(NamedTuple):
    """First words of a place, blanks as one, and the rank that it names; -1: none."""

    text: str
    rank: int


def said(lines: list[str], rank: int = -1) -> Said:
    return Said(" ".join(" ".join(lines).split()), rank)


def said_by_summary(ran: Ran) -> Said:
    """Costliest lines, the rank that waits are due to, and the hottest link."""
    lines = ran.summary.render().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  costs most"))
    last = next(at for at, line in enumerate(lines) if line.startswith("  computing"))
    named = re.search(r"waits due to +rank (\d+) most", "\n".join(lines))
    return said(lines[first:last], int(named[1]) if named else -1)


def said_by_profile(ran: Ran) -> Said:
    """The first rows of call sites, and of links; the rank that waits are due to."""
    assert ran.summary.profile is not None
    table = {text.splitlines()[0]: text.splitlines()[1:] for text in tables(ran.summary.profile).split("\n\n")}
    by_rank = [re.split(r"  +", row.strip()) for row in table["By rank"]]
    assert by_rank[0][-1] == "waits due to"
    caused_s = [parse_time_s(row[-1].replace(" ", "")) for row in by_rank[1:]]
    links = next(title for title in table if title.startswith("Links"))
    return said([*table["All ranks, by call site"][1:3], links, table[links][1]], int(np.argmax(caused_s)))


def said_by_waits(ran: Ran) -> Said:
    """The first table of all, and the first cause."""
    result = waits(ran.trace)
    causes = result.table().partition("Causes of waits")[2].splitlines()
    return said([*result.table().splitlines()[:3], causes[2]], result.causes[0].rank)


def said_by_critical_path(ran: Ran) -> Said:
    result = critical_path(ran.trace)
    return said(result.table().splitlines()[:3:2], int(np.argmax(result.by_rank_s)))


def said_by_bounds(ran: Ran) -> Said:
    """The head, and the host that bounds most, or that most ranks are on."""
    result = bounds(ran.trace, replay)
    of_hosts = [bound for bound in result.bounds if bound.part == "host"]
    host = max(of_hosts, key=lambda bound: bound.share).name if of_hosts else ""
    return said(result.table().splitlines()[:1], ran.trace.host_of_rank.index(host) if host else -1)


def said_by_page(ran: Ran) -> Said:
    """The head of its bounds, and its causes of waits."""
    path = ran.trace.folder.parent / "report.html"
    done = CliRunner().invoke(main, ["report", str(ran.trace.folder), "-o", str(path)])
    assert done.exit_code == 0, done.output
    sections = re.findall(r"<h2>(What bounds .*|Causes of waits)</h2>\n<pre>([^<]*)</pre>", path.read_text())
    (_, bound), (_, late) = [(title, unescape(text)) for title, text in sections]
    cause = late.partition("Causes of waits")[2].splitlines()[2]
    return said([bound.splitlines()[0], *late.splitlines()[:3], cause], int(re.split(r"  +", cause.strip())[3]))


PLACES: dict[str, Callable[[Ran], Said]] = {
    "summary": said_by_summary,
    "profile": said_by_profile,
    "waits": said_by_waits,
    "critical-path": said_by_critical_path,
    "bounds": said_by_bounds,
    "page": said_by_page,
}


def run_of(emulated: Callable[..., Any], folder: Path, fault: Fault) -> Ran:
    ran = emulated(HEAD + fault.source, 8, platform=fault.machine, compute="models", trace=folder)
    assert ran.error == ""
    return Ran(ran.outcome.summary, Trace(folder))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_each_place_names_the_cause_of_a_planted_fault(emulated: Callable[..., Any], tmp_path: Path, fault: Fault):
    ran = run_of(emulated, tmp_path / "trace", fault)
    for place, says in PLACES.items():
        said = says(ran)
        assert fault.words in said.text, place
        assert fault.link in said.text, place
        assert fault.rank in (None, said.rank), place
        if place != "bounds":  # bounds speeds up a kernel in all its lines
            assert fault.line in said.text


@pytest.mark.parametrize("place", PLACES)
def test_no_link_is_blamed_where_none_is_hot(emulated: Callable[..., Any], tmp_path: Path, place: str):
    said = PLACES[place](run_of(emulated, tmp_path / "trace", FAULTS["an imbalance"]))
    assert "contention" not in said.text


def test_memory_of_a_host_is_named_beside_the_kernel_that_it_bounds(emulated: Callable[..., Any], tmp_path: Path):
    ran = run_of(emulated, tmp_path / "trace", FAULTS["memory-bound kernels on a shared host"])
    for place in ("bounds", "page"):
        assert "memory of a host" in PLACES[place](ran).text
    assert ran.summary.profile is not None
    profile = tables(ran.summary.profile, ran.summary.remarks)
    for text in (ran.summary.render(), profile, waits(ran.trace).table(), critical_path(ran.trace).table()):
        assert "relax took 2.55 s, alone 800 ms memory of a host, or its cores" in " ".join(text.split())


def test_the_profile_that_a_run_prints_names_memory_of_a_host(smpy_run: Callable[..., Any]):
    fault = FAULTS["memory-bound kernels on a shared host"]
    options = ("--platform", fault.machine, "--compute", "models", "--quiet", "--profile")
    printed = smpy_run(HEAD + fault.source, 8, *options).err
    assert "Shared hosts\n  relax took 2.55 s, alone 800 ms\n  memory of a host" in printed
