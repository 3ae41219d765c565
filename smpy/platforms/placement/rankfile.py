"""Reads rank files, which give every rank its host (`--map-by file`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError
from smpy.platforms.placement.hostfile import is_rank_line, lines_of, read_hostfile

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

_LINE: Final = re.compile(r"rank\s+([0-9]{1,9})\s*=\s*(\S+)(?:\s+slots?\s*=\s*(.*))?")
_SLOT: Final = re.compile(r"(?:([0-9]{1,9}):)?([0-9]{1,9})")
_SHOWN_MAX: Final = 4


def read_rankfile(path: str | Path, platform: Platform, n_ranks: int) -> list[int]:
    """Host of each rank, as a rank file gives it.

    The file is Open MPI's (`rank 0=name slot=2`, in any order; the slot is a core, or `socket:core`, and may be left
    out), or a host file whose lines are ranks 0, 1, ... in order.

    Parameters
    ----------
    path : str or path
        The file.
    platform : Platform
        The machine the hosts are of.
    n_ranks : int
        Number of ranks: the file has to have each of them, and no more.

    Returns
    -------
    list of int
        Host numbers, by rank.

    Raises
    ------
    PlatformError
        If it cannot be read, names an unknown host, gives a rank twice or not at all, or a core to two ranks: the cores
        of a host are alike, and each rank has one to itself while there are enough.
    """
    lines = list(lines_of(path, "rank file"))
    if not any(is_rank_line(line) for _, line in lines):
        hosts = read_hostfile(path, platform)
        if len(hosts) != n_ranks:
            raise PlatformError(
                f"rank file {str(path)!r} has {len(hosts):,} ranks and the run {n_ranks:,}: with --map-by file each "
                "rank has a line of its own (without it, the lines of a hostfile are counted around)"
            )
        return hosts
    host_of_rank = [-1] * n_ranks
    taken: dict[tuple[int, int], int] = {}
    for number, line in lines:
        try:
            _add(line, platform, host_of_rank, taken)
        except PlatformError as wrong:
            raise PlatformError(f"{path}:{number}: {wrong}") from None
    missing = [rank for rank, host in enumerate(host_of_rank) if host < 0]
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN_MAX])) + (", ..." if len(missing) > _SHOWN_MAX else "")
        raise PlatformError(f"rank file {str(path)!r} leaves out rank {shown}: give each of the {n_ranks:,} a line")
    return host_of_rank


def _add(line: str, platform: Platform, host_of_rank: list[int], taken: dict[tuple[int, int], int]) -> None:
    """Place the rank of a line on a free core."""
    fields = _LINE.fullmatch(line)
    if fields is None:
        raise PlatformError(f"{line!r} is not a line such as 'rank 0=name' or 'rank 0=name slot=2'")
    rank, host = int(fields[1]), platform.host_number(fields[2])
    if rank >= len(host_of_rank):
        raise PlatformError(f"there is no rank {rank}: the run has {len(host_of_rank):,} (-np)")
    if host_of_rank[rank] >= 0:
        raise PlatformError(f"rank {rank} has a host already: give it one line")
    host_of_rank[rank] = host
    if fields[3] is None:
        return
    core = _core(fields[3], platform, host)
    if taken.setdefault((host, core), rank) != rank:
        raise PlatformError(
            f"ranks {taken[host, core]} and {rank} would share core {core} of {platform.host_names[host]!r}: ranks "
            "share cores only where there are more of them than cores; leave slot= away"
        )


def _core(text: str, platform: Platform, host: int) -> int:
    slot = _SLOT.fullmatch(text)
    if slot is None:
        raise PlatformError(f"slot={text} is not one core: write its number, or socket:core, or leave it away")
    cores, sockets = platform.cores(host), platform.sockets(host)
    core = int(slot[2])
    if slot[1] is None:
        is_there = core < cores
    else:
        is_there = int(slot[1]) < sockets and core < cores // sockets
        core += int(slot[1]) * (cores // sockets)
    if not is_there:
        plural = "s" * (sockets != 1)
        raise PlatformError(
            f"slot={text}: host {platform.host_names[host]!r} has {sockets} socket{plural} and {cores} cores, "
            "counted from 0"
        )
    return core
