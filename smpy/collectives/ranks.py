"""Ranks that a pattern runs on: all ranks of a call or some of them, numbered from 0, with the position of one rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smpy.collectives.schedule import Value


@dataclass(frozen=True, slots=True)
class Ranks:
    """All ranks of a communicator, under their own numbers.

    Parameters
    ----------
    index : int or Formula
        The number, here, of the rank that performs the steps.
    size : int or Formula
        Number of ranks; if it differs from rank to rank, `size_max` is its largest value.
    size_max : int
        Largest number of ranks, which sets the number of rounds.
    """

    index: Value
    size: Value
    size_max: int

    @property
    def part(self) -> str:
        """Name of the part of a communicator: "local", "leaders", or empty."""
        return ""

    def __getitem__(self, number: Value) -> Value:
        """The rank, in the communicator, that has this number here."""
        return number

    def ahead(self, distance: Value) -> Value:
        """The rank `distance` numbers ahead of this one; after the last number follows the first."""
        return self[(self.index + distance) % self.size]

    def behind(self, distance: Value) -> Value:
        """The rank `distance` numbers behind this one."""
        return self[(self.index - distance) % self.size]


@dataclass(frozen=True, slots=True)
class RanksFromRoot(Ranks):
    """All ranks of a communicator, counted from the root."""

    rank: Value
    root: Value

    def __getitem__(self, number: Value) -> Value:
        return (number + self.root) % self.size

    def ahead(self, distance: Value) -> Value:
        return (self.rank + distance) % self.size

    def behind(self, distance: Value) -> Value:
        return (self.rank - distance) % self.size


@dataclass(frozen=True, slots=True)
class ListedRanks(Ranks):
    """Some ranks of a communicator, in the order of a list."""

    rank_at: Callable[[Value], Value]
    named: str = ""

    @property
    def part(self) -> str:
        return self.named

    def __getitem__(self, number: Value) -> Value:
        return self.rank_at(number)


def all_ranks(rank: Value, n_ranks: int) -> Ranks:
    """All ranks, with the position of `rank`."""
    return Ranks(rank, n_ranks, n_ranks)


def ranks_from_root(rank: Value, n_ranks: int, root: Value) -> Ranks:
    """All ranks, the root first."""
    return RanksFromRoot((rank - root) % n_ranks, n_ranks, n_ranks, rank, root)
