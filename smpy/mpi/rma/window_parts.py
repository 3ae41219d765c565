"""The memory behind a window: a piece of each of its ranks."""

from __future__ import annotations

from collections.abc import Iterable

from smpy.engine.running import current
from smpy.mpi.comms.collective_handles import Membership
from smpy.mpi.data.memory_type import buffer
from smpy.mpi.state.info import Info
from smpy.mpi.state.world import Communicator, world

__all__ = ["ExposedMemory", "Window", "WindowPart", "are_on_one_host", "no_memory"]


class ExposedMemory:
    """Memory that one rank opens to the others.

    Parameters
    ----------
    nbytes, disp_unit : int
        Length, and bytes between two displacements.
    memory : buffer or None
        The memory; None before `Window.lay_out` gives it a part of the stretch shared by all ranks.
    """

    __slots__ = ("disp_unit", "memory", "nbytes")

    def __init__(self, nbytes: int, disp_unit: int, memory: buffer | None) -> None:
        self.nbytes = nbytes
        self.disp_unit = disp_unit
        self.memory = memory

    def lent(self) -> buffer:
        """The memory, in a new object."""
        return no_memory() if self.memory is None or not self.nbytes else self.memory[:]


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
    """

    __slots__ = ("communicator", "flavor", "pieces")

    def __init__(self, communicator: Communicator, flavor: int) -> None:
        self.communicator = world().new_like(communicator)
        self.communicator.name = "a window"
        self.flavor = flavor
        self.pieces: dict[int, ExposedMemory] = {}

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
    attached : dict of int to buffer
        Memory attached to a dynamic window, by address.
    """

    __slots__ = ("attached", "piece", "window")

    def __init__(self, window: Window, rank: int, info: Info | None) -> None:
        super().__init__(window.communicator, rank, info)
        self.window = window
        self.piece = window.pieces[rank]
        self.attached: dict[int, buffer] = {}


def no_memory() -> buffer:
    """Memory of no length, nowhere."""
    return buffer.fromaddress(0, 0)


def are_on_one_host(communicator: Communicator, ranks: Iterable[int]) -> bool:
    """Whether these ranks can share memory."""
    world_ranks, engine = communicator.world_ranks(), current()
    hosts = (engine.host_name(world_ranks[rank]) for rank in ranks)
    first = next(hosts)
    return all(host == first for host in hosts)
