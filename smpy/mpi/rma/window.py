"""`Win`: memory of each rank that other ranks can access.

A window costs as much as in SMPI. To make one, each rank sends 8 bytes to all others. Shared memory takes a broadcast
of 8 bytes and a barrier before that. Freeing takes two barriers, with the completion of accesses between them.
"""

from __future__ import annotations

from typing import Any, Final, Self

from smpy.engine.folded_memory import private_ranges
from smpy.engine.running import current, mpi_call
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.comms.collective_handles import wait_for_all
from smpy.mpi.comms.comm import COMM_SELF, Intracomm
from smpy.mpi.comms.creation_messages import announce
from smpy.mpi.data.buffers import LentMemory, is_bottom, memory_of
from smpy.mpi.data.exporter import Exporter
from smpy.mpi.data.memory_type import buffer
from smpy.mpi.rma.accesses import PutsAndGets
from smpy.mpi.rma.accumulates import Accumulates
from smpy.mpi.rma.synchronisation import Synchronisation
from smpy.mpi.rma.window_identity import WindowIdentity
from smpy.mpi.rma.window_parts import Window, WindowPart, are_on_one_host, no_memory
from smpy.mpi.state import constants
from smpy.mpi.state.attributes import delete_attributes
from smpy.mpi.state.comm_core import member_of
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import of_family
from smpy.mpi.state.info import INFO_NULL, Info

__all__ = ["WIN_NULL", "Win"]

_ADDRESS_BYTES: Final = 8


