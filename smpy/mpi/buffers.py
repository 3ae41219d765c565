"""The memory behind what a program passes as a buffer: where it is, how long, of what format.

Contiguous memory of any exporter of the buffer protocol (PEP 3118), in C or Fortran order, and folded arrays
(`smpy.compute.folded`), which have a length and no bytes. numpy is not imported here: its arrays export buffers.
"""

from __future__ import annotations

from typing import Any, Final, Self

from smpy.engine.kernel import ffi
from smpy.mpi.exceptions import fail

__all__ = [
    "BOTTOM",
    "IN_PLACE",
    "BottomType",
    "InPlaceType",
    "Memory",
    "is_bottom",
    "is_in_place",
    "memory_of",
]


class BottomType(int):
    """Type of `BOTTOM`."""

    def __new__(cls) -> Self:
        return super().__new__(cls, 0)

    def __repr__(self) -> str:
        return "BOTTOM"

    def __reduce__(self) -> str:
        return "BOTTOM"


class InPlaceType(int):
    """Type of `IN_PLACE`."""

    def __new__(cls) -> Self:
        return super().__new__(cls, -1)

    def __repr__(self) -> str:
        return "IN_PLACE"

    def __reduce__(self) -> str:
        return "IN_PLACE"


BOTTOM: Final = BottomType()
IN_PLACE: Final = InPlaceType()


def is_bottom(what: object) -> bool:
    """Whether a message's buffer is the start of the address range."""
    return what is None or what is BOTTOM


def is_in_place(what: object) -> bool:
    """Whether a collective's buffer is the other one."""
    return what is None or what is IN_PLACE


class Memory:
    """Contiguous memory that a program lent, or the length of folded memory.

    Parameters
    ----------
    exporter : buffer-like
        What the program passed.
    view : memoryview
        Of it, in C order.
    is_folded : bool
        Whether there are no bytes behind it.

    Attributes
    ----------
    nbytes : int
        Length.
    """

    __slots__ = ("_exporter", "_lent", "is_folded", "nbytes", "view")

    def __init__(self, exporter: Any, view: memoryview, is_folded: bool) -> None:
        self._exporter = exporter
        self._lent: Any = None
        self.view = view
        self.is_folded = is_folded
        self.nbytes = view.nbytes

    @property
    def address(self) -> int:
        """Where the bytes are."""
        return int(ffi.cast("uintptr_t", self.keep))

    @property
    def keep(self) -> Any:
        """What keeps the memory where it is."""
        if self._lent is None:
            self._lent = ffi.from_buffer("char[]", self._exporter)
        return self._lent

    def data(self) -> memoryview:
        """The bytes themselves."""
        try:
            return self.view.cast("B")
        except TypeError:  # a format that memoryview does not know, or no bytes at all
            return memoryview(ffi.buffer(self.keep))


NOTHING: Final = Memory(b"", memoryview(b""), is_folded=False)
"""Memory of zero bytes."""


def memory_of(exporter: Any, is_written: bool) -> Memory:
    """The memory that `exporter` exports.

    Parameters
    ----------
    exporter : buffer-like
        What the program passed.
    is_written : bool
        Whether a message will be put there.

    Raises
    ------
    TypeError
        If it exports no buffer.
    BufferError
        If the memory is not contiguous.
    ValueError, BufferError
        If it would be written and is read-only; which of them is the exporter's choice.
    """
    try:
        view = memoryview(exporter)
    except TypeError:
        raise TypeError(f"message: expecting buffer or list/tuple, not {type(exporter).__name__}") from None
    if is_written and view.readonly:
        ffi.from_buffer(exporter, require_writable=True)  # the exporter raises
    if view.c_contiguous and not getattr(exporter, "__smpy_folded__", False):
        return Memory(exporter, view, is_folded=False)
    if getattr(exporter, "__smpy_folded__", False):
        return Memory(exporter, view, is_folded=True)
    if not view.contiguous:
        raise BufferError(
            f"message: memory of shape {view.shape} and strides {view.strides} is not contiguous: send a copy of it"
        )
    turned = exporter.T  # Fortran order: the transposed array is the same memory in C order
    return Memory(turned, memoryview(turned), is_folded=False)


def address_of(location: Any) -> int:
    """`Get_address`: where a buffer begins.

    Raises
    ------
    Exception
        Of class ``ERR_BUFFER``, if it is folded: it is nowhere.
    """
    if is_bottom(location):
        return 0
    memory = memory_of(location, is_written=False)
    if memory.is_folded:
        fail("ERR_BUFFER", "Get_address: a folded array has no memory of its own")
    return memory.address
