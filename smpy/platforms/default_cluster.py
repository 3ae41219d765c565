"""The machine a program runs on when no platform is named: a CPU cluster of the 2020s, as large as the run needs.

Meaning of each number:

* **Hosts**: two sockets of AMD EPYC 9554 [1]_, 64 cores each at 3.1 GHz base. A core's 49.6 Gflop/s are its peak in
  double precision at that frequency: 16 flop a cycle, two fused multiply-adds of 256 bits. Its memory bounds
  messages inside a host, and not computing.
* **Network**: HDR InfiniBand. Switches have 40 ports of 200 Gb/s [2]_, of which MPI gets 192 Gb/s, measured on such
  hosts [3]_: 24 GB/s each way on every cable. Flow control is by credits: acknowledgements take nothing, no window
  bounds a flow. A message has 34 bytes more on the wire: the headers of InfiniBand (26) and the tag (8).
* **Latency**: 0.3 us a cable, with the switch or adapter behind it: UCX counts 0.6 us for the way between two
  adapters [4]_. With the overheads a short message takes 1.0 us between hosts of one switch, 1.6 us across the second
  level and 2.2 us across the third (measured, on virtual hosts: 1.2 us [3]_). All cables are alike here; on a machine
  the further ones add less than the first, which have the adapters behind them.
* **Overheads**: sending and receiving take a core 0.2 us each. A pair of ranks that measures its bandwidth with
  one-byte messages sends 1.8 million a second one way [5]_, 3.0 million each way at once [6]_: together the overheads
  are below 0.56 us, and a little above 0.34 us.
* **Protocol**: up to 8 KiB, UCX's largest fragment [4]_ and its usual threshold [7]_, a message is eager: it is copied
  on both sides, at 10 GB/s. A longer one is not copied, but waits for its receive, and crosses the route three times:
  its announcement, the request for the data, the data. Its overheads stay those of 8 KiB: UCX changes the protocol
  where both cost the same. As under SMPI, an eager message leaves its sender at once, but travels when its receive is
  posted.
* **Within a host**: a message alone has the 24 GB/s of the adapter, which ranks of one host may use, too; on hosts
  that say their `core_memory_bandwidth`, half of that if it is more: each of the two cores that copy reads and writes
  each byte. All messages inside a host share 189 GB/s, a quarter of the bandwidth of its memory, which is 378 GB/s a
  socket (STREAM, DDR5-4800 [9]_): each byte is copied twice through shared memory (`Memory.messages_bytes_per_s`). On a
  host of two cores these rules say 11.7 and 12.2 GB/s, and MPICH streams 10.7 GB/s (`calibration/cloud-xeon`). Data
  that stays in caches may be faster. A machine where that matters gives `host.loopback_bandwidth`, of each message
  alone. 0.5 us for a short message, overheads included, is an average over near cores, which take 0.2 to 0.4 us [8]_,
  and those of the other socket.
* **Collectives** use the algorithms that MPICH 4 and 5 choose by default (`smpy/collectives/tables/mpich-4.json`) in a
  program with MPI_THREAD_MULTIPLE, so none that goes through a host's shared memory; non-blocking ones, SMPI's. At
  sizes at which MPICH changes the algorithm, a larger message may be faster than a smaller one: one byte more than
  12 KiB make a Bcast on 16 ranks, one a host, a fifth faster.
* **Polling**: an Iprobe or Test takes 1 us. A program that polls in vain is not stopped at every microsecond, but sees
  what it waits for as soon as if it were (`polls_notice` in `smpy/platforms/models/machine_models.py`). A call takes
  0.2 us under MPICH (4.0 and 5.0, two ranks of one host). SMPI's own rule, 100 us and more with each failed poll of any
  rank, is for its platform files: thousands of ranks that poll would do little else.
* **Fat tree**: as many ports up as down. A switch of the lowest level takes up to 20 hosts; 40 of them fill two levels
  (102,400 ranks), and three levels reach 16,000 hosts (2,048,000 ranks). The levels are filled evenly.

So the time of a message never falls as it grows: each part of it grows with the size, or stays. Ranks fill a host
before the next one. Hosts beyond the need of the run stay idle.

References
----------
.. [1] AMD, EPYC 9004 series processors, data sheet.
.. [2] NVIDIA, QM8700 HDR InfiniBand switches, data sheet.
.. [3] Microsoft, "HBv3-series VM sizes performance": HDR InfiniBand, 1.2 us for 1 byte, 192 Gb/s one way.
.. [4] `ucx_info -d` of an HDR adapter, in openucx/ucx issue 10669: latency 600 ns, fragments of up to 8,254 bytes.
.. [5] OSU Micro-Benchmarks on ConnectX-6 HDR, in openucx/ucx issue 8851: osu_bw 1.78 MB/s at 1 byte.
.. [6] OSU Micro-Benchmarks on ConnectX-6 and EPYC 7742, in openucx/ucx issue 7245: osu_bibw 5.95 MB/s at 1 byte.
.. [7] RAPIDS, UCX-Py documentation: UCX_RNDV_THRESH=8192.
.. [8] OSU Micro-Benchmarks on EPYC (hpc6a), shared memory, in ofiwg/libfabric pull request 8680: 0.22 to 0.36 us.
.. [9] Micron, "DDR5 memory for the data center, validated with AMD EPYC 9004", 2022: STREAM 378 GB/s a socket.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smpy.errors import UsageError
from smpy.platforms.cluster import Cluster, NumberedNames
from smpy.platforms.description import Description
from smpy.platforms.models.machine_models import (
    CallCosts,
    CollectiveChoice,
    Models,
    NetworkModel,
    Overhead,
    Polling,
    Step,
)
from smpy.platforms.topologies.fat_tree import FatTree, TreeShape, switched_tree

CORES_PER_HOST: Final = 128
SOCKETS_PER_HOST: Final = 2
CORE_SPEED_FLOP_PER_S: Final = 3.1e9 * 16
SWITCH_PORTS: Final = 40
CABLE_BANDWIDTH_BYTES_PER_S: Final = 192e9 / 8
CABLE_LATENCY_S: Final = 0.3e-6
LOOPBACK_LATENCY_S: Final = 0.1e-6
HEADERS_BYTES: Final = 26 + 8
EAGER_MAX_BYTES: Final = 8192
OVERHEAD_S: Final = 0.2e-6
RENDEZVOUS_CROSSINGS: Final = 3
COPY_S_PER_BYTE: Final = 1 / 10e9
POLL_S: Final = 1e-6

_OVERHEAD: Final = (
    Overhead(0, OVERHEAD_S, COPY_S_PER_BYTE),
    Overhead(EAGER_MAX_BYTES, OVERHEAD_S + EAGER_MAX_BYTES * COPY_S_PER_BYTE, 0),
)
MODELS: Final = Models(
    NetworkModel(
        latency_factor=(Step(EAGER_MAX_BYTES + HEADERS_BYTES, RENDEZVOUS_CROSSINGS),),
        bandwidth_factor=(),
        weight_bytes=0,
        tcp_gamma_bytes=0,
        crosstraffic=0,
        envelope_bytes=HEADERS_BYTES,
    ),
    CallCosts(
        detached_below_bytes=EAGER_MAX_BYTES + 1,
        send_overhead=_OVERHEAD,
        isend_overhead=_OVERHEAD,
        recv_overhead=_OVERHEAD,
        rendezvous_overheads=True,
    ),
    Polling(test_s=POLL_S, iprobe_s=POLL_S, polls_notice=True),
    CollectiveChoice(table="mpich-4"),
)


def default_cluster(
    n_ranks: int, options: Iterable[tuple[str, str]] = (), *, cpus_per_task: int = 1, network: str | None = None
) -> Description:
    """The default machine, with cores for each rank.

    Parameters
    ----------
    n_ranks : int
        Number of ranks that will run.
    options : iterable of (str, str)
        Names and values of options of the models that stand above its own.
    cpus_per_task : int
        Cores of each rank.
    network : str, optional
        Name of a network model in place of its own.

    Raises
    ------
    UsageError
        If there are no ranks, or an option cannot be applied.

    Examples
    --------
    >>> default_cluster(4096)
    <Description of the default cluster: 32 hosts>
    >>> default_cluster(4096).build()
    <Platform the default cluster: 32 hosts, 192 links>
    """
    if n_ranks < 1:
        raise UsageError(f"{n_ranks} ranks need no cluster: ask for at least 1 (-np)")
    shape = tree_for(-(-n_ranks // max(CORES_PER_HOST // cpus_per_task, 1)))
    cluster = Cluster(
        name="default",
        hosts=NumberedNames("node-", (range(shape.n_hosts),)),
        cores=CORES_PER_HOST,
        sockets=SOCKETS_PER_HOST,
        speed_flop_per_s=CORE_SPEED_FLOP_PER_S,
        bandwidth_bytes_per_s=CABLE_BANDWIDTH_BYTES_PER_S,
        latency_s=CABLE_LATENCY_S,
        loopback_bandwidth_bytes_per_s=None,
        loopback_latency_s=LOOPBACK_LATENCY_S,
        messages_share_memory=True,
    )
    models = _models(list(options), network)
    return Description("the default cluster", FatTree(cluster, shape), models, fills_hosts=True)


def _models(options: list[tuple[str, str]], network: str | None) -> Models:
    if not options and network is None:
        return MODELS
    from smpy.platforms.simgrid.options import with_options  # most runs need not import it

    return with_options(MODELS, options, network=network)


def tree_for(n_hosts: int) -> TreeShape:
    """The smallest tree of `SWITCH_PORTS`-port switches, with as many cables up as down, that holds the hosts.

    Examples
    --------
    >>> tree_for(12)
    TreeShape(children=(12,), parents=(1,), cables=(1,))
    >>> tree_for(32)
    TreeShape(children=(16, 2), parents=(1, 1), cables=(1, 16))
    >>> tree_for(500)
    TreeShape(children=(20, 25), parents=(1, 20), cables=(1, 1))
    """
    return switched_tree(n_hosts, SWITCH_PORTS)