class Win(Exporter, PutsAndGets, Accumulates, Synchronisation, WindowIdentity):
    """A window: memory that each rank opens to the others. As a buffer, it is the memory of the running rank.

    Parameters
    ----------
    win : Win, optional
        Window to make another handle of; without it, the handle is null.
    """

    __slots__ = ("__weakref__", "_membership")

    def __new__(cls, win: Win | None = None) -> Self:
        return cls._of(None if win is None else of_family(win, Win)._membership)

    @classmethod
    def _of(cls, part: WindowPart | None) -> Self:
        return cls._on(part)

    @property
    def _view(self) -> memoryview:  # type: ignore[override]  # the window's, in place of one for each handle
        part: WindowPart | None = self._membership
        return memoryview(b"") if part is None or part.is_over else part.piece.view()

    # ---- creation ----

    @classmethod
    @mpi_call
    def Create(cls, memory: Any, disp_unit: int = 1, info: Info = INFO_NULL, comm: Intracomm = COMM_SELF) -> Self:
        """Make a window on memory of the program.

        Parameters
        ----------
        memory : buffer-like or None
            Memory that the running rank opens; None and ``BOTTOM``: nothing. Folded arrays keep no content.
        disp_unit : int
            Bytes between two displacements.
        info : Info
            Hints of the window.
        comm : Intracomm
            Ranks that make the window.
        """
        if getattr(memory, "__smpy_folded__", False):
            folded = memory_of(memory, is_written=True)
            folded.check_place()
            flavor, nbytes = constants.WIN_FLAVOR_CREATE, folded.nbytes
            return cls._new_window("Create", comm, flavor, info, nbytes, disp_unit, no_memory(), folded)
        lent = no_memory() if is_bottom(memory) else _lent(memory)
        return cls._new_window("Create", comm, constants.WIN_FLAVOR_CREATE, info, len(lent), disp_unit, lent)

    @classmethod
    @mpi_call
    def Allocate(cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Intracomm = COMM_SELF) -> Self:
        """Make a window on new memory.

        Parameters
        ----------
        size : int
            Bytes that the running rank opens.
        disp_unit, info, comm
            See `Create`.
        """
        return cls._new_window("Allocate", comm, constants.WIN_FLAVOR_ALLOCATE, info, size, disp_unit)

    @classmethod
    @mpi_call
    def Allocate_shared(
        cls, size: int, disp_unit: int = 1, info: Info = INFO_NULL, comm: Intracomm = COMM_SELF
    ) -> Self:
        """Make a window on new memory that all its ranks can read and write: one block, in rank order.

        Parameters
        ----------
        size : int
            Bytes of the running rank's part.
        disp_unit, info, comm
            See `Create`.

        Raises
        ------
        Exception
            If the ranks are on several hosts: ``ERR_RMA_SHARED``.
        """
        call = "Win.Allocate_shared"
        communicator, rank = member_of(of_family(comm, Intracomm), call)
        if not are_on_one_host(communicator, range(communicator.size)):
            fail("ERR_RMA_SHARED", f"{call}: the ranks are on several hosts: use comm.Split_type(COMM_TYPE_SHARED)")
        announce(communicator, rank, 0, _ADDRESS_BYTES, call)
        wait_for_all(communicator, rank, call)
        return cls._new_window("Allocate_shared", comm, constants.WIN_FLAVOR_SHARED, info, size, disp_unit)

    @classmethod
    @mpi_call
    def Create_dynamic(cls, info: Info = INFO_NULL, comm: Intracomm = COMM_SELF) -> Self:
        """Make a window without memory; `Attach` adds some.

        Parameters
        ----------
        info, comm
            See `Create`.
        """
        return cls._new_window("Create_dynamic", comm, constants.WIN_FLAVOR_DYNAMIC, info, 0, 1)

    @classmethod
    def _new_window(
        cls,
        call: str,
        comm: Intracomm,
        flavor: int,
        info: Info,
        nbytes: int,
        disp_unit: int,
        memory: buffer | None = None,
        folded: LentMemory | None = None,
    ) -> Self:
        call = f"Win.{call}"
        if nbytes < 0:
            fail("ERR_SIZE", f"{call}({nbytes}): a size is not negative")
        if disp_unit <= 0:
            fail("ERR_DISP", f"{call}(disp_unit={disp_unit}): a unit is at least one byte")
        communicator, rank = member_of(of_family(comm, Intracomm), call)
        collective = enter(communicator, rank, Signature(call), Window, communicator, flavor)
        window: Window = collective.payload
        window.open(rank, nbytes, disp_unit, memory, folded)
        perform(collective, communicator, "allgather", 0, _ADDRESS_BYTES, call)
        collective.leave()
        if flavor == constants.WIN_FLAVOR_SHARED:
            window.lay_out()
        return cls._of(WindowPart(window, rank, info))

    @mpi_call
    def Free(self) -> None:
        """Free the window, together with the other ranks; the handle becomes null."""
        part: WindowPart = self._member("Free")
        part.epochs.check_ended("Win.Free")
        delete_attributes(self, part.attributes, "Win.Free")
        wait_for_all(part.communicator, part.rank, "Win.Free")
        current().complete(part.communicator.number, part.rank)
        part.end(1, "Win.Free")
        part.window.pieces.pop(part.rank, None)  # other ranks may still be freeing theirs
        self._become_null()

    # ---- its memory ----

    def tomemory(self) -> buffer:
        """The memory that the running rank opens."""
        part: WindowPart = self._member("tomemory")
        return part.piece.lent()

    @mpi_call
    def Shared_query(self, rank: int) -> tuple[buffer, int]:
        """Memory of a rank on the same host, to read and write, and its unit of displacements.

        Parameters
        ----------
        rank : int
            Owner of the memory; ``PROC_NULL``: the first rank that has some.

        Returns
        -------
        memory : buffer
            Empty for a rank on another host.
        disp_unit : int
            Bytes between two displacements.
        """
        part: WindowPart = self._member("Shared_query")
        window = part.window
        if window.flavor == constants.WIN_FLAVOR_DYNAMIC:
            fail("ERR_RMA_FLAVOR", "Win.Shared_query: memory attached to a dynamic window is not shared")
        if rank == PROC_NULL:
            rank = next((other for other in range(part.communicator.size) if window.nbytes[other]), part.rank)
        if not 0 <= rank < part.communicator.size:
            fail("ERR_RANK", f"Win.Shared_query({rank}): the window has ranks 0 to {part.communicator.size - 1}")
        target = window.piece(rank)
        is_near = are_on_one_host(part.communicator, (part.rank, rank))
        return target.lent() if is_near else no_memory(), target.disp_unit

    @mpi_call
    def Attach(self, memory: Any) -> None:
        """Open memory in a window made by `Create_dynamic`.

        Parameters
        ----------
        memory : buffer-like
            The memory, which must stay in place until it is detached.
        """
        attached, lent = self._dynamic("Attach"), _lent(memory)
        if lent.address in attached:
            fail("ERR_RMA_ATTACH", "Win.Attach: this memory is attached already: Detach() it first")
        attached[lent.address] = lent

    @mpi_call
    def Detach(self, memory: Any) -> None:
        """Close memory that was attached.

        Parameters
        ----------
        memory : buffer-like
            Memory passed to `Attach` before.
        """
        attached = self._dynamic("Detach")
        if attached.pop(buffer(memory).address, None) is None:
            fail("ERR_RMA_ATTACH", "Win.Detach: this memory is not attached")

    def _dynamic(self, call: str) -> dict[int, buffer]:
        part: WindowPart = self._member(call)
        if part.window.flavor != constants.WIN_FLAVOR_DYNAMIC:
            fail("ERR_RMA_FLAVOR", f"Win.{call}: the window has its memory already: use Create_dynamic")
        return part.piece.attached


def _lent(memory: Any) -> buffer:
    """Writable view of memory of the program.

    It is never a view of another object's view: Python before 3.12.7 may crash when it collects the two in a
    reference cycle (python/cpython#77894).
    """
    if getattr(memory, "__smpy_folded__", False):
        fail("ERR_BASE", "Win.Attach: a folded array has no address: use Win.Create")
    lent = memory[:] if isinstance(memory, buffer) and not memory.readonly else buffer.frombuffer(memory)
    if private_ranges(lent.address, lent.nbytes) is not None:
        fail("ERR_BASE", "Win: an array that shares its memory has none for others to see: make the window on another")
    return lent


WIN_NULL: Final = Win()
Win._know({"WIN_NULL": WIN_NULL})
