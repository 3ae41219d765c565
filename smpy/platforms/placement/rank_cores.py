"""Cores of ranks on the sockets of their hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smpy.engine.platform import Platform


def ranks_on(platform: Platform, host: int, cpus_per_task: int, *, by_socket: bool = False) -> int:
    """Number of ranks that a host has cores for.

    By socket, all cores of a rank are on one socket, if a socket has as many.
    """
    cores, per_socket = platform.cores(host), platform.cores(host) // platform.sockets(host)
    if by_socket and cpus_per_task <= per_socket:
        return platform.sockets(host) * (per_socket // cpus_per_task)
    return cores // cpus_per_task


def spanning_ranks(platform: Platform, host_of_rank: Sequence[int], cpus_per_task: int, *, by_socket: bool) -> int:
    """Number of ranks whose cores are on several sockets."""
    n_spanning = 0
    for host, n_ranks in Counter(host_of_rank).items():
        per_socket = platform.cores(host) // platform.sockets(host)
        if by_socket and cpus_per_task <= per_socket:
            continue
        firsts = range(0, n_ranks * cpus_per_task, cpus_per_task)
        n_spanning += sum(first // per_socket != (first + cpus_per_task - 1) // per_socket for first in firsts)
    return n_spanning


def cores_text(platform: Platform, host_of_rank: Sequence[int], cpus_per_task: int, *, by_socket: bool) -> str:
    """Cores of each rank in words, and whether they are on one socket."""
    n_spanning = spanning_ranks(platform, host_of_rank, cpus_per_task, by_socket=by_socket)
    n_ranks = len(host_of_rank)
    if not n_spanning:
        place = "on one socket"
    elif n_spanning == n_ranks:
        place = "on several sockets"
    else:
        place = f"on one socket but for {n_spanning:,} of {n_ranks:,} ranks"
    return f"{cpus_per_task} of each rank (--cpus-per-task), {place}"
