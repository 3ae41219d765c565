"""The memory behind a window: a piece of each of its ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from smpy.engine.pointers import bytes_at, pointer_at
from smpy.engine.running import current
from smpy.mpi.comms.collective_handles import Membership
from smpy.mpi.data.buffers import NOTHING, LentMemory
from smpy.mpi.data.memory_type import buffer
from smpy.mpi.rma.epochs import Epochs
from smpy.mpi.state.info import Info
from smpy.mpi.state.world import Communicator, world

__all__ = ["ExposedMemory", "Window", "WindowPart", "are_on_one_host", "no_memory"]

_FREE_MAX: Final = 1000
"""Waits of a rank at one date that take no time: then it seems to wait for others, in a loop."""


class ExposedMemory:
    """Memory that one rank opens to the others.

    Parameters
    ----------
    nbytes, disp_unit : int
        Length, and bytes between two displacements.
    memory : buffer or None
        The memory; None before `Window.lay_out` gives it a part of the stretch shared by all ranks.
    folded : LentMemory, optional
        The memory, when it is folded: then there is no other.

    Attributes
    ----------
    address : int
        Address of the memory once it has been lent for an access; 0 before, and of folded memory and none.
    """

    __slots__ = ("_attached", "_lent", "address", "disp_unit", "memory", "nbytes")

    def __init__(self, nbytes: int, disp_unit: int, memory: buffer | None, folded: LentMemory | None = None) -> None:
        self.nbytes = nbytes
        self.disp_unit = disp_unit
        self.memory = memory
        self.address = 0
        self._lent = folded
        self._attached: dict[int, buffer] | None = None

    @property
    def attached(self) -> dict[int, buffer]:
        """Memory attached to a dynamic window, by address."""
        if self._attached is None:
            self._attached = {}
        return self._attached

    def lent_memory(self) -> LentMemory:
        """The memory, for accesses."""
        if self._lent is None:
            if self.memory is None or not self.nbytes:
                return NOTHING
            # no view of another view: Python before 3.12.7 may crash when it collects both (python/cpython#77894)
            self.address = self.memory.address
            lent = bytes_at(pointer_at(self.address), self.nbytes)
            self._lent = LentMemory(lent, memoryview(lent), "B", owner=self.memory)
        return self._lent

    def holds(self, first: int, last: int) -> bool:
        """Whether all bytes between two addresses are attached."""
        return any(address <= first and last <= address + one.nbytes for address, one in self.attached.items())

    def view(self) -> memoryview:
        """The view of the memory that its handles share."""
        return self.memory._view if self.memory else memoryview(b"")

    def lent(self) -> buffer:
        """The memory, in a new object."""
        return no_memory() if not self.memory else self.memory[:]


class Window:
    """A window as its ranks share it.

    Parameters
    ----------
    communicator : Communicator
        The ranks that make it; it has a further one of the same ranks, which lives as long as it does.
    flavor : int
        Kind of its creation: one of the ``WIN_FLAVOR_`` constants.

    Attributes
    ----------
    pieces : dict of int to ExposedMemory
        Memory that each rank opens; complete when all have come.
    puts : dict of int to dict of callable to None
        Functions that write what a `Put` to a rank has not yet brought there, in the order of the calls.
    """

    __slots__ = ("communicator", "flavor", "pieces", "puts")

    def __init__(self, communicator: Communicator, flavor: int) -> None:
        self.communicator = world().new_like(communicator)
        self.communicator.name = "a window"
        self.flavor = flavor
        self.pieces: dict[int, ExposedMemory] = {}
        self.puts: dict[int, dict[Callable[[], None], None]] = {}

    def write_puts(self, rank: int) -> None:
        """Write what is under way to a rank: who locks it sees what others have put there before."""
        for write in list(self.puts.get(rank, ())):
            write()

    def lay_out(self) -> None:
        """Put the pieces, in rank order, into one stretch of memory; the first rank to know all lengths does so."""
        pieces = [self.pieces[rank] for rank in range(self.communicator.size)]
        if pieces[0].memory is not None:
            return
        stretch, first = buffer.allocate(sum(piece.nbytes for piece in pieces)), 0
        for piece in pieces:
            piece.memory = stretch[first : first + piece.nbytes]
            first += piece.nbytes


class WindowPart(Membership):
    """One rank's membership in a window.

    Parameters
    ----------
    window : Window
        The window.
    rank, info
        See `Membership`.

    Attributes
    ----------
    piece : ExposedMemory
        Memory that the rank opens.
    epochs : Epochs
        Its epochs on the window.
    checked : object or None
        State of the rank in the checks of a run; None: they do not know of it.
    """

    __slots__ = ("checked", "epochs", "piece", "window")

    def __init__(self, window: Window, rank: int, info: Info | None) -> None:
        super().__init__(window.communicator, rank, info)
        self.window = window
        self.piece = window.pieces[rank]
        self.epochs = Epochs()
        self.checked: object = None

    def append_flush(self, rank: int) -> None:
        """Append the completion of what is under way with a rank, at both ends."""
        current().flush(self.communicator.number, self.rank, rank)

    def catch_up(self, call: str) -> None:
        """Wait for what was appended. One of very many waits at one date takes the time of a poll, too."""
        current().block(call)
        self._count_wait(call)

    def _count_wait(self, call: str) -> None:
        engine = current()
        if self.epochs.count_at(engine.now_s) > _FREE_MAX:
            engine.poll()
            engine.block(call)
            self.epochs.note_poll(engine.now_s)


def no_memory() -> buffer:
    """Memory of no length, nowhere."""
    return buffer.fromaddress(0, 0)


def are_on_one_host(communicator: Communicator, ranks: Iterable[int]) -> bool:
    """Whether these ranks can share memory."""
    world_ranks, engine = communicator.world_ranks(), current()
    hosts = (engine.host_name(world_ranks[rank]) for rank in ranks)
    first = next(hosts)
    return all(host == first for host in hosts)
