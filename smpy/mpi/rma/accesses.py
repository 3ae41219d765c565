"""Put and Get: accesses that write to another rank's part of a window, or read it.

A `Put` copies its bytes at the call. They are written when their message arrives, or earlier if another rank locks
the target: SMPI grants a lock as soon as it is free. A `Get` reads at the date of the call. An access to the rank's
own part is a copy that takes no time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smpy.engine.messages import Load, PartialBytes, copied
from smpy.engine.running import current, mpi_call
from smpy.mpi.comms.collective_handles import CollectiveHandle
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.message_specifications import to_fill, to_send
from smpy.mpi.requests.request import Request, from_nobody, new_request, to_nobody
from smpy.mpi.rma.targets import check_fits, rank_of, target_of
from smpy.mpi.rma.window_parts import WindowPart
from smpy.mpi.state.constants import PROC_NULL
from smpy.mpi.state.surface_bases import WindowBase, compiled_when_available

__all__ = ["PutsAndGets"]


@compiled_when_available("Put", "Get", "Rput", "Rget")
class PutsAndGets(CollectiveHandle, WindowBase):
    """Put and Get, and their forms with a request."""

    __slots__ = ()

    @mpi_call
    def Put(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Write to a rank's part of the window.

        Parameters
        ----------
        origin : buffer-like or sequence
            Message specification of the entries to write.
        target_rank : int
            The rank; ``PROC_NULL``: nothing happens.
        target : int or sequence, optional
            Displacement, or [displacement, count, datatype]; without it 0, and as many entries as in `origin`.

        Raises
        ------
        Exception
            ``ERR_RMA_SYNC``: outside an epoch; ``ERR_RANK``, ``ERR_RMA_RANGE``: outside the window; ``ERR_TRUNCATE``:
            more bytes than the target has.
        """
        _put(self._member("Put"), origin, target_rank, target, "Win.Put", has_request=False)

    @mpi_call
    def Get(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Read from a rank's part of the window.

        Parameters
        ----------
        origin : buffer-like or sequence
            Message specification of the room for the entries, which is filled after the next synchronisation.
        target_rank, target
            See `Put`.
        """
        _get(self._member("Get"), origin, target_rank, target, "Win.Get", has_request=False)

    @mpi_call
    def Rput(self, origin: Any, target_rank: int, target: Any = None) -> Request:
        """Write to a rank's part of the window; the request is complete when `origin` may change, which is at once.

        Parameters
        ----------
        origin, target_rank, target
            See `Put`.
        """
        _put(self._member("Rput"), origin, target_rank, target, "Win.Rput", has_request=True)
        return to_nobody()

    @mpi_call
    def Rget(self, origin: Any, target_rank: int, target: Any = None) -> Request:
        """Read from a rank's part of the window; the request completes when the entries have arrived.

        Parameters
        ----------
        origin, target_rank, target
            See `Get`.
        """
        number = _get(self._member("Rget"), origin, target_rank, target, "Win.Rget", has_request=True)
        return new_request(number) if number else from_nobody()


def _put(part: WindowPart, origin: Any, rank: Any, target: Any, call: str, *, has_request: bool) -> None:
    rank = rank_of(part, rank, call)
    if rank == PROC_NULL:
        return
    source = to_send(origin, call)
    part.epochs.check_access(rank, call)
    room = target_of(part, rank, target, source, call)
    check_fits(call, rank, origin=source, target=room)
    if rank == part.rank:
        current().reach_date(call)
        room.copy_from(source)
        return
    part.epochs.note_access(rank)
    take = _PutUnderWay(part.window.puts.setdefault(rank, {}), room, copied(source.carried()))
    current().put(part.communicator.number, rank, Load(source.nbytes, take=take), has_request=has_request)


class _PutUnderWay:
    """Bytes of a put: a call writes them, once. `under_way` holds it until then; no reference leads back afterwards."""

    __slots__ = ("_data", "_room", "_under_way")

    def __init__(
        self, under_way: dict[Callable[[], None], None], room: BufferSegment, data: bytes | PartialBytes | None
    ) -> None:
        self._under_way = under_way
        self._room = room
        self._data = data
        under_way[self] = None

    def __call__(self, nothing: object = None) -> None:
        if self in self._under_way:
            del self._under_way[self]
            self._room.put(self._data)


def _get(part: WindowPart, origin: Any, rank: Any, target: Any, call: str, *, has_request: bool) -> int:
    """Read at the current date, and return the number of the request, or 0."""
    rank = rank_of(part, rank, call)
    if rank == PROC_NULL:
        return 0
    room = to_fill(origin, call)
    part.epochs.check_access(rank, call)
    source = target_of(part, rank, target, room, call)
    check_fits(call, rank, target=source, origin=room)
    if rank == part.rank:
        part.catch_up(call)
    else:
        current().reach_date(call)
    room.copy_from(source)
    if rank == part.rank:
        return 0
    window = part.communicator.number
    if has_request:
        return current().rget(window, rank, source.nbytes)
    part.epochs.note_access(rank)
    current().get(window, rank, source.nbytes)
    return 0
