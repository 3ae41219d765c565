"""Hosts of a communicator's ranks, for the facts of tables and for algorithms that take hosts first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from smpy.collectives.ranks import ListedRanks, Ranks
from smpy.collectives.schedule import Formula, Value


class Hosts:
    """The hosts of a communicator's ranks, numbered in the order of their first ranks.

    Parameters
    ----------
    host_of_rank : iterable of int
        A number for the host of each rank; ranks with the same number share a host.
    """

    def __init__(self, host_of_rank: Iterable[int]) -> None:
        number_of: dict[int, int] = {}
        self._host_of_rank = [number_of.setdefault(host, len(number_of)) for host in host_of_rank]
        self.n_hosts = len(number_of)
        self.n_ranks = len(self._host_of_rank)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hosts) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def ranks_of(self) -> list[list[int]]:
        """The ranks on each host, in order."""
        ranks: list[list[int]] = [[] for _ in range(self.n_hosts)]
        for rank, host in enumerate(self._host_of_rank):
            ranks[host].append(rank)
        return ranks

    @cached_property
    def n_local_max(self) -> int:
        """The largest number of ranks on a host."""
        return max(map(len, self.ranks_of))

    @cached_property
    def is_uniform(self) -> bool:
        """Whether each host has the same number of ranks."""
        return all(len(ranks) == self.n_local_max for ranks in self.ranks_of)

    @cached_property
    def is_blocked(self) -> bool:
        """Whether the ranks of each host are consecutive."""
        return all(ranks[-1] - ranks[0] == len(ranks) - 1 for ranks in self.ranks_of)

    def local(self, rank: Value) -> Ranks:
        """The ranks on the host of `rank`, in order."""
        index_of = [0] * len(self._host_of_rank)
        for ranks in self.ranks_of:
            for index, each in enumerate(ranks):
                index_of[each] = index
        host = listed(self._host_of_rank, rank)
        size = listed([len(ranks) for ranks in self.ranks_of], host)
        width = self.n_local_max
        padded = [each for ranks in self.ranks_of for each in (*ranks, *ranks[-1:] * (width - len(ranks)))]
        own = listed(index_of, rank)
        return ListedRanks(own, size, width, lambda number: listed(padded, host * width + number), "local")

    def leaders(self, rank: Value) -> Ranks:
        """The first rank of each host; `index` is the number of the host of `rank`."""
        first_ranks = [ranks[0] for ranks in self.ranks_of]
        host = listed(self._host_of_rank, rank)
        return ListedRanks(host, self.n_hosts, self.n_hosts, lambda number: listed(first_ranks, number), "leaders")

    def beside(self, rank: Value, index: Value) -> Ranks:
        """The ranks at position `index` of each host; all hosts must have as many ranks as the first one."""
        host, width = listed(self._host_of_rank, rank), len(self.ranks_of[0])
        flat = [each for ranks in self.ranks_of for each in ranks]
        return ListedRanks(host, self.n_hosts, self.n_hosts, lambda number: listed(flat, number * width + index))

    @cached_property
    def _key(self) -> tuple[int, ...]:
        return tuple(self._host_of_rank)

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)


def listed(numbers: Sequence[int], index: Value) -> Value:
    """Return the number at an index of a list, -1 outside it; for a symbol, a formula that is short for a regular list.

    Two regular patterns need one division: runs of equal numbers (hosts filled one by one) and repeated rounds (ranks
    dealt out to hosts). Any other list needs a term at each index where it leaves a straight line.
    """
    if not isinstance(index, Formula):
        return numbers[index] if 0 <= index < len(numbers) else -1
    first, step = numbers[0], numbers[1] - numbers[0] if len(numbers) > 1 else 0
    n_equal, n_in_line = _first_change(numbers, 0), _first_change(numbers, step)
    if n_equal == len(numbers):
        return first
    if all(number == first + i // n_equal for i, number in enumerate(numbers)):
        return first + index // n_equal if n_equal > 1 else first + index
    if n_in_line < len(numbers) and all(number == first + i % n_in_line * step for i, number in enumerate(numbers)):
        return first + index % n_in_line * step
    value: Value = first + step * index
    for i in range(n_in_line, len(numbers)):
        jump = numbers[i] - numbers[i - 1] - step
        if jump:
            value = value + (index >= i) * jump
    return value


def _first_change(numbers: Sequence[int], step: int) -> int:
    """The first index whose number is not the previous one plus `step`."""
    return next((i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + step), len(numbers))
