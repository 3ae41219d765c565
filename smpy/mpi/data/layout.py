"""Layouts: a datatype's bytes, names and constructor call, shared by all handles on it."""

from __future__ import annotations

from itertools import count
from typing import Final, NamedTuple

from smpy.mpi.data.strided import strided
from smpy.mpi.data.typemaps import Typemap

__all__ = ["DatatypeOrigin", "Layout"]

_numbers: Final = count(1)


class DatatypeOrigin(NamedTuple):
    """Call that made a datatype.

    Parameters
    ----------
    combiner : str
        Name of the call's combiner in the standard, without the prefix.
    arguments : dict of str to int or list of int
        Arguments of `Datatype.Create_...`, without the datatypes.
    datatypes : tuple of Layout
        The old datatypes.
    """

    combiner: str
    arguments: dict[str, int | list[int]]
    datatypes: tuple[Layout, ...] = ()


class Layout:
    """A datatype, shared by all handles on it.

    Parameters
    ----------
    typemap : Typemap
        The bytes of an entry.
    name : str
        Name in the standard, or the name that the program has set.
    kind : str
        integer, floating, logical, complex, byte, character or pair, of a predefined one: which reductions are allowed.
    typestr : str
        numpy's type string of an entry; of a pair, those of value and location, joined by a comma; "": plain bytes.
    code : str
        Character or type string that names it in a message; empty when there is none.
    origin : DatatypeOrigin
        Call that made the datatype; None for predefined ones.
    is_committed : bool
        Whether the datatype may be used in communication.

    Attributes
    ----------
    number : int
        Number that is equal for all handles on the datatype.
    size : int
        Bytes that an entry carries.
    extent : int
        Bytes from one entry to the next.
    is_contiguous : bool
        Whether consecutive entries occupy consecutive bytes, starting at the address of the first entry.
    has_attributes : bool
        Whether a rank may have cached an attribute on the datatype.
    is_basic : bool
        Whether the datatype is predefined, so that it cannot be freed.
    dense_size : int
        Bytes of an entry that the compiled surface moves as one stretch: committed, without gaps; 0 for others.
    strides : bytes or None
        Kernel description of a committed datatype with gaps; None for others, and where it has no regular strides.
    """

    __slots__ = (
        *("_typestr", "code", "dense_size", "extent", "has_attributes", "is_basic", "is_committed", "is_contiguous"),
        *("kind", "name", "number", "origin", "size", "strides", "typemap"),
    )

    def __init__(
        self,
        typemap: Typemap,
        name: str = "",
        kind: str = "derived",
        typestr: str = "",
        code: str = "",
        origin: DatatypeOrigin | None = None,
        is_committed: bool = False,
    ) -> None:
        self.typemap = typemap
        self.name = name
        self.kind = kind
        self._typestr = typestr
        self.code = code
        self.origin = origin
        self.is_committed = is_committed
        self.number = next(_numbers)
        self.size = typemap.size
        self.extent = typemap.extent
        self.is_contiguous = typemap.is_tiling and typemap.true_lb == 0
        self.has_attributes = False
        self.is_basic = origin is None or origin.combiner.startswith("F90")
        self.dense_size = 0
        self.strides: bytes | None = None
        if is_committed:
            self.commit()

    def commit(self) -> None:
        """Make the datatype usable in communication."""
        self.is_committed = True
        if self.is_contiguous:
            self.dense_size = self.size
        else:
            self.strides = strided(self.typemap)

    @property
    def typestr(self) -> str:
        """Numpy's type string of an entry; of a pair, those of value and location, joined by a comma."""
        return self._typestr or f"V{self.extent}"

    @property
    def basic(self) -> Layout | None:
        """Predefined datatype of all elements of an entry; None if they have several."""
        if self.origin is None or self.is_basic:
            return self
        basics = {old.basic for old in self.origin.datatypes}
        return basics.pop() if len(basics) == 1 else None

    @property
    def alignment(self) -> int:
        """Alignment of an entry in bytes."""
        return self.typemap.alignment
