"""One rank's part in an open file: its view, its pointer and its accesses.

Bytes move at the date of the call, in the order of simulated time, whether the call waits or not. In a collective
call the ranks first exchange the ranges that they want, as in SMPI: two allgathers of 8 bytes. If the ranges do not
follow one another, each rank accesses one part of the whole range, and the ranks exchange the bytes they wanted
(`two_phase`). A rank with wrong arguments takes part in these messages and fails afterwards, so that the others do
not wait for it. The simulated time of an access begins when its bytes have moved (`access_times`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final, TypeVar

from smpy.engine.messages import ANY, NO_MESSAGE, Envelope
from smpy.engine.running import current
from smpy.mpi.collectives.open_collective import Signature, enter
from smpy.mpi.collectives.run import perform
from smpy.mpi.comms.collective_handles import Membership
from smpy.mpi.comms.creation_messages import announce
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.datatypes import Datatype
from smpy.mpi.data.message_specifications import committed, to_fill, to_send
from smpy.mpi.io.choice_of_times import times_of
from smpy.mpi.io.open_files import OpenFile, fail_as
from smpy.mpi.io.order import Order
from smpy.mpi.io.representations import representation
from smpy.mpi.io.stored_bytes import read, read_at, write, write_at
from smpy.mpi.io.two_phase import Ranges, TwoPhasePart
from smpy.mpi.io.views import View, whole_file
from smpy.mpi.state.constants import (
    DISPLACEMENT_CURRENT,
    MODE_RDONLY,
    MODE_RDWR,
    MODE_SEQUENTIAL,
    MODE_WRONLY,
    SEEK_CUR,
    SEEK_END,
    SEEK_SET,
)
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.info import Info

__all__ = ["Opening"]

T = TypeVar("T")

_OFFSET_BYTES: Final = 8
_SIZE_BYTES: Final = 4


class _Agreement:
    """Arguments of a collective call that must be the same on all ranks."""

    __slots__ = ("_first", "is_kept", "is_over")

    def __init__(self) -> None:
        self._first: Any = None
        self.is_kept = True
        self.is_over = False

    def hear(self, arguments: object) -> None:
        self._first = self._first or arguments
        self.is_kept = self.is_kept and self._first == arguments


class Opening(Membership):
    """One rank's membership in an open file.

    Parameters
    ----------
    file : OpenFile
        The file, which is open.
    rank : int
        The rank in the file's communicator.
    info : Info or None
        Hints of the file.
    filename : str
        The name by which the rank has opened it.

    Attributes
    ----------
    is_atomic : bool
        Whether the program has asked for atomic writes; writes are atomic in any case.
    view : View
        The part of the file that the rank sees.
    pointer : int
        Position of the rank's own pointer, in etypes.
    times : FreeAccesses
        Model of the simulated time of the rank's accesses.
    """

    __slots__ = ("_begun", "file", "is_atomic", "pointer", "times", "view")

    def __init__(self, file: OpenFile, rank: int, info: Info | None, filename: str) -> None:
        super().__init__(file.communicator, rank, info)
        self.file = file
        self.is_atomic = False
        self.view = whole_file()
        self.pointer = file.origin
        self._begun: tuple[str, Envelope] | None = None
        self.times = times_of(self, filename, file.amode)

    # ---- calls that all ranks make together ----

    def agree(self, call: str, take: Callable[[], tuple[object, T]], *, waits: bool = True) -> tuple[T, bool]:
        """Wait for all ranks, and compare their arguments.

        Parameters
        ----------
        call : str
            Name of the method.
        take : callable
            Checks the arguments; returns the arguments to compare between ranks, and a result.
        waits : bool
            Whether to wait for all ranks; otherwise, only earlier ranks are compared.

        Returns
        -------
        result : object
            The result of `take`.
        is_first : bool
            Whether no other rank has returned from this call before.

        Raises
        ------
        Exception
            If the arguments differ: ``ERR_NOT_SAME``.
        """
        collective = enter(self.communicator, self.rank, Signature(f"File.{call}"), _Agreement)
        agreement: _Agreement = collective.payload
        taken = _Taken(take)
        agreement.hear(taken.answer and (taken.answer[0],))
        if waits:
            perform(collective, self.communicator, "barrier", 0, 0, f"File.{call}")
        collective.leave()
        _, result = taken.result()
        if not agreement.is_kept:
            fail("ERR_NOT_SAME", f"File.{call}: all ranks give the same arguments")
        is_first, agreement.is_over = not agreement.is_over, True
        return result, is_first

    def _tell_ranges(self, call: str, segment: BufferSegment | None, offset: int | None) -> Ranges:
        """Send the others the range of the file that this rank wants, and receive theirs."""
        communicator, name = self.communicator, f"File.{call}"
        signature = Signature(f"{name}'s range")
        collective = enter(communicator, self.rank, signature, self.times.ranges, communicator.size)
        ranges: Ranges = collective.payload
        self.times.want(self, ranges, segment, offset)
        for _ in ("first", "last"):
            perform(collective, communicator, "allgather", 0, _OFFSET_BYTES, name)
        collective.leave()
        current().block(name)
        return ranges

    def _exchange(self, call: str, part: TwoPhasePart, ranges: Ranges) -> None:
        """Exchange bytes after a two-phase access: each rank sends the others the bytes they wanted from its part."""
        communicator, rank = self.communicator, self.rank
        name = f"File.{call}"
        sizes = enter(communicator, rank, Signature(f"{name}'s sizes"), object)
        perform(sizes, communicator, "alltoall", 0, _SIZE_BYTES, name)
        sizes.leave()
        tables = [array("q", accumulate(each, initial=0)) for each in (part.sent, ranges.received_by(rank))]
        parts = enter(communicator, rank, Signature(f"{name}'s parts"), object)
        perform(parts, communicator, "alltoallv", 0, 0, name, True, tables)
        parts.leave()
        current().block(name)

    def set_view(self, displacement: int, etype: Datatype, filetype: Datatype, datarep: str) -> None:
        """Change the rank's view, together with the other ranks, and move all pointers to the beginning of the view."""

        def take() -> tuple[object, View]:
            view = self._view(displacement, etype, filetype, datarep)
            return (view.etype_bytes, datarep), view

        current().wait(self.times.before_view(self, displacement), "File.Set_view")
        self.times.end_shared(self)
        self.view, is_first = self.agree("Set_view", take)
        self.pointer = 0
        if is_first:
            self.file.shared_pointer = 0
        self.times.set_view(etype._layout.extent)

    def _view(self, displacement: int, etype: Datatype, filetype: Datatype, datarep: str) -> View:
        if bool(self.file.amode & MODE_SEQUENTIAL) != (displacement == DISPLACEMENT_CURRENT):
            fail("ERR_ARG", f"File.Set_view(disp={displacement}): DISPLACEMENT_CURRENT goes with MODE_SEQUENTIAL")
        if displacement == DISPLACEMENT_CURRENT:
            displacement = self.view.position(self.file.shared_pointer * self.view.etype_bytes)
        if displacement < 0:
            fail("ERR_ARG", f"File.Set_view(disp={displacement}): a displacement is not negative")
        layouts = committed(etype)._layout, committed(filetype)._layout
        view = View(displacement, *layouts, representation(datarep))
        if view.overlaps and not self.file.amode & MODE_RDONLY:
            fail("ERR_IO", "File.Set_view: the filetype overlaps itself, and the file has been opened for writing")
        return view

    # ---- accesses ----

    def access(self, call: str, spec: Any, offset: int | None, *, is_write: bool) -> Envelope:
        """Read or write entries.

        Parameters
        ----------
        call : str
            Name of the method.
        spec : buffer-like or sequence
            Specification of the entries in memory.
        offset : int or None
            Position in etypes; None: the rank's pointer, which moves.
        is_write : bool
            Whether the entries are written.
        """
        envelope, request = self.start(call, spec, offset, is_write=is_write)
        current().wait(request, f"File.{call}")
        return envelope

    def start(self, call: str, spec: Any, offset: int | None, *, is_write: bool) -> tuple[Envelope, int]:
        """Start to read or write entries; return their number and the request of the access; see `access`."""
        segment = self._entries(call, spec, offset, is_write=is_write)
        current().block(f"File.{call}")
        envelope, *moved = self._move(call, segment, offset, is_write=is_write)
        return envelope, self.times.start(self, segment, *moved, is_write=is_write, offset=offset)

    def access_together(self, call: str, spec: Any, offset: int | None, *, is_write: bool) -> Envelope:
        """Read or write entries, together with the other ranks; see `access`."""
        taken = _Taken(self._entries, call, spec, offset, is_write=is_write)
        ranges = self._tell_ranges(call, taken.answer, offset)
        return self._move_together(call, ranges, taken, offset, is_write=is_write)

    def _move_together(
        self, call: str, ranges: Ranges, taken: _Taken, offset: int | None, *, is_write: bool
    ) -> Envelope:
        """Move a rank's entries, and take part in the collective access even if this fails."""
        moved = _Taken(lambda: self._move(call, taken.result(), offset, is_write=is_write))
        envelope, first, n_moved = moved.answer or (NO_MESSAGE, 0, 0)
        segment: BufferSegment | None = taken.answer
        request, part = self.times.start_together(self, ranges, segment, first, n_moved, is_write=is_write)
        current().wait(request, f"File.{call}")
        if part is not None:
            self._exchange(call, part, ranges)
        moved.result()
        return envelope

    def access_shared(self, call: str, spec: Any, *, is_write: bool) -> Envelope:
        """Read or write entries at the shared pointer, and move it; see `access`."""
        envelope, request = self._start_shared(call, spec, is_write=is_write)
        current().wait(request, f"File.{call}")
        self.times.end_shared(self)
        return envelope

    def start_shared(self, call: str, spec: Any, *, is_write: bool) -> tuple[Envelope, int]:
        """Start to read or write entries at the shared pointer, and move it; see `start`."""
        started = self._start_shared(call, spec, is_write=is_write)
        self.times.end_shared(self)
        return started

    def _start_shared(self, call: str, spec: Any, *, is_write: bool) -> tuple[Envelope, int]:
        segment = self._entries(call, spec, 0, is_write=is_write, is_shared=True)
        current().block(f"File.{call}")
        pointer = self.file.shared_pointer
        self.file.shared_pointer += self._n_etypes(segment)
        envelope, *moved = self._move(call, segment, pointer, is_write=is_write)
        return envelope, self.times.start_shared(self, segment, *moved, is_write=is_write)

    def access_in_order(self, call: str, spec: Any, *, is_write: bool) -> Envelope:
        """Read or write entries at the shared pointer, after those of lower ranks; see `access`."""
        communicator, rank = self.communicator, self.rank
        taken = _Taken(self._entries, call, spec, 0, is_write=is_write, is_shared=True)
        collective = enter(communicator, rank, Signature(f"File.{call}"), Order, communicator.size)
        order: Order = collective.payload
        if taken.answer is not None:
            order.n_etypes[rank] = self._n_etypes(taken.answer)
            order.n_bytes[rank] = taken.answer.nbytes
        if self.times.are_timed and rank == 0:
            current().block(f"File.{call}")
            order.told_pointer = self.times.pointer_to_tell(self)
        perform(collective, communicator, "scan", 0, _OFFSET_BYTES, f"File.{call}", item_bytes=_OFFSET_BYTES)
        if self.times.are_timed:
            current().block(f"File.{call}")
        offset = self.times.ordered_offset(rank, order)
        ranges = self._tell_ranges(call, taken.answer, offset)
        places = order.places(self.file.shared_pointer)
        try:
            return self._move_together(call, ranges, taken, places[rank], is_write=is_write)
        finally:
            last = communicator.size - 1
            if rank == last:
                self.file.shared_pointer = places[-1]
                self.times.end_in_order(self)
            announce(communicator, rank, last, 1, f"File.{call}")
            collective.leave()

    def begin(self, name: str, access: Callable[[str], Envelope]) -> None:
        """Begin a split collective, which `finish` of the same name completes."""
        call = f"{name}_begin"
        if self._begun is not None:
            fail("ERR_IO", f"File.{call}: {self._begun[0]}_begin has not been ended: a file has one at a time")
        self._begun = name, access(call)

    def finish(self, name: str) -> Envelope:
        """Result of the split collective that was begun."""
        if self._begun is None or self._begun[0] != name:
            begun = "none has been begun" if self._begun is None else f"{self._begun[0]}_begin was called"
            fail("ERR_IO", f"File.{name}_end: {begun}")
        envelope, self._begun = self._begun[1], None
        return envelope

    def _entries(
        self, call: str, spec: Any, offset: int | None, *, is_write: bool, is_shared: bool = False
    ) -> BufferSegment:
        """Entries in memory; raises when the file's mode or view does not allow the access."""
        file, amode = self.file, self.file.amode
        if is_write and amode & MODE_RDONLY:
            fail("ERR_READ_ONLY", f"File.{call}: {file.path} was opened with MODE_RDONLY")
        if not is_write and amode & MODE_WRONLY:
            fail("ERR_ACCESS", f"File.{call}: {file.path} was opened with MODE_WRONLY")
        if not is_shared:
            self.check_random(call)
        if offset is not None and offset < 0:
            fail("ERR_ARG", f"File.{call}: an offset is not negative, {offset} is")
        segment = to_send(spec, call) if is_write else to_fill(spec, call)
        if self.view.representation.nbytes(segment.layout.typemap) * segment.count % self.view.etype_bytes:
            fail("ERR_IO", f"File.{call}: {segment.nbytes} bytes are not whole etypes, of {self.view.etype_bytes} each")
        if self.view.is_empty and segment.nbytes:
            if is_write:
                fail("ERR_IO", f"File.{call}: the filetype of the rank's view has no bytes")
            return BufferSegment(segment.memory, segment.start, 0, segment.datatype)
        return segment

    def check_random(self, call: str) -> None:
        """Raise ``ERR_UNSUPPORTED_OPERATION`` when the file has ``MODE_SEQUENTIAL``."""
        if self.file.amode & MODE_SEQUENTIAL:
            fail("ERR_UNSUPPORTED_OPERATION", f"File.{call}: MODE_SEQUENTIAL leaves the shared pointer alone")

    def _n_etypes(self, segment: BufferSegment) -> int:
        return self.stored_bytes(segment) // self.view.etype_bytes

    def stored_bytes(self, segment: BufferSegment) -> int:
        """Number of bytes that the entries of a segment have in the file."""
        return segment.count * self.view.representation.nbytes(segment.layout.typemap)

    def _move(
        self, call: str, segment: BufferSegment, offset: int | None, *, is_write: bool
    ) -> tuple[Envelope, int, int]:
        """Move entries to or from the file; return their number, the first byte in the view, and bytes in the file."""
        view = self.view
        first = (self.pointer if offset is None else offset) * view.etype_bytes
        try:
            n_stored, nbytes = (self._write if is_write else self._read)(segment, first)
        except OSError as error:
            fail_as(error, f"File.{call} of {self.file.path}")
        if offset is None:
            self.pointer += n_stored // view.etype_bytes
        return Envelope(ANY, ANY, nbytes, nbytes), first, n_stored

    def _write(self, segment: BufferSegment, first: int) -> tuple[int, int]:
        """Write entries from a byte of the view on; return the number of bytes in the file, and in memory."""
        view, file, n_stored = self.view, self.file, self.stored_bytes(segment)
        data = view.representation.to_file(segment) if n_stored else b""
        if data is None:
            file.reach(view.position(first + n_stored - 1) + 1)
        elif view.is_contiguous:
            write_at(file.descriptor, memoryview(data), view.position(first))
        elif n_stored:
            may_read = bool(file.amode & MODE_RDWR)
            write(file.descriptor, memoryview(data), view.stretches(first, n_stored), may_read=may_read)
        return n_stored, segment.nbytes

    def _read(self, segment: BufferSegment, first: int) -> tuple[int, int]:
        """Read entries from a byte of the view on; return the number of bytes in the file, and in memory."""
        view, n_stored = self.view, self.stored_bytes(segment)
        if segment.memory.is_folded:
            segment.put(None)
            left = view.etypes_before(self.file.size()) * view.etype_bytes - first
            return (min(max(0, left), n_stored),) * 2
        lent = segment.whole_stretch() if view.representation.is_native else None
        into = memoryview(bytearray(n_stored)) if lent is None else lent
        got = 0
        if view.is_contiguous:
            got = read_at(self.file.descriptor, into, view.position(first))
        elif n_stored:
            got = read(self.file.descriptor, into, view.stretches(first, n_stored))
        return got, got if lent is not None else view.representation.from_file(segment, into[:got])

    # ---- pointers ----

    def seek_shared(self, offset: int, whence: int) -> None:
        """Move the shared pointer, together with the other ranks."""
        call, pointer = "Seek_shared", self.file.shared_pointer
        position, is_first = self.agree(
            call,
            lambda: ((offset, whence), self.sought(call, pointer, offset, whence)),
            waits=self.times.waits_to_resize,
        )
        if is_first:
            self.file.shared_pointer = position
        current().wait(self.times.seek_shared(self, offset, whence), f"File.{call}")
        self.times.end_shared(self)

    def sought(self, call: str, pointer: int, offset: int, whence: int) -> int:
        """Position that a call seeks, in etypes, starting from a pointer's position."""
        self.check_random(call)
        if whence == SEEK_SET:
            position = offset
        elif whence == SEEK_CUR:
            position = pointer + offset
        elif whence == SEEK_END:
            position = self.view.etypes_before(self.file.size()) + offset
        else:
            fail("ERR_ARG", f"File.{call}(whence={whence}): expecting SEEK_SET, SEEK_CUR or SEEK_END")
        if position < 0:
            fail("ERR_ARG", f"File.{call}: a position is not negative, {position} is")
        return position


class _Taken:
    """Arguments of a collective call, read at once; a failure is raised only after the ranks have met."""

    __slots__ = ("_failure", "answer")

    def __init__(self, take: Callable[..., Any], *arguments: Any, **options: bool) -> None:
        self.answer: Any = None
        self._failure: Exception | None = None
        try:
            self.answer = take(*arguments, **options)
        except Exception as error:  # noqa: BLE001  # raised below
            self._failure = error

    def result(self) -> Any:
        if self._failure is not None:
            raise self._failure
        return self.answer
