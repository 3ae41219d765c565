"""`Datatype`: handles on layouts, the predefined ones, and how a type string finds its datatype."""

from __future__ import annotations

from sys import byteorder
from typing import Any, Final, Self

from smpy.mpi.basic_types import ALIASES, BASIC, C_CODES, CODES, FORTRAN_CODES, NOT_HERE, PAIRS
from smpy.mpi.constants import COMBINER_NAMED, UNDEFINED
from smpy.mpi.exceptions import fail
from smpy.mpi.handle import Handle
from smpy.mpi.layout import Layout

__all__ = ["BYTE", "DATATYPE_NULL", "PREDEFINED", "Datatype", "_typecode", "as_datatype", "of_format"]


class Datatype(Handle):
    """What a buffer's entries are.

    Parameters
    ----------
    datatype : Datatype, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_layout", "_size")
    _family = "Datatype"

    _layout: Layout | None
    _size: int

    def __new__(cls, datatype: Datatype | None = None) -> Self:
        return cls.of(datatype.layout if datatype else None)

    @classmethod
    def of(cls, layout: Layout | None) -> Self:
        """A handle on a layout."""
        self = super().__new__(cls)
        self._layout = layout
        self._size = layout.size if layout is not None and layout.is_contiguous else 0
        return self

    def _identity(self) -> int:
        return 0 if self._layout is None else self._layout.number

    @property
    def layout(self) -> Layout:
        """What the handle refers to; raises ``ERR_TYPE`` when it is null."""
        if self._layout is None:
            fail("ERR_TYPE", "the datatype is null")
        return self._layout

    def Get_size(self) -> int:
        """Bytes that one entry carries."""
        return self.layout.size

    def Get_extent(self) -> tuple[int, int]:
        """Lower bound of an entry and bytes from one to the next."""
        return 0, self.layout.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Offset of the first byte an entry carries, and bytes from there to behind the last."""
        blocks = self.layout.blocks
        first = min(offset for offset, _ in blocks)
        return first, max(offset + length for offset, length in blocks) - first

    def Get_envelope(self) -> tuple[int, int, int, int, int]:
        """How the datatype was made, in numbers of arguments; here: it is predefined."""
        self.layout  # noqa: B018  # a null datatype has none
        return 0, 0, 0, 0, COMBINER_NAMED

    def Get_name(self) -> str:
        """Name in the standard."""
        return "MPI_DATATYPE_NULL" if self._layout is None else self._layout.name

    def Commit(self) -> Datatype:
        """Make the datatype fit for communication; predefined ones are."""
        self.layout  # noqa: B018  # a null datatype cannot be
        return self

    def Free(self) -> None:
        """Give the datatype back; predefined ones cannot be."""
        fail("ERR_TYPE", f"{self.Get_name()} is predefined and cannot be freed")

    def elements_in(self, nbytes: int) -> int:
        """Number of basic elements that the first `nbytes` bytes of a message of this datatype hold."""
        blocks = self.layout.blocks
        entries, rest = divmod(nbytes, self.layout.size)
        elements = entries * len(blocks)
        for _, length in blocks:
            if rest < length:
                break
            elements, rest = elements + 1, rest - length
        return UNDEFINED if rest else elements

    def tocode(self) -> str:
        """Character or type string that names the datatype in a message.

        Raises
        ------
        ValueError
            If there is none.
        """
        code = _typecode(self)
        if code is None:
            raise ValueError("cannot map to character code or type string")
        return code

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        """The predefined datatype with a character code or type string.

        Raises
        ------
        ValueError
            If there is none.
        """
        try:
            return of_format(code)
        except KeyError:
            raise ValueError(f"cannot map {code!r} to MPI datatype") from None

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
        """Bytes from the first byte carried to behind the last."""
        return self.Get_true_extent()[1]

    @property
    def true_lb(self) -> int:
        """Offset of the first byte carried."""
        return self.Get_true_extent()[0]

    @property
    def true_ub(self) -> int:
        """Offset behind the last byte carried."""
        return sum(self.Get_true_extent())

    @property
    def envelope(self) -> tuple[int, int, int, int, int]:
        """How the datatype was made, in numbers of arguments."""
        return self.Get_envelope()

    @property
    def combiner(self) -> int:
        """How the datatype was made."""
        return self.Get_envelope()[-1]

    @property
    def is_named(self) -> bool:
        """Whether the standard names it."""
        return self.combiner == COMBINER_NAMED

    @property
    def is_predefined(self) -> bool:
        """Whether it exists without being made."""
        return self._layout is None or self.is_named

    @property
    def name(self) -> str:
        """Name in the standard."""
        return self.Get_name()

    @property
    def typestr(self) -> str:
        """Numpy's type string of an entry."""
        layout = self.layout
        return layout.typestr if layout.kind != "pair" else f"V{layout.extent}"

    @property
    def typechar(self) -> str:
        """Character code of an entry."""
        layout = self.layout
        return _CHARACTER_OF.get(layout.typestr, layout.code) if len(layout.code) > 1 else layout.code or "V"


