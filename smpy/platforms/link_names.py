"""The names of links.

The kernel numbers the links of a regular topology in blocks (wires, loopbacks, memories, limiters, backbone: see
platform.h) and knows no names. Here a name is made when somebody asks for it, so that a large machine keeps no list of
them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from smpy.platforms.cluster import Cluster
from smpy.platforms.link_ends import LinkEnds, LinkEndsOf

LinkNamer = Callable[[int], str]


class LinkNames:
    """Names of a platform's links, by number and back."""

    def __init__(self) -> None:
        self._firsts: Final[list[int]] = []  # first number and names of each block of links
        self._namers: Final[list[LinkNamer]] = []
        self._ends_of: Final[list[LinkEndsOf | None]] = []
        self._numbers: Final[dict[str, int]] = {}
        self._n_links = 0
        self._is_spelt_out = True  # whether the names of all blocks are in _numbers

    def __len__(self) -> int:
        return self._n_links

    def add(self, name: str) -> None:
        """Names the next link."""
        self._numbers[name] = self._n_links
        self._firsts.append(self._n_links)
        self._namers.append(lambda _: name)
        self._ends_of.append(None)
        self._n_links += 1

    def add_block(self, n_links: int, namer: LinkNamer, ends_of: LinkEndsOf | None = None) -> None:
        """Names the next `n_links` links, by functions of their index in the block."""
        self._firsts.append(self._n_links)
        self._namers.append(namer)
        self._ends_of.append(ends_of)
        self._n_links += n_links
        self._is_spelt_out = False

    def name(self, link: int) -> str:
        block = bisect_right(self._firsts, link) - 1
        return self._namers[block](link - self._firsts[block])

    def ends(self, link: int) -> LinkEnds | None:
        """Nodes that the link joins, if they are known."""
        block = bisect_right(self._firsts, link) - 1
        ends_of = self._ends_of[block]
        return None if ends_of is None else ends_of(link - self._firsts[block])

    def has(self, name: str) -> bool:
        """Whether a link was added by this very name."""
        return name in self._numbers

    def number(self, name: str) -> int | None:
        """Number of the link, or None. Blocks are searched only for names that were not added themselves."""
        if name not in self._numbers and not self._is_spelt_out:
            self._is_spelt_out = True
            self._numbers.update({self.name(link): link for link in range(self._n_links)})
        return self._numbers.get(name)

    def all_names(self) -> list[str]:
        """All names, to suggest a close one."""
        return [self.name(link) for link in range(self._n_links)]


def cluster_link_name(
    cluster: Cluster,
    n_wires: int,
    wire: Callable[[int, str], str],
    n_limiters: int,
    limiter_label: Callable[[int], int],
) -> LinkNamer:
    """The name of the i-th link of a cluster, given those of its wires and the labels of its limiters."""
    halves = ("_UP", "_DOWN") if cluster.is_split else ("",)
    host_numbers = cluster.hosts.numbers
    if not cluster.limiter_bandwidth_bytes_per_s:
        n_limiters = 0
    first_loopback = n_wires * len(halves)
    first_memory = first_loopback + cluster.has_loopbacks * cluster.n_hosts
    first_limiter = first_memory + cluster.has_memory_links * cluster.n_hosts
    backbone = first_limiter + n_limiters

    def name(number: int) -> str:
        if number < first_loopback:
            return wire(number // len(halves), halves[number % len(halves)])
        if number < first_memory:
            return f"{cluster.name}_link_{host_numbers[number - first_loopback]}_loopback"
        if number < first_limiter:
            return f"{cluster.name}_link_{host_numbers[number - first_memory]}_memory"
        if number < backbone:
            return f"{cluster.name}_link_{limiter_label(number - first_limiter)}_limiter"
        return f"{cluster.name}_backbone"

    return name
