"""A value per host of a machine, stored once for consecutive identical hosts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final, Generic, TypeVar

V = TypeVar("V")


class HostRuns(Generic[V]):
    """A value per host, stored once for each run of identical hosts.

    Parameters
    ----------
    default : V
        Value of hosts before the first that is added.
    """

    def __init__(self, default: V) -> None:
        self._firsts: Final = [0]  # first host of each run, ascending
        self._values: Final = [default]

    def add(self, first_host: int, value: V) -> None:
        """Set the value of a host, and of those after it until the next value is added."""
        if value != self._values[-1]:
            self._firsts.append(first_host)
            self._values.append(value)

    def changed(self, hosts: AbstractSet[int], n_hosts: int, change: Callable[[V], V]) -> HostRuns[V]:
        """Values of all hosts after a change of those of some."""
        after = HostRuns(self._values[0])
        for run, value in self.runs(n_hosts):
            other = value if hosts.isdisjoint(run) else change(value)
            for host in run:
                after.add(host, other if host in hosts else value)
        return after

    def runs(self, n_hosts: int) -> Iterator[tuple[range, V]]:
        """Consecutive identical hosts, and their value."""
        for run, (first, end) in enumerate(pairwise((*self._firsts, n_hosts))):
            if first < end:
                yield range(first, end), self._values[run]

    def of(self, host: int) -> V:
        return self._values[bisect_right(self._firsts, host) - 1]
