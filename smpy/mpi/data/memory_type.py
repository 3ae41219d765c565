"""`buffer`: memory that a program holds, its own or another object's; allocations by MPI, and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final, Self

from smpy.engine.pointers import bytes_at, pointer_at
from smpy.mpi.data.buffers import memory_of
from smpy.mpi.data.exporter import Exporter
from smpy.mpi.data.special_buffers import SpecialBuffer
from smpy.mpi.state.exceptions import fail

if TYPE_CHECKING:
    from smpy.mpi.state.info import Info

__all__ = ["Aint_add", "Aint_diff", "Alloc_mem", "Free_mem", "Get_address", "buffer"]


_NONE: Final = memoryview(bytearray())


class buffer(Exporter):  # name in mpi4py
    """Bytes in memory.

    Parameters
    ----------
    buf : buffer-like, optional
        Owner of the memory; without it the length is 0.
    """

    __slots__ = ("__weakref__", "_address", "_is_host", "_obj")

    format = "B"
    itemsize = 1

    _obj: Any
    _address: int
    _is_host: bool

    def __new__(cls, buf: Any = _NONE, /) -> Self:
        if buf is _NONE:
            return cls._on(None, _NONE, 0)
        try:
            return cls._lent(buf, is_readonly=False)
        except (BufferError, ValueError):
            return cls._lent(buf, is_readonly=True)

    @classmethod
    def _on(cls, obj: Any, view: memoryview, address: int, *, is_host: bool = True) -> Self:
        self = super().__new__(cls)
        self._obj = obj
        self._view = view
        self._address = address
        self._is_host = is_host
        return self

    @classmethod
    def _lent(cls, obj: Any, *, is_readonly: bool) -> Self:
        memory = memory_of(obj, is_written=not is_readonly)
        view = memory.data().toreadonly() if is_readonly else memory.data()
        return cls._on(obj, view, memory.address, is_host=memory.is_host)

    @staticmethod
    def allocate(nbytes: int, clear: bool = False) -> buffer:
        """Allocate new memory.

        Parameters
        ----------
        nbytes : int
            Length.
        clear : bool
            Whether the memory must be zeroed; here it always is.
        """
        length = index(nbytes)
        if length < 0:
            raise ValueError(f"expecting non-negative buffer length, not {length}")
        return buffer._lent(bytearray(length), is_readonly=False)

    @staticmethod
    def frombuffer(obj: Any, readonly: bool = False) -> buffer:
        """Refer to the memory of another object.

        Parameters
        ----------
        obj : buffer-like
            Owner of the memory.
        readonly : bool
            Whether it must not be written through the buffer.
        """
        return buffer._lent(obj, is_readonly=readonly)

    @staticmethod
    def fromaddress(address: int, nbytes: int, readonly: bool = False) -> buffer:
        """Refer to memory at an address, which must stay valid as long as it is used.

        Parameters
        ----------
        address : int
            Address of the first byte.
        nbytes : int
            Length.
        readonly : bool
            Whether it must not be written through the buffer.
        """
        if nbytes < 0:
            raise ValueError(f"expecting non-negative buffer length, not {nbytes}")
        if nbytes and not address:
            raise ValueError(f"expecting an address of {nbytes} bytes, not the null pointer")
        view = memoryview(bytes_at(pointer_at(address), nbytes))
        return buffer._on(None, view.toreadonly() if readonly else view, address)

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return self._address

    @property
    def obj(self) -> Any:
        """Object that owns the memory; None without an owner."""
        return self._obj

    @property
    def nbytes(self) -> int:
        """Length."""
        return self._view.nbytes

    @property
    def readonly(self) -> bool:
        """Whether the memory must not be written."""
        return self._view.readonly

    def __len__(self) -> int:
        return self._view.nbytes

    def __getitem__(self, item: int | slice, /) -> Any:
        if isinstance(item, slice):
            first, last = self._range(item)
            return buffer._on(self._obj, self._view[first:last], self._address + first, is_host=self._is_host)
        return self._on_host()[index(item)]

    def __setitem__(self, item: int | slice, value: Any, /) -> None:
        view = self._on_host()
        if self.readonly:
            raise TypeError("memory buffer is read-only")
        if not isinstance(item, slice):
            view[index(item)] = value
            return
        first, last = self._range(item)
        if isinstance(value, int):
            view[first:last] = bytes([value]) * (last - first)
        else:
            view[first:last] = memory_of(value, is_written=False).data()

    def __delitem__(self, item: int | slice, /) -> None:
        raise NotImplementedError("memory cannot be deleted in part")

    def _range(self, item: slice) -> tuple[int, int]:
        first, last, step = item.indices(len(self))
        if step != 1:
            raise IndexError(f"slice with step {step}: only whole stretches of memory can be taken")
        return first, max(first, last)

    def _on_host(self) -> memoryview:
        if not self._is_host:
            raise BufferError("the memory is an accelerator's: copy it to the host first")
        return self._view

    def cast(self, format: str, shape: Sequence[int] | None = None) -> memoryview:
        """View of the bytes as items.

        Parameters
        ----------
        format : str
            Format of an item, see `memoryview.cast`.
        shape : sequence of int, optional
            Shape of the array of items.
        """
        view = self._on_host()
        return view.cast(format) if shape is None else view.cast(format, list(shape))  # type: ignore[call-overload, no-any-return]

    def tobytes(self, order: str | None = None) -> bytes:
        """Copy of the bytes; `order` has no effect."""
        return self._on_host().tobytes()

    def toreadonly(self) -> buffer:
        """Read-only view of the same memory."""
        return buffer._on(self._obj, self._view.toreadonly(), self._address, is_host=self._is_host)

    def release(self) -> None:
        """Release the memory; the length is 0 afterwards."""
        self._obj, self._view, self._address = None, _NONE, 0


def Alloc_mem(size: int, info: Info | None = None) -> buffer:
    """Allocate memory through MPI.

    Parameters
    ----------
    size : int
        Length in bytes.
    info : Info
        Hints, of which none is known.
    """
    if size < 0:
        fail("ERR_ARG", f"Alloc_mem({size}): a size is not negative")
    return buffer.allocate(size)


def Free_mem(mem: buffer) -> None:
    """Free memory of `Alloc_mem`; its length is 0 afterwards."""
    mem.release()


def Get_address(location: Any) -> int:
    """Address of a buffer's first byte.

    Parameters
    ----------
    location : buffer-like
        The buffer.

    Raises
    ------
    Exception
        If the buffer is folded, so that it has no address: ``ERR_BUFFER``.
    """
    if location is None or isinstance(location, SpecialBuffer):
        return 0 if location is None else int(location)
    memory = memory_of(location, is_written=False)
    if memory.is_folded:
        fail("ERR_BUFFER", "Get_address: a folded array has no memory of its own")
    return memory.address


def Aint_add(base: int, disp: int) -> int:
    """Sum of an address and a displacement."""
    return base + disp


def Aint_diff(addr1: int, addr2: int) -> int:
    """Displacement from the second address to the first."""
    return addr1 - addr2
