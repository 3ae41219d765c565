"""Ordered sets of world ranks: a range where the ranks are evenly spaced, else a tuple.

Equal sets in equal order are equal objects of one kind, so that a group of a million ranks in step is compared,
hashed and searched at the cost of three numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

__all__ = ["NOBODY", "Members", "common", "in_order", "joined", "place_of", "without"]

Members: TypeAlias = range | tuple[int, ...]

NOBODY: Final = range(0)


def in_order(ranks: Iterable[int]) -> Members:
    """These ranks, in this order."""
    if isinstance(ranks, range):
        return ranks or NOBODY
    ordered = tuple(ranks)
    if not ordered:
        return NOBODY
    step = ordered[1] - ordered[0] if len(ordered) > 1 else 1
    spaced = range(ordered[0], ordered[0] + step * len(ordered), step) if step else NOBODY
    return (
        spaced if len(spaced) == len(ordered) and all(a == b for a, b in zip(spaced, ordered, strict=True)) else ordered
    )


def place_of(members: Members, rank: int) -> int:
    """Index of a world rank among the members, -1 when it is not one of them."""
    if len(members) > rank >= 0 and members[rank] == rank:  # the world and its first ranks
        return rank
    return members.index(rank) if rank in members else -1


def joined(first: Members, second: Members) -> Members:
    """The members of the first group, then the members of the second that are not in the first."""
    if first == second or not second:
        return first
    known = first if isinstance(first, range) else frozenset(first)
    return in_order((*first, *(rank for rank in second if rank not in known)))


def common(first: Members, second: Members) -> Members:
    """The members of the first that are in the second."""
    if first == second:
        return first
    known = second if isinstance(second, range) else frozenset(second)
    return in_order(rank for rank in first if rank in known)


def without(first: Members, second: Members) -> Members:
    """The members of the first that are not in the second."""
    if first == second:
        return NOBODY
    known = second if isinstance(second, range) else frozenset(second)
    return in_order(rank for rank in first if rank not in known)
