"""Representations of data in files: native, external32, and those registered by a program (MPI 4.1, 14.5)."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, Final

from smpy.engine.messages import PartialBytes
from smpy.engine.running import current, mpi_call, per_world
from smpy.mpi.data.buffer_segments import BufferSegment
from smpy.mpi.data.datatypes import PREDEFINED, Datatype
from smpy.mpi.data.elements import bytes_of_elements
from smpy.mpi.data.layout import Layout
from smpy.mpi.data.memory_type import buffer
from smpy.mpi.data.typemaps import Typemap, basic, joined
from smpy.mpi.state.exceptions import Exception as MpiException
from smpy.mpi.state.exceptions import fail

__all__ = ["NATIVE", "Register_datarep", "Representation", "representation"]

_LONGEST_NAME: Final = 127


class Representation:
    """Data stored in a file as in memory.

    Parameters
    ----------
    name : str
        Name of the representation.
    """

    __slots__ = ("name",)
    is_native: ClassVar = True
    """Whether the bytes in a file equal those in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def element_bytes(self, element: Typemap) -> int:
        """Size of a basic element in a file, in bytes."""
        return element.size

    def nbytes(self, typemap: Typemap) -> int:
        """Size of an entry in a file, in bytes."""
        if not typemap.elements:
            return self.element_bytes(typemap) if typemap.size else 0
        return sum(count * self.nbytes(part) for count, part in typemap.elements)

    def typemap(self, layout: Layout) -> Typemap:
        """Typemap of a datatype in a file; displacements given in bytes are kept."""
        native = layout.typemap
        if self._has_native_sizes(native):
            return native
        origin = layout.origin
        if layout.is_basic or origin is None:
            return self._one_behind_the_other(native)
        olds = [Datatype._of(Layout(self.typemap(old))) for old in origin.datatypes]
        if origin.combiner == "STRUCT":
            return Datatype.Create_struct(datatypes=olds, **origin.arguments)._layout.typemap  # type: ignore[arg-type]
        datatype: Datatype = getattr(olds[0], f"Create_{origin.combiner.lower()}")(**origin.arguments)
        return datatype._layout.typemap

    def _has_native_sizes(self, typemap: Typemap) -> bool:
        if typemap.elements:
            return all(self._has_native_sizes(part) for _, part in typemap.elements)
        return not typemap.size or self.element_bytes(typemap) == typemap.size

    def _one_behind_the_other(self, typemap: Typemap) -> Typemap:
        if not typemap.elements:
            return basic(typemap.code, self.element_bytes(typemap), 1)
        members, at = [], 0
        for count, part in typemap.elements:
            member = self._one_behind_the_other(part)
            members.append((count, at, member))
            at += count * member.size
        return joined(members)

    def to_file(self, segment: BufferSegment) -> memoryview | None:
        """Bytes of entries in the file's representation; None when the entries have no content."""
        lent = segment.whole_stretch()
        if lent is not None:
            return lent
        carried = segment.carried()
        if carried is None:
            return None
        return memoryview(carried.data if isinstance(carried, PartialBytes) else carried).cast("B")

    def from_file(self, segment: BufferSegment, stored: memoryview) -> int:
        """Convert bytes of the file into entries; return the number of bytes of memory that they fill."""
        segment.put(stored)
        return len(stored)


