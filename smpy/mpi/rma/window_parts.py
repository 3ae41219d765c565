"""Memory behind a window: one piece per rank."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Final

from smpy.engine.pointers import bytes_at, pointer_at
from smpy.engine.running import current
from smpy.mpi.comms.collective_handles import Membership
from smpy.mpi.data.buffers import NOTHING, LentMemory
from smpy.mpi.data.memory_type import buffer
from smpy.mpi.rma.epochs import Epochs
from smpy.mpi.state.constants import WIN_FLAVOR_SHARED
from smpy.mpi.state.info import Info
from smpy.mpi.state.world import Communicator, world

__all__ = ["ExposedMemory", "Window", "WindowPart", "are_on_one_host", "no_memory"]

_SMALL_BYTES: Final = 4096
"""Length up to which new memory is made when it is first asked for: a lack of more shows at once."""
_FREE_MAX: Final = 1000
"""Waits of a rank at one date that take no time; a rank that exceeds them seems to wait for others in a loop."""


class ExposedMemory:
    """Memory that one rank opens to the others.

    Parameters
    ----------
    nbytes, disp_unit : int
        Length, and bytes between two displacements.
    memory : buffer
        The memory.
    folded : LentMemory, optional
        The memory if it is folded; `memory` is then empty.

    Attributes
    ----------
    address : int
        Address of the memory after its first access; 0 before, and for folded or missing memory.
    """

    __slots__ = ("_attached", "_lent", "address", "disp_unit", "memory", "nbytes")

    def __init__(self, nbytes: int, disp_unit: int, memory: buffer, folded: LentMemory | None = None) -> None:
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
        """Memory as accesses use it."""
        if self._lent is None:
            if not self.nbytes:
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
        """View of the memory that all handles of the window share."""
        return self.memory._view

    def lent(self) -> buffer:
        """Memory in a new buffer object."""
        return no_memory() if not self.memory else self.memory[:]


class Window:
    """A window, shared by its ranks; a rank that only synchronises has no objects here.

    Parameters
    ----------
    communicator : Communicator
        The ranks that make the window; it gets a communicator of its own with the same ranks.
    flavor : int
        Call that created it: one of the ``WIN_FLAVOR_`` constants.

    Attributes
    ----------
    nbytes, disp_units : array of int
        Length of each rank's memory, and bytes between two displacements there.
    pieces : dict of int to ExposedMemory
        Memory of ranks that brought their own, or whose memory has been asked for.
    puts : dict of int to dict of callable to None
        By target rank, the functions that write the data of unfinished puts, in the order of the calls.
    """

    __slots__ = ("communicator", "disp_units", "flavor", "nbytes", "pieces", "puts")

    def __init__(self, communicator: Communicator, flavor: int) -> None:
        self.communicator = world().new_like(communicator)
        self.communicator.name = "a window"
        self.flavor = flavor
        self.nbytes, self.disp_units = (array("q", bytes(8 * communicator.size)) for _ in range(2))
        self.pieces: dict[int, ExposedMemory] = {}
        self.puts: dict[int, dict[Callable[[], None], None]] = {}

    def open(
        self, rank: int, nbytes: int, disp_unit: int, memory: buffer | None = None, folded: LentMemory | None = None
    ) -> None:
        """Open memory of a rank to the others: its own, or (None) new memory; see `ExposedMemory`."""
        self.nbytes[rank], self.disp_units[rank] = nbytes, disp_unit
        if memory is not None:
            self.pieces[rank] = ExposedMemory(nbytes, disp_unit, memory, folded)
        elif self.flavor != WIN_FLAVOR_SHARED and nbytes > _SMALL_BYTES:
            self.piece(rank)

    def piece(self, rank: int) -> ExposedMemory:
        """Memory that a rank opens, known once all ranks have entered the creating call."""
        piece = self.pieces.get(rank)
        if piece is None:
            nbytes = self.nbytes[rank]
            memory = buffer.allocate(nbytes) if nbytes else no_memory()
            piece = self.pieces[rank] = ExposedMemory(nbytes, self.disp_units[rank], memory)
        return piece

    def write_puts(self, rank: int) -> None:
        """Write the data of unfinished puts to a rank: the rank that locks it sees earlier puts of others."""
        for write in list(self.puts.get(rank, ())):
            write()

    def lay_out(self) -> None:
        """Place the pieces, in rank order, in one block of memory; the first rank that knows all lengths does so."""
        if self.pieces:
            return
        stretch, first = buffer.allocate(sum(self.nbytes)), 0
        for rank, (nbytes, disp_unit) in enumerate(zip(self.nbytes, self.disp_units, strict=True)):
            self.pieces[rank] = ExposedMemory(nbytes, disp_unit, stretch[first : first + nbytes])
            first += nbytes


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
    epochs : Epochs
        The rank's epochs on the window.
    checked : object or None
        State of the rank in the checks of a run; None: no check has seen the rank.
    """

    __slots__ = ("checked", "epochs", "window")

    def __init__(self, window: Window, rank: int, info: Info | None) -> None:
        super().__init__(window.communicator, rank, info)
        self.window = window
        self.epochs = Epochs()
        self.checked: object = None

    @property
    def piece(self) -> ExposedMemory:
        """Memory that the rank opens."""
        return self.window.piece(self.rank)

    def append_flush(self, rank: int) -> None:
        """Append the completion, at both ends, of accesses to a rank."""
        current().flush(self.communicator.number, self.rank, rank)

    def catch_up(self, call: str) -> None:
        """Wait for the appended actions; after very many waits at one date, also take the time of a poll."""
        current().block(call)
        self._count_wait(call)

    def _count_wait(self, call: str) -> None:
        engine = current()
        if self.epochs.count_at(engine.now_s) > _FREE_MAX:
            engine.poll()
            engine.block(call)
            self.epochs.note_poll(engine.now_s)


def no_memory() -> buffer:
    """Buffer of length 0 at address 0."""
    return buffer.fromaddress(0, 0)


def are_on_one_host(communicator: Communicator, ranks: Iterable[int]) -> bool:
    """Whether these ranks are on one host and can share memory."""
    world_ranks, engine = communicator.world_ranks(), current()
    hosts = (engine.host_name(world_ranks[rank]) for rank in ranks)
    first = next(hosts)
    return all(host == first for host in hosts)
