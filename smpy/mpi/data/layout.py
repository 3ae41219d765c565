"""Layouts: a datatype's bytes, names and constructor call, shared by all handles on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple

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


@dataclass(slots=True, eq=False)
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
        numpy's type string of an entry; of a pair, those of value and location, joined by a comma.
    code : str
        Character or type string that names it in a message; empty when there is none.
    origin : DatatypeOrigin
        Call that made the datatype; None for predefined ones.
    is_committed : bool
        Whether the datatype may be used in communication.
    """

    typemap: Typemap
    name: str = ""
    kind: str = "derived"
    typestr: str = ""
    code: str = ""
    origin: DatatypeOrigin | None = None
    is_committed: bool = False

    number: int = field(init=False, default_factory=_numbers.__next__)
    """Number that is equal for all handles on the datatype."""
    size: int = field(init=False)
    """Bytes that an entry carries."""
    extent: int = field(init=False)
    """Bytes from one entry to the next."""
    is_contiguous: bool = field(init=False)
    """Whether consecutive entries occupy consecutive bytes, starting at the address of the first entry."""
    has_attributes: bool = field(init=False, default=False)
    """Whether a rank may have cached an attribute on the datatype."""
    is_basic: bool = field(init=False)
    """Whether the datatype is predefined, so that it cannot be freed."""

    def __post_init__(self) -> None:
        typemap = self.typemap
        self.size, self.extent = typemap.size, typemap.extent
        self.is_contiguous = typemap.is_tiling and typemap.true_lb == 0
        self.is_basic = self.origin is None or self.origin.combiner.startswith("F90")

    @property
    def alignment(self) -> int:
        """Alignment of an entry in bytes."""
        return self.typemap.alignment