def _basic_layout(name: str, number: int) -> Layout:
    basic = BASIC[name]
    size = basic.size
    return Layout(
        name=_STANDARD_NAMES.get(name, f"MPI_{name}"),
        kind=basic.kind,
        size=size,
        extent=size,
        alignment=basic.alignment,
        typestr=basic.typestr,
        code=basic.code,
        blocks=((0, size),),
        is_contiguous=True,
        number=number,
    )


def _pair_layout(name: str, number: int) -> Layout:
    standard_name, value, location = PAIRS[name]
    first, second = BASIC[value], BASIC[location]
    alignment = max(first.alignment, second.alignment)
    at = -(-first.size // second.alignment) * second.alignment
    extent = -(-(at + second.size) // alignment) * alignment
    return Layout(
        name=standard_name,
        kind="pair",
        size=first.size + second.size,
        extent=extent,
        alignment=alignment,
        typestr=f"{first.typestr},{second.typestr}",
        code="",
        blocks=((0, first.size), (at, second.size)),
        is_contiguous=extent == first.size + second.size,
        number=number,
    )


def _predefine() -> dict[str, Datatype]:
    known: dict[str, Datatype] = {"DATATYPE_NULL": Datatype()}
    for number, name in enumerate([*BASIC, *PAIRS], start=1):
        layout = _basic_layout(name, number) if name in BASIC else _pair_layout(name, number)
        known[name] = Datatype.of(layout)
    for alias, name in ALIASES.items():
        known[alias] = Datatype(known[name])
    return known | {name: Datatype() for name in NOT_HERE}


_STANDARD_NAMES = {"LONG_LONG": "MPI_LONG_LONG_INT"}
_CHARACTER_OF = {
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "l",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "L",
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "f16": "g",
    "c8": "F",
    "c16": "D",
    "c32": "G",
}

PREDEFINED: Final[dict[str, Datatype]] = _predefine()
"""Every predefined datatype by its name in `mpi4py.MPI`."""
Datatype.know(PREDEFINED)

DATATYPE_NULL: Final = PREDEFINED["DATATYPE_NULL"]
BYTE: Final = PREDEFINED["BYTE"]

_typedict: Final[dict[str, Datatype]] = {code: PREDEFINED[name] for code, name in CODES.items()}
_typedict_c: Final[dict[str, Datatype]] = {code: PREDEFINED[name] for code, name in C_CODES.items()}
_typedict_f: Final[dict[str, Datatype]] = {code: PREDEFINED[name] for code, name in FORTRAN_CODES.items()}


def of_format(code: str) -> Datatype:
    """The datatype with a code, or of a buffer with that format.

    Raises
    ------
    KeyError
        If no predefined datatype has it.
    BufferError
        If its byte order is not the machine's.
    """
    found = _typedict.get(code)
    if found is None:
        found = _typedict.get(_without_byte_order(code))
    if found is None:
        raise KeyError(f"cannot map {code!r} to MPI datatype")
    return found


def _without_byte_order(code: str) -> str:
    if code[:1] == "@" or code[:1] == ("<" if byteorder == "little" else ">"):
        return code[1:]
    if code[:1] in {"<", ">", "!"}:
        raise BufferError(f"message: format {code!r} is not in this machine's byte order: convert it first")
    return code


def as_datatype(datatype: Datatype | str) -> Datatype:
    """The datatype that a message names, itself or by its code."""
    return datatype if isinstance(datatype, Datatype) else of_format(datatype)


def _typecode(datatype: Datatype) -> str | None:
    """Map a datatype to its character code or type string, or None when it has none."""
    return datatype.layout.code or None if datatype else None


def _typealign(datatype: Datatype) -> int | None:
    """Alignment of a datatype in bytes."""
    return datatype.layout.alignment if datatype else None


def __getattr__(name: str) -> Any:
    try:
        return PREDEFINED[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