class _External32(Representation):
    """Data in the representation that all machines share."""

    __slots__ = ()
    is_native = False

    def element_bytes(self, element: Typemap) -> int:
        from smpy.mpi.data.external32 import external_size

        return external_size(element)

    def to_file(self, segment: BufferSegment) -> memoryview | None:
        import numpy as np

        from smpy.mpi.data.external32 import to_external

        packed = super().to_file(segment)
        typemap = segment.layout.typemap
        if not packed:
            return packed
        rows = np.frombuffer(packed, np.uint8).reshape(-1, typemap.size)
        return to_external(typemap, rows).ravel().data

    def from_file(self, segment: BufferSegment, stored: memoryview) -> int:
        import numpy as np

        from smpy.mpi.data.external32 import from_external

        typemap = segment.layout.typemap
        width = self.nbytes(typemap)
        if not stored or not width:
            return 0
        rows = np.zeros((-(-len(stored) // width), width), np.uint8)  # the last entry may be cut off
        rows.ravel()[: len(stored)] = stored
        n_elements = len(stored) // width * typemap.n_elements + self._elements_in(typemap, len(stored) % width)
        packed = from_external(typemap, rows).ravel().data[: bytes_of_elements(typemap, n_elements)]
        return super().from_file(segment, packed)

    def _elements_in(self, typemap: Typemap, nbytes: int) -> int:
        """Number of whole elements in the first `nbytes` bytes of an incomplete entry."""
        n_elements = 0
        for count, part in typemap.elements:
            width = self.nbytes(part)
            entries = min(count, nbytes // width) if width else 0
            n_elements, nbytes = n_elements + entries * part.n_elements, nbytes - entries * width
            if entries < count:
                return n_elements + self._elements_in(part, nbytes)
        return n_elements


class _Registered(Representation):
    """Data converted by functions of the program."""

    __slots__ = ("_extent", "_read", "_write")
    is_native = False

    def __init__(
        self,
        name: str,
        read: Callable[..., None] | None,
        write: Callable[..., None] | None,
        extent: Callable[[Datatype], int],
    ) -> None:
        super().__init__(name)
        self._read, self._write, self._extent = read, write, extent

    def element_bytes(self, element: Typemap) -> int:
        answer: int = self._called(self._extent, PREDEFINED[element.code])
        return answer

    def to_file(self, segment: BufferSegment) -> memoryview | None:
        memory = self._memory_of(segment) if self._write is not None else None
        if memory is None:
            return super().to_file(segment)
        stored = buffer.allocate(segment.count * self.nbytes(segment.layout.typemap))
        self._called(self._write, memory, segment.datatype, segment.count, stored, 0)
        return stored.cast("B")

    def from_file(self, segment: BufferSegment, stored: memoryview) -> int:
        memory = self._memory_of(segment) if self._read is not None else None
        if memory is None:
            return super().from_file(segment, stored)
        count = len(stored) // (self.nbytes(segment.layout.typemap) or 1)
        self._called(self._read, memory, segment.datatype, count, buffer.frombuffer(stored), 0)
        return count * segment.layout.size

    def _memory_of(self, segment: BufferSegment) -> buffer | None:
        """Memory of the program from the first entry on; None for memory without content."""
        if segment.memory.is_folded or not segment.nbytes:
            return None
        return buffer.frombuffer(segment.memory.stretch(segment.start, segment.memory.nbytes))

    def _called(self, function: Callable[..., Any] | None, *arguments: Any) -> Any:
        assert function is not None
        try:
            return function(*arguments)
        except MpiException:
            raise
        except Exception as error:  # noqa: BLE001  # any exception of the program's function
            traceback.print_exc(file=sys.stderr)
            fail("ERR_CONVERSION", f"a function of data representation {self.name!r} raised {type(error).__name__}")


NATIVE: Final = Representation("native")
_PREDEFINED: Final = {each.name: each for each in (NATIVE, Representation("internal"), _External32("external32"))}


class _OfRanks(dict[tuple[int, str], Representation]):
    """Representations that the ranks of a world have registered, by rank and name."""


def representation(name: str) -> Representation:
    """Representation of a name; raises ``ERR_UNSUPPORTED_DATAREP`` when the rank has not registered it."""
    known = _PREDEFINED.get(name) or per_world(_OfRanks).get((current().rank, name))
    if known is None:
        fail("ERR_UNSUPPORTED_DATAREP", f"no data representation is called {name!r}: register it on each rank")
    return known


@mpi_call
def Register_datarep(
    datarep: str,
    read_fn: Callable[[buffer, Datatype, int, buffer, int], None] | None,
    write_fn: Callable[[buffer, Datatype, int, buffer, int], None] | None,
    extent_fn: Callable[[Datatype], int],
) -> None:
    """Register a representation of data for views of files, on the running rank.

    Parameters
    ----------
    datarep : str
        Name of the representation.
    read_fn, write_fn : callable or None
        Functions that convert from and to the file's bytes. Arguments: memory, datatype, number of entries, the file's
        bytes, index of the first entry. None: the same bytes as in memory.
    extent_fn : callable
        Returns the size of a predefined datatype's entry in a file, in bytes.
    """
    known = per_world(_OfRanks)
    if not 0 < len(datarep) <= _LONGEST_NAME:
        fail("ERR_ARG", f"Register_datarep: a name has 1 to {_LONGEST_NAME} characters, not {len(datarep)}")
    if datarep in _PREDEFINED or (current().rank, datarep) in known:
        fail("ERR_DUP_DATAREP", f"Register_datarep: there is a data representation {datarep!r} already")
    known[current().rank, datarep] = _Registered(datarep, read_fn, write_fn, extent_fn)
