"""Seven planted faults: every analysis names the same cause, in the same words.

A fault is a program, the words of its cause and the rank that causes it. An analysis is a function from a trace to what
it says first, and the rank that it names. A check of another command, or of a page, is a line in `ANALYSES`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from smpy.analysis.bounds import bounds
from smpy.analysis.critical_path import critical_path
from smpy.analysis.waits import waits
from smpy.records.trace import Trace
from smpy.replay import replay

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
        Every analysis has them among the first that it says.
    rank : int or None
        The rank that is to blame; None: several are.
    unnamed_by : tuple of str
        Analyses that have nothing to say of such a fault.
    machine : str
        As `--platform` takes it.
    """

    source: str
    words: str
    rank: int | None = None
    unnamed_by: tuple[str, ...] = ()
    machine: str = ALONE


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
        unnamed_by=("waits",),  # nobody is late
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
        unnamed_by=("waits",),  # a poll is no wait there
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


class Said(NamedTuple):
    """What an analysis says first, and the rank that it names."""

    text: str
    rank: int


def said_by_waits(trace: Trace) -> Said:
    result = waits(trace)
    return Said(result.table().partition("Their causes")[2].splitlines()[2], result.causes[0].rank)


def said_by_critical_path(trace: Trace) -> Said:
    result = critical_path(trace)
    return Said("\n".join(result.table().splitlines()[:3:2]), int(np.argmax(result.by_rank_s)))


def said_by_bounds(trace: Trace) -> Said:
    """The head, and the host that bounds most, or that most ranks are on."""
    result = bounds(trace, replay)
    of_hosts = [it for it in result.bounds if it.part == "host"]
    host = max(of_hosts, key=lambda it: it.share).name if of_hosts else ""
    return Said(result.table().splitlines()[0], trace.host_of_rank.index(host) if host else -1)


ANALYSES: dict[str, Callable[[Trace], Said]] = {
    "waits": said_by_waits,
    "critical-path": said_by_critical_path,
    "bounds": said_by_bounds,
}


@pytest.mark.parametrize(
    ("name", "analysis"),
    [(name, analysis) for name, fault in FAULTS.items() for analysis in ANALYSES if analysis not in fault.unnamed_by],
)
def test_the_cause_is_named(emulated: Callable[..., object], tmp_path: Path, name: str, analysis: str):
    fault = FAULTS[name]
    folder = tmp_path / "trace"
    ran = emulated(HEAD + fault.source, 8, platform=fault.machine, compute="models", trace=folder)
    assert ran.error == ""
    said = ANALYSES[analysis](Trace(folder))
    assert fault.words in said.text
    assert fault.rank in (None, said.rank)


def test_memory_of_a_host_is_named_beside_the_kernel_that_it_bounds(emulated: Callable[..., object], tmp_path: Path):
    fault = FAULTS["memory-bound kernels on a shared host"]
    emulated(HEAD + fault.source, 8, platform=fault.machine, compute="models", trace=tmp_path / "trace")
    assert "memory of a host" in said_by_bounds(Trace(tmp_path / "trace")).text
