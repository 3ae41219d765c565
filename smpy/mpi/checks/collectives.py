"""Collectives whose ranks disagree on the types of blocks that they exchange, or on the operation of a reduction.

The types that one rank sends must be the types that the other receives; a rank may do both. Sizes, roots and names of
operations are compared in any run, also without --check.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from smpy.mpi.checks.collective_parts import (
    BlocksOfOneType,
    CollectivePart,
    OperationKey,
    blocking_form,
    communicator_of,
)
from smpy.mpi.checks.mistakes import Kind, Line, Mistakes, Side
from smpy.mpi.checks.signatures import agree, described
from smpy.mpi.data.layout import Layout
from smpy.mpi.state.comm_core import CommCore

__all__ = ["CollectiveChecks"]


class _Caller(NamedTuple):
    """A rank that has entered a collective: its side, the side that it exchanges with, its line and its part."""

    rank: int
    side: int
    exchanges_with: int
    world_rank: int
    line: Line
    part: CollectivePart


class CollectiveChecks:
    """Collectives that some of their ranks have entered."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._open: dict[tuple[int, int], list[_Caller]] = {}
        self._n_entered: dict[tuple[int, int], int] = {}
        self._n_calls: Counter[tuple[int, int]] = Counter()

    def enter(self, comm: CommCore, world_rank: int, line: Line, part: CollectivePart) -> None:
        """Record that a rank enters a collective, and compare its part with those of earlier ranks."""
        communicator = communicator_of(comm)
        if communicator is None:
            return
        number = min(communicator.number, communicator.remote.number)  # the same on both sides of an intercommunicator
        self._n_calls[number, world_rank] += 1
        place = number, self._n_calls[number, world_rank]
        me = _Caller(comm.rank, communicator.side, communicator.remote.side, world_rank, line, part)
        callers = self._open.setdefault(place, [])
        for other in (*callers, me):
            if blocking_form(other.part.call) != blocking_form(part.call):
                continue  # the call itself fails
            sides = _differing_types(other, me)
            if sides is not None:
                self._mistakes.add(Kind.TYPES, *sides)
                break
            if not _have_one_operation(other.part.operation, part.operation):
                self._mistakes.add(Kind.OPERATIONS, _side_of_operation(other), _side_of_operation(me))
                break
        if not any(_is_like(other, me) for other in callers):
            callers.append(me)
        n = self._n_entered[place] = self._n_entered.get(place, 0) + 1
        if n == communicator.joint.n_members:
            del self._open[place], self._n_entered[place]


def _differing_types(other: _Caller, me: _Caller) -> tuple[Side, Side] | None:
    """Both sides of a block whose types differ at its two ends; None when all agree."""
    if me.side != other.exchanges_with:
        return None
    differing = _differing_layouts(other, me)
    if differing is not None:
        return _side(other, "sends", differing[0]), _side(me, "receives", differing[1])
    differing = _differing_layouts(me, other)
    if differing is not None:
        return _side(other, "receives", differing[1]), _side(me, "sends", differing[0])
    return None


def _differing_layouts(sender: _Caller, receiver: _Caller) -> tuple[Layout, Layout] | None:
    sent, received = sender.part.sent, receiver.part.received
    if sent is None or received is None:
        return None
    into = received.by_edge(sender.rank)
    for label, layout in sent.by_edge(receiver.rank).items():
        if label in into and not agree(layout, into[label]):
            return layout, into[label]
    return None


def _have_one_operation(one: OperationKey | None, other: OperationKey | None) -> bool:
    return one is None or other is None or one.kind != other.kind or one.key == other.key


def _is_like(one: _Caller, other: _Caller) -> bool:
    """Whether two ranks' parts are equal in everything that a third rank's part is compared with."""
    mine, its = one.part, other.part
    if mine.call != its.call or mine.operation != its.operation or one.side != other.side:
        return False
    return all(_are_alike(a, b) for a, b in ((mine.sent, its.sent), (mine.received, its.received)))


def _are_alike(one: object, other: object) -> bool:
    """Whether two groups of blocks have the same single layout for all ranks."""
    if one is None or other is None:
        return one is other
    if not isinstance(one, BlocksOfOneType) or not isinstance(other, BlocksOfOneType):
        return False
    return one.layout is other.layout and not one.counts and not other.counts


def _side(caller: _Caller, verb: str, layout: Layout) -> Side:
    return Side(caller.world_rank, f"{caller.part.call} {verb} {described(layout)}", caller.line)


def _side_of_operation(caller: _Caller) -> Side:
    operation = caller.part.operation
    name = "" if operation is None else operation.name
    return Side(caller.world_rank, f"{caller.part.call} with {name}", caller.line)
