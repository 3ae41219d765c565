"""`Datatype`, the predefined datatypes, and those of type strings."""

from __future__ import annotations

from sys import byteorder
from typing import Any, Final, Self

from smpy.mpi.data.basic_types import C_CODES, CODES, FORTRAN_CODES
from smpy.mpi.data.datatype_constructors import Constructors
from smpy.mpi.data.datatype_contents import Contents
from smpy.mpi.data.datatype_core import DatatypeCore
from smpy.mpi.data.datatype_packing import Packing
from smpy.mpi.data.predefined_types import LAYOUTS, f90_complex, f90_integer, f90_real, pair_of, sized
from smpy.mpi.state.handle import of_family

__all__ = ["BYTE", "DATATYPE_NULL", "PREDEFINED", "Datatype", "_typecode", "as_datatype", "of_format"]


class Datatype(Constructors, Contents, Packing):
    """Type of a buffer's entries: their bytes in memory, and their kind.

    Parameters
    ----------
    datatype : Datatype, optional
        Datatype to make another handle of; without it, the handle is null.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, datatype: Datatype | None = None) -> Self:
        return cls._of(None if datatype is None else of_family(datatype, DatatypeCore)._layout_or_null)

    @classmethod
    def Get_value_index(cls, value: Datatype, index: Datatype) -> Self:
        """Pair of a value and a location, for ``MINLOC`` and ``MAXLOC``; null when there is none.

        Parameters
        ----------
        value, index : Datatype
            Datatypes of the value and the location.
        """
        pair = pair_of(value._layout, index._layout)
        return cls._of(pair)

    @classmethod
    def Create_f90_integer(cls, r: int) -> Self:
        """Fortran integer of a number of decimal digits, as a predefined datatype.

        Parameters
        ----------
        r : int
            Digits.
        """
        return cls._of(f90_integer(r))

    @classmethod
    def Create_f90_real(cls, p: int, r: int) -> Self:
        """Fortran real of a precision and a range, as a predefined datatype.

        Parameters
        ----------
        p : int
            Decimal digits, or ``UNDEFINED``.
        r : int
            Exponents of ten, or ``UNDEFINED``.
        """
        return cls._of(f90_real(p, r))

    @classmethod
    def Create_f90_complex(cls, p: int, r: int) -> Self:
        """Fortran complex number of a precision and a range, as a predefined datatype.

        Parameters
        ----------
        p : int
            Decimal digits, or ``UNDEFINED``.
        r : int
            Exponents of ten, or ``UNDEFINED``.
        """
        return cls._of(f90_complex(p, r))

    @classmethod
    def Match_size(cls, typeclass: int, size: int) -> Self:
        """Fortran datatype of a class and a size.

        Parameters
        ----------
        typeclass : int
            ``TYPECLASS_LOGICAL``, ``TYPECLASS_INTEGER``, ``TYPECLASS_REAL`` or ``TYPECLASS_COMPLEX``.
        size : int
            Size in bytes.
        """
        return cls._of(sized(typeclass, size))

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
        """Predefined datatype of a character code or type string.

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
    def typestr(self) -> str:
        """Type string of an entry, as in numpy."""
        layout = self._layout
        return layout.typestr if layout.kind != "pair" else f"V{layout.extent}"

    @property
    def typechar(self) -> str:
        """Character code of an entry."""
        layout = self._layout
        return _CHARACTER_OF.get(layout.typestr, layout.code) if len(layout.code) > 1 else layout.code or "V"


_CHARACTER_OF: Final = {
    **dict(zip(("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"), "bhilBHIL", strict=True)),
    **dict(zip(("f2", "f4", "f8", "f16", "c8", "c16", "c32"), "efdgFDG", strict=True)),
}

PREDEFINED: Final[dict[str, Datatype]] = {name: Datatype._of(layout) for name, layout in LAYOUTS.items()}
"""Predefined datatypes by their names in `mpi4py.MPI`."""
Datatype._know(PREDEFINED)

DATATYPE_NULL: Final = PREDEFINED["DATATYPE_NULL"]
BYTE: Final = PREDEFINED["BYTE"]

_typedict: Final[dict[str, Datatype]] = {code: PREDEFINED[name] for code, name in CODES.items()}
_typedict_c: Final[dict[str, Datatype]] = {code: PREDEFINED[name] for code, name in C_CODES.items()}
_typedict_f: Final[dict[str, Datatype]] = {code: PREDEFINED[name] for code, name in FORTRAN_CODES.items()}


def of_format(code: str) -> Datatype:
    """Datatype of a code, or of a buffer with that format.

    Raises
    ------
    KeyError
        If no predefined datatype has it.
    BufferError
        If its byte order is not the machine's.
    """
    datatype = _typedict.get(code)
    if datatype is None:
        datatype = _typedict.get(_without_byte_order(code))
    if datatype is None:
        raise KeyError(f"cannot map {code!r} to MPI datatype")
    return datatype


def _without_byte_order(code: str) -> str:
    if code[:1] == "@" or code[:1] == ("<" if byteorder == "little" else ">"):
        return code[1:]
    if code[:1] in {"<", ">", "!"}:
        raise BufferError(f"message: format {code!r} is not in this machine's byte order: convert it first")
    return code


def as_datatype(datatype: Datatype | str) -> Datatype:
    """Datatype that a message specifies, directly or by its code."""
    if isinstance(datatype, Datatype):
        return datatype
    if not isinstance(datatype, str):
        raise TypeError(f"message: a datatype is required, such as MPI.DOUBLE or 'd', not {type(datatype).__name__}")
    return of_format(datatype)


def _typecode(datatype: Datatype) -> str | None:
    """Map a datatype to its character code or type string, or None when it has none."""
    return datatype._layout.code or None if datatype else None


def _typealign(datatype: Datatype) -> int | None:
    """Alignment of a predefined datatype in bytes; None for any other."""
    return datatype._layout.alignment if datatype and datatype._layout.is_basic else None


def __getattr__(name: str) -> Any:
    try:
        return PREDEFINED[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
