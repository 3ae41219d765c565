"""Placement: the host of each rank.

Every host offers slots: as many as it has cores for, `ranks_per_host`, or what a host file says. A mapping says in
which order ranks take them:

    core     all of a host, then the next host's
    socket   one on each socket of a host, then the next host's; when all hosts have been visited, again from the first
    host     one on each host in turn, again from the first while hosts have slots left
    random   any slot, all equally likely
    file     a rank file gives every rank its host

With one to each socket or host in turn, a host that is full is passed by. A rank holds `cpus_per_task` cores. Where a
socket has as many, its ranks have all of theirs on it if ranks go to sockets in turn; otherwise ranks take the cores of
a host in order, and may span sockets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from smpy.errors import UsageError
from smpy.platforms.placement.host_order import HostOrder, ordered_hosts
from smpy.platforms.placement.hostfile import RANKS_MAX, HostEntry, read_entries, read_hostfile
from smpy.platforms.placement.rank_cores import ranks_on
from smpy.platforms.placement.rankfile import read_rankfile

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

MapBy = Literal["core", "host", "socket", "random", "file"]
MAPPINGS: Final[tuple[MapBy, ...]] = get_args(MapBy)

_MORE_CORES: Final = "Ask for fewer ranks (-np), take a larger platform, or let ranks share cores with a --hostfile"
_FEWER_CORES: Final = "Ask for fewer ranks (-np) or cores of each (--cpus-per-task), or take a larger platform"


class _Slots(NamedTuple):
    """Usable hosts, in order, and the number of ranks that each takes."""

    hosts: Sequence[int]
    counts: Sequence[int]
    whose: str
    remedy: str
    unit: str = "slot"
    option: str = ""

    def check(self, n_ranks: int) -> None:
        room = sum(self.counts)
        if n_ranks > room:
            units = f"{room} {self.unit}{'s' * (room != 1)}{self.option}"
            hosts = f"{len(self.hosts)} host{'s' * (len(self.hosts) != 1)}"
            raise UsageError(f"{n_ranks} ranks do not fit on {self.whose}: it has {units} on {hosts}. {self.remedy}")


def place(
    platform: Platform,
    n_ranks: int,
    hostfile: str | Path | None = None,
    *,
    ranks_per_host: int | None = None,
    cpus_per_task: int = 1,
    map_by: MapBy | None = None,
    host_order: HostOrder | None = None,
    seed: int = 0,
) -> list[int]:
    """Host of each rank.

    With a host file and nothing else, rank i runs on the host of its i-th line, counted around when there are more
    ranks than lines (as smpirun does): a host file may put any number of ranks on a core.

    Ranks of several cores (`cpus_per_task`) share them with no other rank, whatever the options.

    Without any option, there must be as many cores as ranks. Ranks go to the hosts in lexicographic order, one to each
    in turn (as smpirun does, which gives a host another rank even if it has no core left for it); or, on a machine that
    `fills_hosts`, to a host until each of its cores has one, in natural order (as the launchers of clusters do).

    Parameters
    ----------
    platform : Platform
        The machine.
    n_ranks : int
        Number of ranks.
    hostfile : str or path, optional
        The hosts to use, in its order; with `map_by="file"`, a rank file.
    ranks_per_host : int, optional
        Largest number of ranks on each host: no more than it has cores for.
    cpus_per_task : int
        Cores of each rank.
    map_by : {"core", "host", "socket", "random", "file"}, optional
        The order in which ranks take slots (see the module); "core" if only `ranks_per_host` is given.
    host_order : {"natural", "lexicographic", "platform"}, optional
        The order of the hosts: natural on a machine that `fills_hosts`, else lexicographic.
    seed : int
        Seed of `map_by="random"`: the same one, the same placement.

    Returns
    -------
    list of int
        Host numbers, by rank.

    Raises
    ------
    UsageError
        If there are no ranks, or more of them than slots; if a rank has more cores than its host, or options contradict
        each other.
    PlatformError
        If the host file is wrong.
    """
    _check_options(n_ranks, hostfile, ranks_per_host, map_by, host_order)
    _check_room_for_a_rank(platform, cpus_per_task)
    host_of_rank = _placed(platform, n_ranks, hostfile, ranks_per_host, cpus_per_task, map_by, host_order, seed)
    if cpus_per_task > 1 or ranks_per_host is not None:
        _check_cores(platform, host_of_rank, ranks_per_host, cpus_per_task)
    return host_of_rank


def _placed(
    platform: Platform,
    n_ranks: int,
    hostfile: str | Path | None,
    ranks_per_host: int | None,
    cpus_per_task: int,
    map_by: MapBy | None,
    host_order: HostOrder | None,
    seed: int,
) -> list[int]:
    if map_by == "file" and hostfile is not None:
        return read_rankfile(hostfile, platform, n_ranks)
    if map_by is None and ranks_per_host is None:
        if hostfile is not None:
            listed = read_hostfile(hostfile, platform)
            return [listed[rank % len(listed)] for rank in range(n_ranks)]
        if not platform.fills_hosts and cpus_per_task == 1:
            return _in_turn_as_smpirun(platform, n_ranks, host_order)
        if not platform.fills_hosts:
            map_by = "host"
    if hostfile is not None:
        slots = _listed_slots(platform, hostfile, read_entries(hostfile, platform), ranks_per_host)
    else:
        order = "platform" if map_by == "random" else host_order
        slots = _slots(platform, ranks_per_host, cpus_per_task, order, by_socket=map_by == "socket")
    slots.check(n_ranks)
    if map_by == "random":
        return _at_random(slots, n_ranks, seed)
    if map_by == "host":
        return _in_turn(slots, n_ranks, [1] * len(slots.hosts))
    if map_by == "socket":
        return _in_turn(slots, n_ranks, [platform.sockets(host) for host in slots.hosts])
    return _filled(slots, n_ranks)


def _check_options(
    n_ranks: int,
    hostfile: str | Path | None,
    ranks_per_host: int | None,
    map_by: MapBy | None,
    host_order: HostOrder | None,
) -> None:
    if n_ranks < 1:
        raise UsageError(f"{n_ranks} ranks cannot be placed: ask for at least 1 (-np)")
    if ranks_per_host is not None and ranks_per_host < 1:
        raise UsageError(f"{ranks_per_host} ranks a host (--ppn) are no placement: say at least 1")
    if ranks_per_host is not None and ranks_per_host > RANKS_MAX:
        raise UsageError(
            f"{ranks_per_host} ranks a host (--ppn) are too many: at most {RANKS_MAX:,} can be placed on one"
        )
    if hostfile is not None and host_order is not None:
        raise UsageError("--host-order and --hostfile both say in which order hosts take ranks: leave one away")
    if map_by == "random" and host_order is not None:
        raise UsageError("--host-order says nothing where ranks go to hosts at random: leave it or --map-by away")
    if map_by == "file" and hostfile is None:
        raise UsageError("--map-by file wants the file that gives each rank its host: name it with --hostfile")
    if map_by == "file" and ranks_per_host is not None:
        raise UsageError("--map-by file gives each rank its host, which --ppn cannot change: leave one away")


# ---- slots ----


def _slots(
    platform: Platform, ranks_per_host: int | None, cpus_per_task: int, order: HostOrder | None, *, by_socket: bool
) -> _Slots:
    hosts = _ordered(platform, order)
    if ranks_per_host is None:
        counts = [ranks_on(platform, host, cpus_per_task, by_socket=by_socket) for host in hosts]
        if cpus_per_task == 1:
            return _Slots(hosts, counts, platform.name, _MORE_CORES, "core")
        option = f" of {cpus_per_task} cores (--cpus-per-task)"
        return _Slots(hosts, counts, platform.name, _FEWER_CORES, option=option)
    counts = [ranks_per_host] * len(hosts)
    remedy = "Ask for fewer ranks (-np), more on a host, or take a larger platform"
    return _Slots(hosts, counts, platform.name, remedy, option=f" (--ppn {ranks_per_host})")


def _listed_slots(
    platform: Platform, path: str | Path, entries: Sequence[HostEntry], ranks_per_host: int | None
) -> _Slots:
    """Slots of a host file: the slots of lines with the same host are added up."""
    counts: dict[int, int] = {}
    for host, count in entries:
        if ranks_per_host is None:
            counts[host] = counts.get(host, 0) + (1 if count is None else count)
        elif count is None:
            counts[host] = ranks_per_host
        else:
            name = platform.host_names[host]
            raise UsageError(
                f"{path} says how many ranks host {name!r} takes, and so does --ppn {ranks_per_host}: leave one away"
            )
    remedy = "Give its hosts more: lines such as name:4"
    return _Slots(list(counts), list(counts.values()), f"hostfile {str(path)!r}", remedy)


def _ordered(platform: Platform, order: HostOrder | None) -> list[int]:
    return ordered_hosts(platform.host_names, order or ("natural" if platform.fills_hosts else "lexicographic"))


def _check_room_for_a_rank(platform: Platform, cpus_per_task: int) -> None:
    """Refuse ranks with more cores than any host has."""
    if cpus_per_task < 1:
        raise UsageError(f"{cpus_per_task} cores of each rank (--cpus-per-task) are no placement: say at least 1")
    if cpus_per_task == 1:
        return
    most = max(platform.cores(host) for host in range(len(platform.host_names)))
    if cpus_per_task > most:
        raise UsageError(
            f"--cpus-per-task {cpus_per_task}: a rank runs on one host, and no host of {platform.name} has more than "
            f"{most} core{'s' * (most != 1)}: say --cpus-per-task {most} or less"
        )


def _check_cores(
    platform: Platform, host_of_rank: Sequence[int], ranks_per_host: int | None, cpus_per_task: int
) -> None:
    """Slots with --ppn, and ranks of several cores: no two ranks share a core."""
    for host, n_ranks in Counter(host_of_rank).items():
        cores = platform.cores(host)
        if n_ranks * cpus_per_task > cores and cpus_per_task > 1:
            raise UsageError(
                f"--cpus-per-task {cpus_per_task}: host {platform.host_names[host]!r} has "
                f"{cores} core{'s' * (cores != 1)} for {n_ranks} rank{'s' * (n_ranks != 1)} of {cpus_per_task}. Put "
                f"at most {cores // cpus_per_task} there, or say --cpus-per-task {max(cores // n_ranks, 1)}"
            )
        if n_ranks > cores:
            name = platform.host_names[host]
            raise UsageError(
                f"--ppn {ranks_per_host}: host {name!r} has {cores} core{'s' * (cores != 1)} for {n_ranks} ranks. Put "
                f"fewer on a host, or let them share cores with a --hostfile of lines such as {name}:{n_ranks}"
            )


# ---- mappings ----


def _in_turn_as_smpirun(platform: Platform, n_ranks: int, order: HostOrder | None) -> list[int]:
    """One rank to each host by turns, regardless of their cores."""
    hosts = _ordered(platform, order)
    _Slots(hosts, [platform.n_cores], platform.name, _MORE_CORES, "core").check(n_ranks)
    return [hosts[rank % len(hosts)] for rank in range(n_ranks)]


def _filled(slots: _Slots, n_ranks: int) -> list[int]:
    host_of_rank: list[int] = []
    for host, count in zip(slots.hosts, slots.counts, strict=True):
        if len(host_of_rank) >= n_ranks:
            break
        host_of_rank += [host] * min(count, n_ranks - len(host_of_rank))
    return host_of_rank


def _in_turn(slots: _Slots, n_ranks: int, strides: Sequence[int]) -> list[int]:
    """Some ranks to each host by turns, until it is full."""
    host_of_rank: list[int] = []
    left = list(zip(slots.hosts, slots.counts, strides, strict=True))
    while len(host_of_rank) < n_ranks:
        for host, room, stride in left:
            host_of_rank += [host] * min(stride, room)
        left = [(host, room - stride, stride) for host, room, stride in left if room > stride]
    del host_of_rank[n_ranks:]
    return host_of_rank


def _at_random(slots: _Slots, n_ranks: int, seed: int) -> list[int]:
    """Different slots, all equally likely: the first occurrence of each among independent draws."""
    import numpy as np

    ends = np.cumsum(np.asarray(slots.counts, np.int64))
    room = int(ends[-1])
    try:
        draw = np.random.RandomState(seed)  # the one generator whose numbers no version of numpy changes
    except ValueError:
        raise UsageError(f"--seed {seed} is not a number from 0 to {2**32 - 1}") from None
    if 2 * n_ranks > room:
        taken = draw.permutation(room)[:n_ranks]
    else:
        drawn = np.empty(0, np.int64)
        taken = drawn
        while len(taken) < n_ranks:
            drawn = np.concatenate([drawn, draw.randint(room, size=2 * n_ranks, dtype=np.int64)])
            _, first = np.unique(drawn, return_index=True)
            taken = drawn[np.sort(first)]
        taken = taken[:n_ranks]
    at = np.searchsorted(ends, taken, side="right")
    return [int(host) for host in np.asarray(slots.hosts)[at]]
