"""Which rank runs on which host."""

from __future__ import annotations

from pathlib import Path

from smpy.errors import UsageError
from smpy.platforms.hostfile import read_hostfile
from smpy.platforms.platform import Platform


def place(platform: Platform, n_ranks: int, hostfile: str | Path | None = None) -> list[int]:
    """The host of each rank.

    With a hostfile, rank i runs on the host of its i-th line, counted around when there are more ranks than lines (as
    smpirun does): a hostfile may put any number of ranks on a core.

    Without one, there must be as many cores as ranks. Ranks go to the hosts in the order of their names, one to each in
    turn (as smpirun does); or, on a machine that `fills_hosts`, to a host until each of its cores has one (as the
    launchers of clusters do).

    Parameters
    ----------
    platform : Platform
        The machine.
    n_ranks : int
        How many ranks there are.
    hostfile : str or path, optional
        The file that says where they run.

    Returns
    -------
    list of int
        Host numbers, by rank.

    Raises
    ------
    UsageError
        If there are no ranks, or without a hostfile more of them than cores.
    PlatformError
        If the hostfile is wrong.
    """
    if n_ranks < 1:
        raise UsageError(f"{n_ranks} ranks cannot be placed: ask for at least 1 (-np)")
    if hostfile is not None:
        lines = read_hostfile(hostfile, platform)
        return [lines[rank % len(lines)] for rank in range(n_ranks)]
    n_cores = platform.n_cores
    if n_ranks > n_cores:
        raise UsageError(
            f"{n_ranks} ranks do not fit on {platform.name}: it has {n_cores} cores on {platform.n_hosts} hosts. "
            "Ask for fewer ranks (-np), take a larger platform, or let ranks share cores with a --hostfile"
        )
    if platform.fills_hosts:
        slots = [host for host in range(platform.n_hosts) for _ in range(platform.cores(host))]
        return slots[:n_ranks]
    hosts = sorted(range(platform.n_hosts), key=platform.host_names.__getitem__)
    return [hosts[rank % len(hosts)] for rank in range(n_ranks)]
