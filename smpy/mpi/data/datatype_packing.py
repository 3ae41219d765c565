"""Packing by the program: Pack and Unpack, in native or external representation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smpy.engine.folded_memory import is_any, private_ranges
from smpy.engine.running import current, is_running, mpi_call
from smpy.mpi.data.buffers import LentMemory, memory_of
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.data.external32 import external_size, from_external, to_external
from smpy.mpi.data.packing import check_bounds, packed_or_itself, unpack
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.surface_bases import CommBase

if TYPE_CHECKING:
    from smpy.mpi.state.comm_core import CommCore

__all__ = ["Packing"]


class Packing(DatatypeCore):
    """Methods that pack entries into a buffer, call after call, and unpack them again."""

    __slots__ = ()

    @mpi_call
    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: CommCore) -> int:
        """Put the bytes of entries into a buffer, without gaps.

        Parameters
        ----------
        inbuf : buffer-like
            The entries; as many as it has room for.
        outbuf : buffer-like
            Buffer for their bytes.
        position : int
            Position of the first byte.
        comm : Comm
            Communicator on which they will be sent.

        Returns
        -------
        int
            Position behind them, in bytes.
        """
        _check_comm(comm, "Pack")
        entries, into = memory_of(inbuf, is_written=False), memory_of(outbuf, is_written=True)
        typemap = self._layout.typemap
        count = self._entries_in(entries, "Pack")
        packed = packed_or_itself(typemap, entries, count)
        self._spend(count)
        return _put(packed, into, position, "Pack")

    @mpi_call
    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: CommCore) -> int:
        """Unpack entries from a buffer that `Pack` has filled.

        Parameters
        ----------
        inbuf : buffer-like
            Their bytes.
        position : int
            Position of the first byte.
        outbuf : buffer-like
            Buffer for the entries; as many as it has room for.
        comm : Comm
            Communicator on which they were sent.

        Returns
        -------
        int
            Position behind them, in bytes.
        """
        _check_comm(comm, "Unpack")
        packed, into = memory_of(inbuf, is_written=False), memory_of(outbuf, is_written=True)
        count = self._entries_in(into, "Unpack")
        nbytes = count * self._layout.size
        self._spend(count)
        unpack(self._layout.typemap, _taken(packed, position, nbytes, "Unpack"), into, 0)
        return position + nbytes

    def _spend(self, count: int) -> None:
        """Take the time that the running rank needs to copy entries, and to gather or scatter their blocks."""
        if not is_running() or not current().charges_data:
            return
        typemap = self._layout.typemap
        current().spend_on_copy(count * typemap.size)
        if not (typemap.is_tiling or (typemap.is_dense and count == 1)):
            current().spend_on_blocks(count * typemap.n_blocks, typemap.span_bytes(count))

    @mpi_call
    def Pack_size(self, count: int, comm: CommCore) -> int:
        """Bytes that `Pack` needs for a number of entries."""
        _check_comm(comm, "Pack_size")
        return _not_negative(count, "Pack_size") * self._layout.size

    @mpi_call
    def Pack_external(self, datarep: str, inbuf: Any, outbuf: Any, position: int) -> int:
        """Pack entries into a buffer in the representation that all machines share.

        Parameters
        ----------
        datarep : str
            ``"external32"``
        inbuf : buffer-like
            The entries; as many as it has room for.
        outbuf : buffer-like
            Buffer for their bytes.
        position : int
            Position of the first byte.

        Returns
        -------
        int
            Position behind them, in bytes.
        """
        import numpy as np

        _check_representation(datarep, "Pack_external")
        entries, into = memory_of(inbuf, is_written=False), memory_of(outbuf, is_written=True)
        typemap, count = self._layout.typemap, self._entries_in(entries, "Pack_external")
        rows = np.frombuffer(packed_or_itself(typemap, entries, count), np.uint8).reshape(count, typemap.size)
        return _put(to_external(typemap, rows).ravel().data, into, position, "Pack_external")

    @mpi_call
    def Unpack_external(self, datarep: str, inbuf: Any, position: int, outbuf: Any) -> int:
        """Unpack entries from a buffer that `Pack_external` has filled, here or elsewhere.

        Parameters
        ----------
        datarep : str
            ``"external32"``
        inbuf : buffer-like
            Their bytes.
        position : int
            Position of the first byte.
        outbuf : buffer-like
            Buffer for the entries; as many as it has room for.

        Returns
        -------
        int
            Position behind them, in bytes.
        """
        import numpy as np

        _check_representation(datarep, "Unpack_external")
        external, into = memory_of(inbuf, is_written=False), memory_of(outbuf, is_written=True)
        typemap, count = self._layout.typemap, self._entries_in(into, "Unpack_external")
        width = external_size(typemap)
        taken = _taken(external, position, count * width, "Unpack_external")
        rows = np.frombuffer(taken, np.uint8).reshape(count, width)
        unpack(typemap, from_external(typemap, rows).ravel().data, into, 0)
        return position + count * width

    @mpi_call
    def Pack_external_size(self, datarep: str, count: int) -> int:
        """Bytes that `Pack_external` needs for a number of entries."""
        _check_representation(datarep, "Pack_external_size")
        return _not_negative(count, "Pack_external_size") * external_size(self._layout.typemap)

    def _entries_in(self, memory: LentMemory, call: str) -> int:
        """Number of entries that fit into the memory; raises if it is folded, or if bytes of an entry lie outside."""
        if memory.is_folded or (is_any() and private_ranges(memory.address, memory.nbytes) is not None):
            fail("ERR_BUFFER", f"{call}: an array that is folded or shares its memory has no bytes: send it as it is")
        layout = self._layout
        if layout.extent <= 0:
            fail("ERR_TYPE", f"{call}: entries of extent {layout.extent} cannot be counted by a buffer's length")
        count = memory.nbytes // layout.extent
        check_bounds(layout, memory, 0, count)
        return count


def _check_comm(comm: CommCore, call: str) -> None:
    if not isinstance(comm, CommBase):
        raise TypeError(f"{call}: comm is of type {type(comm).__name__}, not a Comm")
    if not comm:
        fail("ERR_COMM", f"{call}: the communicator is null")


def _check_representation(datarep: str, call: str) -> None:
    if datarep != "external32":
        fail("ERR_ARG", f"{call}: there is no data representation {datarep!r}, only 'external32'")


def _not_negative(count: int, call: str) -> int:
    if count < 0:
        fail("ERR_COUNT", f"{call}: a count is not negative, {count} is")
    return count


def _put(packed: memoryview, into: LentMemory, position: int, call: str) -> int:
    end = position + len(packed)
    if not 0 <= position <= end <= into.nbytes:
        fail("ERR_TRUNCATE", f"{call}: {len(packed)} bytes from byte {position} on in a buffer of {into.nbytes}")
    into.stretch(position, end)[:] = packed
    return end


def _taken(packed: LentMemory, position: int, nbytes: int, call: str) -> memoryview:
    if not 0 <= position <= position + nbytes <= packed.nbytes:
        fail("ERR_TRUNCATE", f"{call}: {nbytes} bytes from byte {position} on of a buffer of {packed.nbytes}")
    return packed.stretch(position, position + nbytes)
