"""What the surface knows of one run: its communicators, shared by all their ranks, and which ranks have finalized.

Handles hold a number; what the number stands for is here, once, whoever asks.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from smpy.engine.running import current
from smpy.mpi.exceptions import fail

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.mpi.gathering import OpenCollective

__all__ = ["Communicator", "World", "world"]


class Communicator:
    """A communicator as all its ranks share it.

    Parameters
    ----------
    number : int
        The kernel's number.
    name : str
        What it is called until a rank calls it something else.

    Attributes
    ----------
    size : int
        Number of ranks.
    entered : array of int
        How many collectives each rank has entered; made with the first one.
    open : dict of int to OpenCollective
        Collectives that some ranks have entered and not all have left, by their place in the order of collectives.
    names : dict of int to str
        What ranks have called it.
    n_freed : int
        How many ranks have freed it.
    """

    __slots__ = (
        *("_duplicate", "_shadow", "_users", "_world_ranks"),
        *("entered", "n_freed", "name", "names", "number", "open", "size"),
    )

    def __init__(self, number: int, name: str = "") -> None:
        self.number = number
        self.size = current().comm_size(number)
        self.name = name
        self.names: dict[int, str] = {}
        self.entered: array[int] | None = None
        self.open: dict[int, OpenCollective] = {}
        self.n_freed = 0
        self._shadow = -1
        self._duplicate: Communicator | None = None
        self._users: bytearray | None = None
        self._world_ranks: tuple[int, ...] | None = None

    def world_ranks(self) -> tuple[int, ...]:
        """World rank of each rank; the same object for all who ask."""
        if self._world_ranks is None:
            self._world_ranks = tuple(current().world_ranks(self.number))
        return self._world_ranks

    def shadow(self) -> int:
        """A second number with the same ranks, for messages that no receive of the program may catch."""
        if self._shadow < 0:
            self._shadow = current().comm_new(self.world_ranks())
        return self._shadow

    def numbers(self) -> list[int]:
        """All the kernel's numbers that it has come to need."""
        numbers = [self.number] if self._shadow < 0 else [self.number, self._shadow]
        return numbers if self._duplicate is None else numbers + self._duplicate.numbers()

    def duplicate(self) -> Communicator:
        """The communicator that reductions of objects use, as mpi4py keeps one; the same for all ranks."""
        if self._duplicate is None:
            self._duplicate = world().new_communicator(self.world_ranks())
        return self._duplicate

    def is_first_use(self, rank: int) -> bool:
        """Whether `rank` asks for the first time: then it still has to pay for the duplicate."""
        if self._users is None:
            self._users = bytearray(self.size)
        is_first = not self._users[rank]
        self._users[rank] = 1
        return is_first


class World:
    """What the surface keeps for one engine.

    Attributes
    ----------
    initialized, finalized : set of int
        World ranks that have called Init, or Finalize.
    """

    def __init__(self) -> None:
        self.initialized: set[int] = set()
        self.finalized: set[int] = set()
        self._communicators: dict[int, Communicator] = {0: Communicator(0, "MPI_COMM_WORLD")}

    def communicator(self, number: int) -> Communicator:
        """What a kernel number stands for."""
        known = self._communicators.get(number)
        if known is None:
            if number > current().n_ranks:
                fail("ERR_COMM", "all ranks have freed the communicator")
            known = self._communicators[number] = Communicator(number, "MPI_COMM_SELF")
        return known

    def new_communicator(self, world_ranks: Sequence[int]) -> Communicator:
        """A new communicator of these world ranks."""
        new = Communicator(current().comm_new(world_ranks))
        self._communicators[new.number] = new
        return new

    def forget(self, communicator: Communicator) -> None:
        """All its ranks have freed it."""
        self._communicators.pop(communicator.number, None)
        for number in communicator.numbers():
            current().comm_free(number)


_worlds: WeakKeyDictionary[Engine, World] = WeakKeyDictionary()
_last: tuple[ref[Engine], World] | None = None


def world() -> World:
    """What the surface keeps for the world that runs."""
    global _last
    engine = current()
    if _last is None or _last[0]() is not engine:
        if engine not in _worlds:
            _worlds[engine] = World()
        _last = ref(engine), _worlds[engine]
    return _last[1]
