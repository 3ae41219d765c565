"""Memory behind a buffer that a program passes: address, length and format.

The memory is contiguous, in C or Fortran order. It comes from an exporter of the buffer protocol (PEP 3118), or
DLPack or the CUDA array interface describe it. Folded arrays (`smpy.folded`) have a length and no bytes. numpy is not
imported here, because its arrays export buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from smpy.engine.pointers import NULL, address_of, bytes_at, pointer_at, pointer_to
from smpy.engine.surface import surface
from smpy.mpi.data.exporter import Exporter
from smpy.mpi.data.special_buffers import BOTTOM, IN_PLACE, SpecialBuffer
from smpy.mpi.state.exceptions import fail

if TYPE_CHECKING:
    from smpy.mpi.data.described_memory import DescribedMemory

__all__ = [
    "BOTTOM",
    "EVERYWHERE",
    "IN_PLACE",
    "NOTHING",
    "LentMemory",
    "is_bottom",
    "is_in_place",
    "memory_of",
]

_FIRST_PAGE: Final = 4096
"""Lowest address of memory."""
_LAST_ADDRESS: Final = (1 << 47) - 1
"""Highest address of a program's memory on 64-bit processors."""


def is_bottom(what: object) -> bool:
    """Whether a message's buffer is ``BOTTOM`` (or None), the start of the address range."""
    return what is None or what is BOTTOM


def is_in_place(what: object) -> bool:
    """Whether a collective's data is in its other buffer: this one is ``IN_PLACE`` or None."""
    return what is None or what is IN_PLACE


class LentMemory:
    """Contiguous memory lent by a program, or the length of folded memory.

    Parameters
    ----------
    exporter : buffer-like
        Buffer that the program passed.
    view : memoryview
        View of the buffer, in C order.
    item_format : str
        Format of its elements in the buffer protocol's notation.
    is_folded : bool
        Whether the memory is folded and has no bytes.
    owner : object
        Further object that must stay alive as long as the memory is used.
    is_host : bool
        Whether the memory is the processor's, not an accelerator's.
    is_on_device : bool
        Whether the folded memory is that of the rank's simulated device.

    Attributes
    ----------
    nbytes : int
        Length.
    """

    __slots__ = ("_exporter", "_lent", "_owner", "format", "is_folded", "is_host", "is_on_device", "nbytes", "view")

    def __init__(
        self,
        exporter: Any,
        view: memoryview,
        item_format: str,
        *,
        is_folded: bool = False,
        owner: object = None,
        is_host: bool = True,
        is_on_device: bool = False,
    ) -> None:
        self._exporter = exporter
        self._owner = owner
        self._lent: Any = None
        self.view = view
        self.format = item_format
        self.is_host = is_host
        self.is_folded = is_folded
        self.is_on_device = is_on_device
        self.nbytes = view.nbytes

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return int(address_of(self.pointer))

    @property
    def keep(self) -> Any:
        """Object that keeps the memory alive and in place."""
        return self.pointer if self._owner is None else (self.pointer, self._owner)

    @property
    def pointer(self) -> Any:
        """Pointer to the first byte, for cffi; the pointer keeps the memory in place."""
        if self._lent is None:
            self._lent = pointer_to(self._exporter)
        return self._lent

    def has(self, first: int, last: int) -> bool:
        """Whether the memory contains the bytes from `first` to `last`."""
        return first >= 0 and last <= self.nbytes

    def refuse(self, first: int, last: int, what: str) -> NoReturn:
        """Raise an error for bytes outside the memory."""
        if first < 0:
            raise ValueError(f"message: {what} would begin {-first} bytes before the buffer")
        raise ValueError(f"message: {what} would need {last} bytes, the buffer has {self.nbytes}")

    def check_place(self, *, may_be_on_device: bool = False) -> None:
        """Refuse memory of a device in calls that only take memory of the host."""
        if self.is_on_device and not may_be_on_device:
            fail(
                "ERR_BUFFER",
                "an array on a device: only sends and receives take one; for other calls copy it to the host first, "
                'array.to_device("cpu")',
            )

    def stretch(self, first: int, last: int) -> memoryview:
        """Bytes from `first` to `last`."""
        return self.data()[first:last]

    def data(self) -> memoryview:
        """All bytes of the memory."""
        try:
            return self.view.cast("B")
        except TypeError:  # memoryview does not support the format, or there are no bytes
            return memoryview(bytes_at(self.pointer))


