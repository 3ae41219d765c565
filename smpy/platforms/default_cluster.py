"""The machine a program runs on when no platform is named: a CPU cluster of the 2020s, as large as the run needs.

What each number stands for:

* **Hosts**: two sockets of AMD EPYC 9554 [1]_, 64 cores each at 3.1 GHz base. A core's 49.6 Gflop/s are its peak in
  double precision at that frequency: 16 flop a cycle, two fused multiply-adds of 256 bits. Memory bandwidth is not
  modelled.
* **Network**: HDR InfiniBand. Switches have 40 ports of 200 Gb/s [2]_: 25 GB/s each way on every cable.
* **Latency**: 0.25 us a cable, with the switch or adapter behind it. A short message between hosts of one switch then
  takes 1.0 us with the default network model, whose factors double it (OSU micro-benchmarks measure about as much on
  HDR [3]_), and 2.0 us across the second level.
* **Within a host**: 10 GB/s and 0.15 us, for each pair of ranks alone: one core that copies memory.
* **Polling**: an Iprobe or Test takes 1 us. A program that polls in vain is not stopped at every microsecond, but sees
  what it waits for as soon as if it were (`polls_notice` in `smpy/platforms/model.py`). A call takes
  0.2 us under MPICH (4.0 and 5.0, two ranks of one host). SMPI's own rule, 100 us and more with each failed poll of any
  rank, is for its platform files: thousands of ranks that poll would do little else.
* **Fat tree**: as many ports up as down. A switch of the lowest level takes up to 20 hosts; 40 of them fill two levels
  (102,400 ranks), and three levels reach 16,000 hosts (2,048,000 ranks). The levels are filled evenly.

Ranks fill a host before the next one. Hosts beyond the need of the run stay idle.

References
----------
.. [1] AMD, EPYC 9004 series processors, data sheet.
.. [2] NVIDIA, QM8700 HDR InfiniBand switches, data sheet.
.. [3] MVAPICH project, Ohio State University, point-to-point performance on ConnectX-6 HDR.
"""

from __future__ import annotations

from typing import Final

from smpy.errors import UsageError
from smpy.platforms.build import PlatformBuilder
from smpy.platforms.cluster import Cluster, FatTree
from smpy.platforms.model import NetworkModel
from smpy.platforms.platform import Platform

CORES_PER_HOST: Final = 128
CORE_SPEED_FLOP_PER_S: Final = 3.1e9 * 16
SWITCH_PORTS: Final = 40
CABLE_BANDWIDTH_BYTES_PER_S: Final = 200e9 / 8
CABLE_LATENCY_S: Final = 0.25e-6
LOOPBACK_BANDWIDTH_BYTES_PER_S: Final = 10e9
LOOPBACK_LATENCY_S: Final = 0.15e-6
POLL_S: Final = 1e-6


def default_cluster(n_ranks: int) -> Platform:
    """The default machine, with at least one core for each rank.

    Parameters
    ----------
    n_ranks : int
        How many ranks will run.

    Raises
    ------
    UsageError
        If there are no ranks.

    Examples
    --------
    >>> default_cluster(4096)
    <Platform the default cluster: 32 hosts, 160 links>
    """
    if n_ranks < 1:
        raise UsageError(f"{n_ranks} ranks need no cluster: ask for at least 1 (-np)")
    tree = fat_tree_for(-(-n_ranks // CORES_PER_HOST))
    cluster = Cluster(
        name="default",
        host_names=[f"node-{i}" for i in range(tree.n_hosts)],
        labels=range(tree.n_hosts),
        cores=CORES_PER_HOST,
        speed_flop_per_s=CORE_SPEED_FLOP_PER_S,
        bandwidth_bytes_per_s=CABLE_BANDWIDTH_BYTES_PER_S,
        latency_s=CABLE_LATENCY_S,
        loopback_bandwidth_bytes_per_s=LOOPBACK_BANDWIDTH_BYTES_PER_S,
        loopback_latency_s=LOOPBACK_LATENCY_S,
    )
    builder = PlatformBuilder("the default cluster", NetworkModel(test_s=POLL_S, iprobe_s=POLL_S, polls_notice=True))
    builder.fat_tree(cluster, tree)
    return builder.finish(fills_hosts=True)


def fat_tree_for(n_hosts: int) -> FatTree:
    """The smallest tree of `SWITCH_PORTS`-port switches, with as many cables up as down, that holds the hosts.

    Examples
    --------
    >>> fat_tree_for(12)
    FatTree(children=(12,), parents=(1,), cables=(1,))
    >>> fat_tree_for(32)
    FatTree(children=(16, 2), parents=(1, 1), cables=(1, 16))
    >>> fat_tree_for(500)
    FatTree(children=(20, 25), parents=(1, 20), cables=(1, 1))
    """
    half = SWITCH_PORTS // 2
    if n_hosts <= half:
        return FatTree((n_hosts,), (1,), (1,))
    full_levels = 0  # below the two that are fitted: `half` ports down and up on every switch
    while n_hosts > half ** (full_levels + 1) * SWITCH_PORTS:
        full_levels += 1
    subtrees = _ceil(n_hosts, half ** (full_levels + 1))  # below each switch of the top level
    width = _ceil(n_hosts, half**full_levels * subtrees)  # ports down, and up, of the switches under it
    divisors = (count for count in range(1, width + 1) if width % count == 0)
    uplinks = next(count for count in divisors if subtrees * (width // count) <= SWITCH_PORTS)
    return FatTree(
        children=(*[half] * full_levels, width, subtrees),
        parents=(1, *[half] * full_levels, uplinks),
        cables=(*[1] * (full_levels + 1), width // uplinks),
    )


def _ceil(amount: int, per: int) -> int:
    """Division, rounded up."""
    return -(-amount // per)
