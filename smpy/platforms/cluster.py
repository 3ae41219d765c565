"""The part that clusters of all topologies share: identical hosts, or groups of them, and their wires.

A cluster is one value however many hosts it has: their names are spelt out when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain

from smpy.platforms.models.memory import COPY_BANDWIDTH_BYTES_PER_S, Cache, CacheLevel, Memory, RandomAccess


@dataclass(frozen=True, slots=True)
class NumberedNames:
    """Names that differ in a number.

    Parameters
    ----------
    prefix : str
        Before the number.
    ranges : tuple of range
        The numbers, in order; each range counts upwards.
    suffix : str
        After the number.

    Examples
    --------
    >>> list(NumberedNames("node-", (range(2), range(7, 8)), ".org"))
    ['node-0.org', 'node-1.org', 'node-7.org']
    """

    prefix: str
    ranges: tuple[range, ...]
    suffix: str = ""

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{number}{self.suffix}" for part in self.ranges for number in part)

    @property
    def n_names(self) -> int:
        """Number of names, which may exceed the largest result of `len`."""
        return sum((part.stop - part.start + part.step - 1) // part.step for part in self.ranges)

    @property
    def numbers(self) -> Sequence[int]:
        """Number in each name."""
        return self.ranges[0] if len(self.ranges) == 1 else [number for part in self.ranges for number in part]

    def first(self, n_names: int) -> NumberedNames:
        """The first of these names.

        Examples
        --------
        >>> list(NumberedNames("n", (range(2), range(7, 9))).first(3))
        ['n0', 'n1', 'n7']
        """
        kept, left = [], n_names
        for part in self.ranges:
            kept.append(part[:left])
            left = max(0, left - ((part.stop - part.start + part.step - 1) // part.step))
        return NumberedNames(self.prefix, tuple(part for part in kept if part), self.suffix)


@dataclass(frozen=True, slots=True)
class ListedNames:
    """Names listed one by one.

    Parameters
    ----------
    names : tuple of str
        The names, in order.
    """

    names: tuple[str, ...]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def n_names(self) -> int:
        """Number of names."""
        return len(self.names)

    @property
    def numbers(self) -> Sequence[int]:
        """Index of each name, which replaces a number in it."""
        return range(len(self.names))

    def first(self, n_names: int) -> ListedNames:
        """The first of these names."""
        return ListedNames(self.names[:n_names])


@dataclass(frozen=True, slots=True)
class JoinedNames:
    """Names of several kinds, one kind after the other.

    Parameters
    ----------
    parts : tuple of NumberedNames or ListedNames
        The names, in order.
    """

    parts: tuple[NumberedNames | ListedNames, ...]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts)

    @property
    def n_names(self) -> int:
        """Number of names."""
        return sum(part.n_names for part in self.parts)

    @property
    def numbers(self) -> Sequence[int]:
        """Index of each name, which replaces a number in it."""
        return range(self.n_names)

    def first(self, n_names: int) -> JoinedNames:
        """The first of these names."""
        kept: list[NumberedNames | ListedNames] = []
        left = n_names
        for part in self.parts:
            kept.append(part.first(left))
            left = max(0, left - part.n_names)
        return JoinedNames(tuple(part for part in kept if part.n_names))


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Consecutive identical hosts of a cluster that differ from its others; fields are those of a `Cluster`.

    Parameters
    ----------
    n_hosts : int
        Number of hosts in the group.
    bandwidth_bytes_per_s, latency_s : float
        Bandwidth and latency of their wires.
    """

    n_hosts: int
    speed_flop_per_s: float
    bandwidth_bytes_per_s: float
    latency_s: float
    cores: int = 1
    sockets: int = 1
    memory_bandwidth_bytes_per_s: float = 0.0
    core_memory_bandwidth_bytes_per_s: float = 0.0
    caches: tuple[Cache, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    state_speeds_flop_per_s: tuple[float, ...] = ()
    first_state: int = 0
    messages_bandwidth_bytes_per_s: float = 0.0
    random_access: tuple[RandomAccess, ...] = ()
    cache_levels: tuple[CacheLevel, ...] = ()

    @property
    def memory(self) -> Memory:
        """Memory of each host."""
        return Memory(
            self.memory_bandwidth_bytes_per_s,
            self.core_memory_bandwidth_bytes_per_s,
            self.caches,
            self.messages_bandwidth_bytes_per_s,
            self.random_access,
            self.cache_levels,
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """Identical hosts, unless they are in groups; a bandwidth of 0 means that there is no such link.

    Parameters
    ----------
    name : str
        Starts the names of the links.
    hosts : NumberedNames, ListedNames or JoinedNames
        Their names, in order of position; the numbers tell the hosts' links apart in their names.
    speed_flop_per_s : float
        Speed of one core.
    bandwidth_bytes_per_s, latency_s : float
        Bandwidth and latency of every wire: between a host and the centre, a node of a fat tree and its parent,
        neighbours of a torus.
    is_split : bool
        Whether a wire is two links, one each way, rather than one that both ways share.
    cores : int
        Cores a host has.
    memory_bandwidth_bytes_per_s, core_memory_bandwidth_bytes_per_s : float
        Bandwidths of main memory: for all cores of a host together, and for one core at most; 0: not known.
    caches : tuple of Cache
        Caches of a core, by rising size.
    loopback_bandwidth_bytes_per_s : float or None
        From a host to itself, of each message alone; None: what two cores copy, or the network cards carry if that is
        more or not known (`loopback_of`).
    loopback_latency_s : float
        From a host to itself.
    messages_share_memory : bool
        Whether all messages over a host's loopback share one bandwidth (`Memory.messages_bytes_per_s`).
    limiter_bandwidth_bytes_per_s : float
        Bandwidth of a host for both directions together.
    backbone_bandwidth_bytes_per_s, backbone_latency_s : float
        Bandwidth and latency of the one link that all traffic of a flat cluster crosses.
    backbone_is_fatpipe : bool
        Whether the backbone limits each flow alone rather than all of them together.
    sockets : int
        Sockets a host has, which share its cores equally.
    properties : tuple of (str, str)
        Names and values of notes on each host, such as its power.
    rails : int
        Network cards a host has. So many planes of the network there are, each with links of its own, whose names begin
        with ``rail0_``, ``rail1_``, ... if there are several. All messages from one host to another take one of them;
        those to `rails` hosts in a row (counted from a multiple of `rails`), and from them, one each: a host has the
        bandwidth of all its cards with many others, and that of one card with each. The rule is in
        `kernels/event/machine/route_rails.c`. Messages from a host to itself all take the loopback and the memory of
        the same one.
    groups : tuple of HostGroup
        All hosts in order of position, if they are not all alike; the cluster's own cores, speed, memory and
        properties are then those of the first group.
    state_speeds_flop_per_s : tuple of float
        Speeds of a core in each state (DVFS), if hosts have several; they keep their ratios to `speed_flop_per_s`, the
        speed in the first one.
    first_state : int
        State in which hosts begin.
    messages_bandwidth_bytes_per_s : float
        Bandwidth of all messages inside a host together; 0: what its memory carries.
    random_access : tuple of RandomAccess
        Rates of a core at random addresses, by rising working set.
    cache_levels : tuple of CacheLevel
        Caches of the hardware, and how many cores share each, by rising size.
    """

    name: str
    hosts: NumberedNames | ListedNames | JoinedNames
    speed_flop_per_s: float
    bandwidth_bytes_per_s: float
    latency_s: float
    is_split: bool = True
    cores: int = 1
    memory_bandwidth_bytes_per_s: float = 0.0
    core_memory_bandwidth_bytes_per_s: float = 0.0
    caches: tuple[Cache, ...] = ()
    loopback_bandwidth_bytes_per_s: float | None = 0.0
    loopback_latency_s: float = 0.0
    messages_share_memory: bool = False
    limiter_bandwidth_bytes_per_s: float = 0.0
    backbone_bandwidth_bytes_per_s: float = 0.0
    backbone_latency_s: float = 0.0
    backbone_is_fatpipe: bool = False
    sockets: int = 1
    properties: tuple[tuple[str, str], ...] = ()
    rails: int = 1
    groups: tuple[HostGroup, ...] = ()
    state_speeds_flop_per_s: tuple[float, ...] = ()
    first_state: int = 0
    messages_bandwidth_bytes_per_s: float = 0.0
    random_access: tuple[RandomAccess, ...] = ()
    cache_levels: tuple[CacheLevel, ...] = ()

    @property
    def n_hosts(self) -> int:
        return self.hosts.n_names

    @property
    def memory(self) -> Memory:
        """Memory of each host."""
        return Memory(
            self.memory_bandwidth_bytes_per_s,
            self.core_memory_bandwidth_bytes_per_s,
            self.caches,
            self.messages_bandwidth_bytes_per_s,
            self.random_access,
            self.cache_levels,
        )

    @property
    def has_equal_wires(self) -> bool:
        """Whether the wires of all hosts are alike."""
        wires = self.bandwidth_bytes_per_s, self.latency_s
        return all((group.bandwidth_bytes_per_s, group.latency_s) == wires for group in self.groups)

    @property
    def host_groups(self) -> tuple[HostGroup, ...]:
        """The groups; identical hosts form one."""
        return self.groups or (
            HostGroup(
                self.n_hosts,
                **{field.name: getattr(self, field.name) for field in fields(HostGroup) if field.name != "n_hosts"},
            ),
        )

    @property
    def has_loopbacks(self) -> bool:
        """Whether a host reaches itself over its own link, not over the network."""
        return self.loopback_bandwidth_bytes_per_s != 0

    @property
    def has_memory_links(self) -> bool:
        """Whether the route of a host to itself crosses its memory, after its loopback."""
        return self.has_loopbacks and self.messages_share_memory

    def loopback_of(self, group: HostGroup) -> float:
        """Bandwidth of a message alone between two ranks on a host of a group, in bytes/s; 0: there is no loopback.

        Two cores copy the message, and each reads and writes each byte, at `COPY_BANDWIDTH_BYTES_PER_S` if their
        memory bandwidth is not known. Ranks may use the network cards instead, if these are faster.
        """
        if self.loopback_bandwidth_bytes_per_s is not None:
            return self.loopback_bandwidth_bytes_per_s
        copied_bytes_per_s = group.memory.core_bandwidth_bytes_per_s / 2 or COPY_BANDWIDTH_BYTES_PER_S
        return max(copied_bytes_per_s, self.rails * group.bandwidth_bytes_per_s)
