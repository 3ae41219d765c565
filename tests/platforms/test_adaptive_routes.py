"""Routes that adapt to load, against the bounds of the networks that have them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pytest

import smpy
from smpy.records.trace import Trace

PROGRAM = """
import sys
from random import Random
from mpi4py import MPI

comm, nbytes = MPI.COMM_WORLD, 100_000
pattern, per_group, n_messages, window = sys.argv[1], *map(int, sys.argv[2:])
groups = comm.size // per_group
group, place = divmod(comm.rank, per_group)
data = bytearray(nbytes)


def peer(i, sign):  # of each message all ranks together are a permutation
    if pattern == "half":
        return (comm.rank + sign * (comm.size // 2)) % comm.size
    if pattern == "random":  # a ring of all ranks
        ring = Random(i).sample(range(comm.size), comm.size)
        return ring[(ring.index(comm.rank) + sign) % comm.size]
    turn = 7 * (i // (groups - 1) if pattern == "all" else i)
    sender = place if sign > 0 else (place - turn) % per_group
    distance = 1 + (i + sender) % (groups - 1) if pattern == "all" else 1
    return (group + sign * distance) % groups * per_group + (place + sign * turn) % per_group


comm.Barrier()
start = MPI.Wtime()
receives = [comm.Irecv(data, peer(i, -1), i) for i in range(n_messages)]
sends = [comm.Isend(data, peer(i, 1), i) for i in range(window)]
for i in range(window, n_messages):
    sends[MPI.Request.Waitany(sends)] = comm.Isend(data, peer(i, 1), i)
MPI.Request.Waitall(receives)
bytes_per_s = comm.reduce(n_messages * nbytes / (MPI.Wtime() - start))
MPI.Request.Waitall(sends)
if comm.rank == 0:
    print(bytes_per_s / comm.size / 1e9)
"""

PING = """
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Send(bytes(10**6), 71)
elif comm.rank == 71:
    comm.Recv(bytearray(10**6), 0)
"""


class Net(NamedTuple):
    """A network of hosts with adapters of 1 GB/s."""

    line: str
    n_hosts: int
    per_group: int


SMALL = Net("dragonfly groups=9 routers_per_chassis=4 hosts_per_router=2", 72, 8)
LARGE = Net("dragonfly groups=33 routers_per_chassis=8 hosts_per_router=4", 1056, 32)
CROWDED = Net("dragonfly groups=9 routers_per_chassis=4 hosts_per_router=3", 108, 12)
LATTICE = Net("hyperx 8 hosts_per_switch=8", 64, 8)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.py"
    path.write_text(PROGRAM)
    return path


def machine(net: Net, routing: str) -> str:
    return f"{net.line} hosts={net.n_hosts} cores=1 nic=1GB/s latency=10ns routing={routing}"


def rate(program: Path, net: Net, routing: str, pattern: str, n_messages: int = 128, window: int = 32) -> float:
    """Rate of all hosts that send to others at once, over that of their adapters."""
    run = smpy.simulate(
        *(program, pattern, net.per_group, n_messages, window),
        ranks=net.n_hosts, platform=machine(net, routing), network="raw", compute="none",
    )  # fmt: skip
    return float(run.stdout)


def test_adaptive_routes_carry_nearly_what_minimal_ones_carry_where_all_send_to_all(program: Path) -> None:
    minimal = rate(program, SMALL, "minimal", "all", 64)
    assert minimal == pytest.approx(1, rel=0.06)  # the first and last messages find less traffic on some links
    assert rate(program, SMALL, "adaptive", "all", 64) == pytest.approx(minimal, rel=0.05)


def test_detours_share_what_a_group_sends_to_the_next(program: Path) -> None:
    assert rate(program, SMALL, "minimal", "next") == pytest.approx(1 / 8, rel=0.01)
    assert 0.95 / 2 < rate(program, SMALL, "adaptive", "next") < 9 / 16


def test_the_two_patterns_on_a_lattice(program: Path) -> None:
    """Eight hosts of a switch send to seven others, by one cable each; then to one, by n / 2p of the cables."""
    assert rate(program, LATTICE, "adaptive", "all") == pytest.approx(7 / 8, rel=0.05)
    assert rate(program, LATTICE, "dimension_order", "next") == pytest.approx(1 / 8, rel=0.01)
    assert rate(program, LATTICE, "adaptive", "next") == pytest.approx(1 / 2, rel=0.05)


def test_a_message_alone_takes_the_minimal_route(program: Path) -> None:
    program.write_text(PING)
    minimal, adaptive = (
        smpy.simulate(program, ranks=72, platform=machine(SMALL, routing), compute="none").makespan_s
        for routing in ("minimal", "adaptive")
    )
    assert adaptive == minimal > 0


def steady_rate(
    program: Path,
    folder: Path,
    net: Net,
    n_messages: int,
    window: int,
    pattern: str = "next",
    routing: str = "adaptive",
) -> float:
    """Rate while 30 % to 70 % of the messages end: without those that find empty links."""
    smpy.simulate(
        *(program, pattern, net.per_group, n_messages, window),
        ranks=net.n_hosts, platform=machine(net, routing), network="raw", compute="none", trace=folder,
    )  # fmt: skip
    messages = Trace(folder).table("messages", ["bytes", "ended_s"]).to_pydict()
    ended_s = sorted(s for s, nbytes in zip(messages["ended_s"], messages["bytes"], strict=True) if nbytes == 100_000)
    first, last = (int(share * len(ended_s)) for share in (0.3, 0.7))
    return float((last - first) * 100_000 / (ended_s[last] - ended_s[first]) / net.n_hosts / 1e9)


def test_steady_traffic_to_the_next_group_gets_all_but_5_percent_of_the_bound(program: Path, tmp_path: Path) -> None:
    assert steady_rate(program, tmp_path / "trace", SMALL, 256, 32) == pytest.approx(9 / 16, rel=0.05)


@pytest.mark.slow
def test_a_thousand_hosts_get_nearly_half_their_rate_where_each_group_sends_to_the_next(
    program: Path, tmp_path: Path
) -> None:
    assert rate(program, LARGE, "minimal", "next", 24, 8) == pytest.approx(1 / 32, rel=0.05)
    assert steady_rate(program, tmp_path / "trace", LARGE, 64, 8) == pytest.approx(33 / 64, rel=0.05)


def published_rate(traffic: str, routing: str, detours: int) -> float:
    """Rate over that of adapters of 2 GB/s as SST/Merlin has it for 108 hosts: calibration/published."""
    path = Path(__file__).parents[2] / "calibration" / "published" / "nexullance-dragonfly.csv"
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    rows = (row for row in csv.DictReader(lines) if row["hosts"] == "108")
    return {
        (row["traffic"], row["routing"], int(row["detours"])): float(row["sent_gb_per_s"]) / 108 / 2 for row in rows
    }[traffic, routing, detours]


@pytest.mark.slow
def test_hosts_that_outnumber_the_cables_get_the_published_rates(program: Path, tmp_path: Path) -> None:
    """Published rates to the host half a machine away include the buffers of routers: minimal routes carry 1/6."""
    minimal, adaptive, random = (
        steady_rate(program, tmp_path / name, CROWDED, n_messages, 16, pattern, routing)
        for name, n_messages, pattern, routing in (
            ("minimal", 256, "half", "minimal"),
            ("adaptive", 256, "half", "adaptive"),
            ("random", 96, "random", "adaptive"),
        )
    )
    assert minimal == pytest.approx(1 / 6, rel=0.02)
    buffered = published_rate("half", "shortest", 0) - 1 / 6
    assert adaptive == pytest.approx(published_rate("half", "ugal", 2) - buffered, rel=0.1)
    assert adaptive < 10 / 27  # a linear program over all routes by way of at most one group
    assert published_rate("random", "ugal", 2) < random < 8 / (12 * 96 / 107)  # cables between groups
