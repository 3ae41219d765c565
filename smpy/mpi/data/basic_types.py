"""The predefined datatypes: a table of names, kinds and type strings; sizes follow from these.

Kinds are those of the standard's rules for reductions (MPI 4.1, 6.9.2): integer, floating, logical, complex, byte,
character; a pair is a value and a location. Sizes are those of the LP64 model (C) and of 4-byte default Fortran
types.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ALIASES", "BASIC", "CODES", "C_CODES", "FORTRAN_CODES", "NOT_HERE", "PAIRS", "Basic"]


class Basic(NamedTuple):
    """One basic datatype: its kind, numpy's type string, and the character or string that names it in a message."""

    kind: str
    typestr: str
    code: str

    @property
    def size(self) -> int:
        """Size in bytes."""
        return 4 * int(self.typestr[1:]) if self.typestr[0] == "U" else int(self.typestr[1:])

    @property
    def alignment(self) -> int:
        """Alignment in bytes; a complex type has that of its real part."""
        return self.size // 2 if self.kind == "complex" else self.size


BASIC: dict[str, Basic] = {
    "PACKED": Basic("byte", "u1", "B"),
    "BYTE": Basic("byte", "u1", "B"),
    "AINT": Basic("integer", "i8", "p"),
    "OFFSET": Basic("integer", "i8", "p"),
    "COUNT": Basic("integer", "i8", "p"),
    "CHAR": Basic("character", "S1", "c"),
    "WCHAR": Basic("character", "U1", "U"),
    "SIGNED_CHAR": Basic("integer", "i1", "b"),
    "SHORT": Basic("integer", "i2", "h"),
    "INT": Basic("integer", "i4", "i"),
    "LONG": Basic("integer", "i8", "l"),
    "LONG_LONG": Basic("integer", "i8", "q"),
    "UNSIGNED_CHAR": Basic("integer", "u1", "B"),
    "UNSIGNED_SHORT": Basic("integer", "u2", "H"),
    "UNSIGNED": Basic("integer", "u4", "I"),
    "UNSIGNED_LONG": Basic("integer", "u8", "L"),
    "UNSIGNED_LONG_LONG": Basic("integer", "u8", "Q"),
    "FLOAT": Basic("floating", "f4", "f"),
    "DOUBLE": Basic("floating", "f8", "d"),
    "LONG_DOUBLE": Basic("floating", "f16", "g"),
    "C_BOOL": Basic("logical", "b1", "?"),
    "INT8_T": Basic("integer", "i1", "i1"),
    "INT16_T": Basic("integer", "i2", "i2"),
    "INT32_T": Basic("integer", "i4", "i4"),
    "INT64_T": Basic("integer", "i8", "i8"),
    "UINT8_T": Basic("integer", "u1", "u1"),
    "UINT16_T": Basic("integer", "u2", "u2"),
    "UINT32_T": Basic("integer", "u4", "u4"),
    "UINT64_T": Basic("integer", "u8", "u8"),
    "FLOAT16_T": Basic("floating", "f2", "e"),
    "C_FLOAT_COMPLEX": Basic("complex", "c8", "F"),
    "C_DOUBLE_COMPLEX": Basic("complex", "c16", "D"),
    "C_LONG_DOUBLE_COMPLEX": Basic("complex", "c32", "G"),
    "CXX_BOOL": Basic("logical", "b1", "?"),
    "CXX_FLOAT_COMPLEX": Basic("complex", "c8", "F"),
    "CXX_DOUBLE_COMPLEX": Basic("complex", "c16", "D"),
    "CXX_LONG_DOUBLE_COMPLEX": Basic("complex", "c32", "G"),
    "CHARACTER": Basic("character", "S1", "c"),
    "LOGICAL": Basic("logical", "i4", "i"),
    "INTEGER": Basic("integer", "i4", "i"),
    "REAL": Basic("floating", "f4", "f"),
    "DOUBLE_PRECISION": Basic("floating", "f8", "d"),
    "COMPLEX": Basic("complex", "c8", "F"),
    "DOUBLE_COMPLEX": Basic("complex", "c16", "D"),
    "LOGICAL1": Basic("logical", "i1", "b"),
    "LOGICAL2": Basic("logical", "i2", "h"),
    "LOGICAL4": Basic("logical", "i4", "i"),
    "LOGICAL8": Basic("logical", "i8", "l"),
    "INTEGER1": Basic("integer", "i1", "i1"),
    "INTEGER2": Basic("integer", "i2", "i2"),
    "INTEGER4": Basic("integer", "i4", "i4"),
    "INTEGER8": Basic("integer", "i8", "i8"),
    "REAL2": Basic("floating", "f2", "f2"),
    "REAL4": Basic("floating", "f4", "f4"),
    "REAL8": Basic("floating", "f8", "f8"),
    "REAL16": Basic("floating", "f16", "f16"),
    "COMPLEX8": Basic("complex", "c8", "c8"),
    "COMPLEX16": Basic("complex", "c16", "c16"),
    "COMPLEX32": Basic("complex", "c32", "c32"),
}