class Everywhere(LentMemory):
    """The whole address range, starting at ``BOTTOM``: displacements are addresses."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(b"", memoryview(b""), "B")

    @property
    def pointer(self) -> Any:
        """Null pointer: the address of ``BOTTOM``."""
        return NULL

    def has(self, first: int, last: int) -> bool:
        """Whether bytes from `first` to `last` can be addresses of a program."""
        return _FIRST_PAGE <= first <= last <= _LAST_ADDRESS

    def refuse(self, first: int, last: int, what: str) -> NoReturn:
        """Raise an error for bytes that can have no addresses."""
        del last
        fail("ERR_BUFFER", f"message: {what} at address {first} below BOTTOM: displacements are addresses there")

    def stretch(self, first: int, last: int) -> memoryview:
        """Bytes between two addresses."""
        return memoryview(bytes_at(pointer_at(first), last - first))


NOTHING: Final = LentMemory(b"", memoryview(b""), "B")
"""Memory of zero bytes."""
EVERYWHERE: Final = Everywhere()


def memory_of(exporter: Any, is_written: bool) -> LentMemory:
    """Memory that `exporter` exports.

    Parameters
    ----------
    exporter : buffer-like
        Buffer that the program passed.
    is_written : bool
        Whether a message will be put there.

    Raises
    ------
    TypeError
        If `exporter` exports no buffer.
    BufferError
        If the memory is not contiguous.
    ValueError, BufferError
        If the memory is read-only but must be written; the exporter chooses the error.
    """
    try:
        view = memoryview(exporter)
    except TypeError:
        return _described(exporter, is_written)
    if not view.nbytes and isinstance(exporter, SpecialBuffer):
        raise TypeError(f"message: {exporter!r} is no buffer here")
    if is_written and view.readonly:
        pointer_to(exporter, require_writable=True)  # the exporter itself raises the error
    if view.c_contiguous and not getattr(exporter, "__smpy_folded__", False):
        return LentMemory(exporter, view, view.format)
    if getattr(exporter, "__smpy_folded__", False):
        return LentMemory(exporter, view, view.format, is_folded=True, is_on_device=exporter.device == "gpu")
    if not view.contiguous:
        raise BufferError(
            f"message: memory of shape {view.shape} and strides {view.strides} is not contiguous: send a copy of it"
        )
    turned = exporter.T  # Fortran order: the transposed array is the same memory in C order
    return LentMemory(turned, memoryview(turned), view.format)


@cache
def _reader_of(interface: str) -> Callable[[Any], DescribedMemory]:
    """Reader of array interfaces, imported by the first message that needs it."""
    if interface == "dlpack":
        from smpy.mpi.data.dlpack import described_by_dlpack as described_by
    else:
        from smpy.mpi.data.cuda_arrays import described_by_cuda as described_by
    return described_by


def _described(exporter: Any, is_written: bool) -> LentMemory:
    """Memory that an object describes by DLPack or the CUDA array interface."""
    if isinstance(exporter, Exporter) and hasattr(exporter, "_view"):
        return memory_of(exporter._view, is_written)  # needed without the compiled surface, before Python 3.12
    lent = None if surface is None else surface.described_memory(exporter, is_written)
    if lent is not None:
        view, item_format, owner, is_host = lent
        return LentMemory(view, view, item_format, owner=owner, is_host=is_host)
    return _described_in_python(exporter, is_written)


def _described_in_python(exporter: Any, is_written: bool) -> LentMemory:
    """Memory likewise, however it is described; raises an error when messages cannot use it."""
    if hasattr(exporter, "__dlpack__"):
        described_by = _reader_of("dlpack")
    elif hasattr(exporter, "__cuda_array_interface__"):
        described_by = _reader_of("cuda")
    else:
        raise TypeError(
            f"message: a buffer is required, such as a numpy array, not {type(exporter).__name__}; "
            "the lower-case calls (send, bcast, ...) take any object"
        )
    described = described_by(exporter)
    if is_written and described.is_readonly:
        raise BufferError(f"message: the memory of a {type(exporter).__name__} is read-only, and would be written")
    data = bytes_at(pointer_at(described.address), described.nbytes)
    view = memoryview(data).toreadonly() if described.is_readonly else memoryview(data)
    return LentMemory(data, view, described.format, owner=described.owner, is_host=described.is_host)
