"""Algorithms from outside smpy, own_parts/algorithms.py, take the times of their formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.emulate.run.run import run
from smpy.options import RunConfig
from smpy.platforms import CallCosts, Cluster, Description, FlatCluster, Models, NetworkModel, NumberedNames
from tests.extending.own_parts.algorithms import alphabet_chain, hosts_first

N_BYTES, LATENCY_S, BANDWIDTH_BYTES_PER_S, LOCAL_S, LOCAL_BYTES_PER_S = 1_000_000, 1e-6, 1e9, 2e-7, 4e9
BARE = Models(
    NetworkModel(
        latency_factor=(), bandwidth_factor=(), weight_bytes=0, tcp_gamma_bytes=0, crosstraffic=0, envelope_bytes=0
    ),
    CallCosts(wtime_s=0),
)  # a message takes its latencies and its bytes, and calls nothing
HOSTS = Cluster(
    name="c",
    hosts=NumberedNames("n", (range(8),)),
    speed_flop_per_s=1e9,
    bandwidth_bytes_per_s=BANDWIDTH_BYTES_PER_S,
    latency_s=LATENCY_S,
    cores=2,
    loopback_bandwidth_bytes_per_s=LOCAL_BYTES_PER_S,
    loopback_latency_s=LOCAL_S,
)
MESSAGE_S = 2 * LATENCY_S + N_BYTES / BANDWIDTH_BYTES_PER_S  # over two wires
LOCAL_MESSAGE_S = LOCAL_S + N_BYTES / LOCAL_BYTES_PER_S


def makespan_s(folder: Path, call: str, n_ranks: int, algorithm: tuple[str, str], *, fills_hosts: bool) -> float:
    program = folder / "program.py"
    program.write_text(f"from mpi4py import MPI\nmine, all = bytearray({N_BYTES}), bytearray({N_BYTES})\n{call}\n")
    machine = Description("eight hosts", FlatCluster(HOSTS), BARE, fills_hosts=fills_hosts)
    outcome = run(RunConfig(n_ranks, str(program), compute="none", platform=machine, algorithms=(algorithm,)))
    assert outcome.error is None
    return outcome.summary.makespan_s


@pytest.mark.parametrize("root", [0, 3])
def test_a_chain_takes_a_message_a_rank(tmp_path: Path, root: int) -> None:
    call = f"MPI.COMM_WORLD.Bcast(mine, {root})"
    took_s = makespan_s(tmp_path, call, 7, ("bcast", alphabet_chain.__name__), fills_hosts=False)
    assert took_s == pytest.approx(6 * MESSAGE_S, rel=1e-12)


@pytest.mark.parametrize("fills_hosts", [False, True])
def test_hosts_first_crosses_the_network_once_each_way(tmp_path: Path, fills_hosts: bool) -> None:
    call = "MPI.COMM_WORLD.Allreduce(mine, all)"
    took_s = makespan_s(tmp_path, call, 16, ("allreduce", hosts_first.__name__), fills_hosts=fills_hosts)
    rounds = 3  # depth of a binomial tree over eight hosts
    assert took_s == pytest.approx(2 * (LOCAL_MESSAGE_S + rounds * MESSAGE_S), rel=1e-12)
