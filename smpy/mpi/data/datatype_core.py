"""Handles on datatypes: the base class of all their methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

from smpy.mpi.data.layout import DatatypeOrigin, Layout
from smpy.mpi.data.typemaps import Typemap
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle

__all__ = ["DatatypeCore"]


class DatatypeCore(Handle):
    """A handle on a layout, or null."""

    __slots__ = ("_layout_or_null", "_size", "_strided")
    _family: ClassVar = "Datatype"

    _layout_or_null: Layout | None
    _size: int
    _strided: bytes | None
    """Read by the compiled surface, like `_size`: the layout's `dense_size` and `strides`."""

    @classmethod
    def _of(cls, layout: Layout | None) -> Self:
        """A handle on a layout."""
        self = object.__new__(cls)
        self._refer_to(layout)
        return self

    @classmethod
    def _derived(cls, typemap: Typemap, combiner: str, olds: Iterable[Layout], **arguments: int | list[int]) -> Self:
        """A handle on a new datatype that a constructor derives from others."""
        if not typemap.has_64_bits:
            fail("ERR_ARG", f"{combiner}: the datatype's size or one of its bounds has more than 64 bits")
        return cls._of(Layout(typemap, origin=DatatypeOrigin(combiner, arguments, tuple(olds))))

    def _refer_to(self, layout: Layout | None) -> None:
        self._layout_or_null = layout
        self._size, self._strided = (0, None) if layout is None else (layout.dense_size, layout.strides)

    def _identity(self) -> int:
        return 0 if self._layout_or_null is None else self._layout_or_null.number

    def _become_null(self) -> None:
        self._refer_to(None)

    @property
    def _layout(self) -> Layout:
        """Layout that the handle refers to; raises ``ERR_TYPE`` when the handle is null."""
        if self._layout_or_null is None:
            fail("ERR_TYPE", "the datatype is null")
        return self._layout_or_null

    def Get_size(self) -> int:
        """Bytes that one entry carries."""
        return self._layout.size

    def Get_extent(self) -> tuple[int, int]:
        """Lower bound of an entry, and bytes from one entry to the next."""
        typemap = self._layout.typemap
        return typemap.lb, typemap.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Offset of the first byte that an entry carries, and bytes from there to the end of the last one."""
        typemap = self._layout.typemap
        return typemap.true_lb, typemap.true_ub - typemap.true_lb

    def Commit(self) -> Self:
        """Make the datatype usable in communication; predefined ones always are."""
        layout = self._layout
        layout.commit()
        self._refer_to(layout)
        return self

    @property
    def size(self) -> int:
        """Bytes that one entry carries."""
        return self.Get_size()

    @property
    def extent(self) -> int:
        """Bytes from one entry to the next."""
        return self.Get_extent()[1]

    @property
    def lb(self) -> int:
        """Lower bound."""
        return self.Get_extent()[0]

    @property
    def ub(self) -> int:
        """Upper bound."""
        return sum(self.Get_extent())

    @property
    def true_extent(self) -> int:
        """Bytes from the first byte carried to the end of the last one."""
        return self.Get_true_extent()[1]

    @property
    def true_lb(self) -> int:
        """Offset of the first byte carried."""
        return self.Get_true_extent()[0]

    @property
    def true_ub(self) -> int:
        """Offset after the last byte carried."""
        return sum(self.Get_true_extent())