PAIRS: dict[str, tuple[str, str, str]] = {
    "SHORT_INT": ("MPI_SHORT_INT", "SHORT", "INT"),
    "INT_INT": ("MPI_2INT", "INT", "INT"),
    "LONG_INT": ("MPI_LONG_INT", "LONG", "INT"),
    "FLOAT_INT": ("MPI_FLOAT_INT", "FLOAT", "INT"),
    "DOUBLE_INT": ("MPI_DOUBLE_INT", "DOUBLE", "INT"),
    "LONG_DOUBLE_INT": ("MPI_LONG_DOUBLE_INT", "LONG_DOUBLE", "INT"),
}
"""Name of each pair in the standard, with its value and location types."""

ALIASES: dict[str, str] = {
    "TWOINT": "INT_INT",
    "FLOAT32_T": "FLOAT",
    "FLOAT64_T": "DOUBLE",
    "C_COMPLEX": "C_FLOAT_COMPLEX",
    "UNSIGNED_INT": "UNSIGNED",
    "SIGNED_SHORT": "SHORT",
    "SIGNED_INT": "INT",
    "SIGNED_LONG": "LONG",
    "SIGNED_LONG_LONG": "LONG_LONG",
    "BOOL": "C_BOOL",
    "SINT8_T": "INT8_T",
    "SINT16_T": "INT16_T",
    "SINT32_T": "INT32_T",
    "SINT64_T": "INT64_T",
    "F_BOOL": "LOGICAL",
    "F_INT": "INTEGER",
    "F_FLOAT": "REAL",
    "F_DOUBLE": "DOUBLE_PRECISION",
    "F_COMPLEX": "COMPLEX",
    "F_FLOAT_COMPLEX": "COMPLEX",
    "F_DOUBLE_COMPLEX": "DOUBLE_COMPLEX",
}
"""Aliases of the same datatypes."""

NOT_HERE = ("BFLOAT16_T", "COMPLEX4", "INTEGER16", "LOGICAL16")
"""Optional datatypes that exist neither in this C model nor in numpy: null."""

C_CODES: dict[str, str] = {
    **{BASIC[name].code: name for name in ("C_BOOL", "SIGNED_CHAR", "SHORT", "INT", "LONG", "LONG_LONG")},
    **{BASIC[name].code: name for name in ("UNSIGNED_CHAR", "UNSIGNED_SHORT", "UNSIGNED", "UNSIGNED_LONG")},
    **{BASIC[name].code: name for name in ("UNSIGNED_LONG_LONG", "FLOAT", "DOUBLE", "LONG_DOUBLE")},
    **{BASIC[name].code: name for name in ("C_FLOAT_COMPLEX", "C_DOUBLE_COMPLEX", "C_LONG_DOUBLE_COMPLEX")},
    "b1": "C_BOOL",
    **{BASIC[name].code: name for name in ("INT8_T", "INT16_T", "INT32_T", "INT64_T")},
    **{BASIC[name].code: name for name in ("UINT8_T", "UINT16_T", "UINT32_T", "UINT64_T")},
    "f2": "FLOAT16_T",
    "f4": "FLOAT",
    "f8": "DOUBLE",
    "f16": "LONG_DOUBLE",
    "c8": "C_FLOAT_COMPLEX",
    "c16": "C_DOUBLE_COMPLEX",
    "c32": "C_LONG_DOUBLE_COMPLEX",
}
"""Codes of the C datatypes."""

CODES: dict[str, str] = {
    **C_CODES,
    "e": "FLOAT16_T",
    "Zf": "C_FLOAT_COMPLEX",
    "Zd": "C_DOUBLE_COMPLEX",
    "Zg": "C_LONG_DOUBLE_COMPLEX",
    "n": "COUNT",
    "N": "UNSIGNED_LONG",
    "p": "AINT",
    "P": "UNSIGNED_LONG",
    **dict.fromkeys(("c", "a", "S", "S1", "s", "1s"), "CHAR"),
    **dict.fromkeys(("U", "U1", "w", "1w"), "WCHAR"),
    **dict.fromkeys(("u", "1u"), "UINT16_T"),
    **dict.fromkeys(("M", "M8", "m", "m8"), "INT64_T"),
}
"""Formats of the buffer protocol (PEP 3118) and type strings of numpy."""

FORTRAN_CODES: dict[str, str] = {
    "l": "LOGICAL",
    "i": "INTEGER",
    "r": "REAL",
    "s": "REAL",
    "d": "DOUBLE_PRECISION",
    "c": "COMPLEX",
    "z": "DOUBLE_COMPLEX",
    **{f"l{size}": f"LOGICAL{size}" for size in (1, 2, 4, 8)},
    **{f"i{size}": f"INTEGER{size}" for size in (1, 2, 4, 8)},
    **{f"r{size}": f"REAL{size}" for size in (2, 4, 8, 16)},
    **{f"c{size}": f"COMPLEX{size}" for size in (8, 16, 32)},
}
"""Codes of the Fortran datatypes."""
