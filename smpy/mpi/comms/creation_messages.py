"""The messages by which ranks agree on a new communicator and its members.

A communicator costs as much as SMPI's: its rank 0 broadcasts 4 bytes. A split first gathers 8 bytes at rank 0, which
sends each member 8 bytes, group by group. SMPI has no intercommunicators: these follow MPICH's pattern, in which rank
0 of each side swap the sides' data and then broadcast them on their side.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from smpy.collectives.register import SPLIT
from smpy.engine.messages import Load
from smpy.engine.running import current
from smpy.mpi.collectives.open_collective import OpenCollective, Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.state.constants import UNDEFINED
from smpy.mpi.state.world import Communicator, world

__all__ = ["announce", "exchange", "pay_for_new", "private_duplicate", "split", "split_both", "swap"]

_ANNOUNCED_BYTES: Final = 4
_SPLIT_BYTES: Final = 8

Color: TypeAlias = int | str


def pay_for_new(new: Communicator, rank: int, call: str) -> None:
    """Spend the time of making a communicator, as its rank `rank`."""
    if new.is_inter:
        exchange(new, rank, _ANNOUNCED_BYTES, _ANNOUNCED_BYTES, call)
    else:
        announce(new, rank, 0, _ANNOUNCED_BYTES, call)


def private_duplicate(communicator: Communicator, rank: int, call: str) -> Communicator:
    """The duplicate that mpi4py keeps of a communicator; a rank that asks first takes the time of making it."""
    private = communicator.duplicate()
    if communicator.is_first_use(rank):
        pay_for_new(private, rank, call)
        if communicator.is_inter:
            pay_for_new(communicator.local(), rank, call)
    return private


def announce(communicator: Communicator, rank: int, root: int, nbytes: int, call: str) -> None:
    """Broadcast `nbytes` bytes about a new communicator from `root`."""
    collective = enter(communicator, rank, Signature(f"{call}'s broadcast", root), object)
    perform(collective, communicator, "bcast", root, nbytes, call)
    collective.leave()


def swap(number: int, peer: int, tag: int, sent: int, received: int, call: str) -> None:
    """Send `sent` bytes to a rank of a communicator and receive `received` bytes from it."""
    engine = current()
    requests = engine.isend(number, peer, tag, Load(sent)), engine.irecv(number, peer, tag, Load(received))
    engine.wait_all(requests, call)


def exchange(communicator: Communicator, rank: int, sent: int, received: int, call: str) -> None:
    """Exchange bytes between the sides of an intercommunicator: rank 0 of each side swaps and broadcasts them."""
    if rank == 0:
        swap(communicator.internal_context(), 0, 0, sent, received, call)
    announce(communicator.local(), rank, 0, received, call)


class _Choices:
    """Colors and keys of one side's ranks."""

    __slots__ = ("colors", "keys")

    def __init__(self, n: int) -> None:
        self.colors: list[Color] = [UNDEFINED] * n
        self.keys = [0] * n

    def groups(self) -> dict[Color, list[int]]:
        """Ranks of each color by key, then rank; colors in the order of their first rank."""
        members: dict[Color, list[int]] = {}
        for rank, color in enumerate(self.colors):
            if color != UNDEFINED:
                members.setdefault(color, []).append(rank)
        return {color: sorted(ranks, key=self.keys.__getitem__) for color, ranks in members.items()}


class _Splitting:
    """Choices of all ranks of each side, and then the new communicator of each rank."""

    __slots__ = ("is_paired", "new", "sides")

    def __init__(self, communicator: Communicator) -> None:
        sizes = [len(group) for group in communicator.groups()] if communicator.is_inter else [communicator.size]
        self.sides = [_Choices(size) for size in sizes]
        self.new: list[dict[int, Communicator]] = [{} for _ in sizes]
        self.is_paired = False

    def choose(self, side: int, rank: int, color: Color, key: int) -> None:
        self.sides[side].colors[rank], self.sides[side].keys[rank] = color, key


def split(communicator: Communicator, rank: int, color: Color, key: int) -> Communicator | None:
    """The communicator of the ranks with the same color; None for ``UNDEFINED``."""
    collective = enter(communicator, rank, Signature("Split"), _Splitting, communicator)
    splitting: _Splitting = collective.payload
    splitting.choose(0, rank, color, key)
    perform(collective, communicator, SPLIT, 0, _SPLIT_BYTES, "Split")
    if rank == 0:
        _tell_groups(communicator, splitting, collective)
    elif color != UNDEFINED:
        current().recv(communicator.internal_context(), 0, _tag(collective), Load(_SPLIT_BYTES), "Split")
    new = splitting.new[0].get(rank)
    collective.leave()
    return new


def _tell_groups(communicator: Communicator, splitting: _Splitting, collective: OpenCollective) -> None:
    """Make the communicators and send them to their members, one group after the other, as rank 0."""
    engine, world_ranks = current(), communicator.world_ranks()
    for ranks in splitting.sides[0].groups().values():
        new = world().new_communicator([world_ranks[r] for r in ranks])
        splitting.new[0].update(dict.fromkeys(ranks, new))
        sent = [
            engine.isend(communicator.internal_context(), r, _tag(collective), Load(_SPLIT_BYTES))
            for r in ranks
            if r != 0
        ]
        engine.wait_all(sent, "Split")


def split_both(communicator: Communicator, rank: int, color: Color, key: int) -> Communicator | None:
    """The intercommunicator of the ranks with the same color; None if the color occurs on one side only."""
    collective = enter(communicator, rank, Signature("Split"), _Splitting, communicator)
    splitting: _Splitting = collective.payload
    splitting.choose(communicator.side, rank, color, key)
    local = communicator.local()
    gather = enter(local, rank, Signature("Split's gather"), object)
    perform(gather, local, SPLIT, 0, _SPLIT_BYTES, "Split")
    gather.leave()
    exchange(communicator, rank, _SPLIT_BYTES * local.size, _SPLIT_BYTES * communicator.remote.size, "Split")
    if not splitting.is_paired:
        _pair_groups(communicator, splitting)
    new = splitting.new[communicator.side].get(rank)
    collective.leave()
    return new


def _pair_groups(communicator: Communicator, splitting: _Splitting) -> None:
    splitting.is_paired = True
    world_ranks = communicator.groups()
    first, second = (side.groups() for side in splitting.sides)
    for color in [color for color in first if color in second]:
        chosen = first[color], second[color]
        pair = world().new_intercommunicator(
            *([ranks_of_side[rank] for rank in ranks] for ranks_of_side, ranks in zip(world_ranks, chosen, strict=True))
        )
        for new, of_side, ranks in zip(pair, splitting.new, chosen, strict=True):
            of_side.update(dict.fromkeys(ranks, new))


def _tag(collective: OpenCollective) -> int:
    return collective.place % (1 << 30)
