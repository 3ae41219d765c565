"""Representation of data that all machines share, external32 (MPI 4.1, 14.6.2): big-endian, IEEE 754."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from smpy.mpi.data.basic_types import BASIC
from smpy.mpi.data.typemaps import Typemap

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["external_size", "from_external", "to_external"]

_OTHER_SIZES: Final = {"LONG": "i4", "UNSIGNED_LONG": "u4", "WCHAR": "u2"}
"""Datatypes whose size in the standard differs from the C size here, as type strings of numpy."""
_FRACTION: Final = 2**48 - 1
_EXPLICIT: Final = 2**63


def external_size(typemap: Typemap) -> int:
    """Size of one entry in this representation, in bytes."""
    if typemap.elements:
        return sum(count * external_size(part) for count, part in typemap.elements)
    return int(_typestr(typemap)[1:]) if typemap.size else 0


def to_external(typemap: Typemap, packed: NDArray[Any]) -> NDArray[Any]:
    """Convert entries, one per row, to bytes of this representation.

    Parameters
    ----------
    typemap : Typemap
        Typemap of an entry.
    packed : (n, size) array of uint8
        Their packed bytes.
    """
    return _converted(typemap, packed, is_outward=True)


def from_external(typemap: Typemap, external: NDArray[Any]) -> NDArray[Any]:
    """Convert entries, one per row, from bytes of this representation to packed bytes."""
    return _converted(typemap, external, is_outward=False)


def _converted(typemap: Typemap, rows: NDArray[Any], *, is_outward: bool) -> NDArray[Any]:
    import numpy as np

    if not rows.size:
        return rows
    if not typemap.elements:
        return _outward(typemap, rows) if is_outward else _inward(typemap, rows)
    columns, at = [], 0
    for count, part in typemap.elements:
        width = part.size if is_outward else external_size(part)
        entries = rows[:, at : at + count * width].reshape(len(rows) * count, width)
        columns.append(_converted(part, entries, is_outward=is_outward).reshape(len(rows), -1))
        at += count * width
    return np.hstack(columns)


def _typestr(typemap: Typemap) -> str:
    return _OTHER_SIZES.get(typemap.code, BASIC[typemap.code].typestr)


def _native(typemap: Typemap) -> str:
    """Type string of an element here, as in numpy; characters wider than a byte are numbers."""
    typestr = BASIC[typemap.code].typestr
    return "u4" if typestr == "U1" else typestr


def _is_extended(typemap: Typemap) -> bool:
    """Whether an element consists of x87 numbers, in 16 bytes each."""
    import numpy as np

    return _typestr(typemap) in {"f16", "c32"} and np.finfo(np.longdouble).nmant == 63


def _outward(typemap: Typemap, rows: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    values = np.ascontiguousarray(rows)
    if _is_extended(typemap):
        return _quadruple(values.reshape(-1, 16)).reshape(rows.shape)
    converted = values.view(_native(typemap)).astype(f">{_typestr(typemap)}")
    return converted.view(np.uint8).reshape(len(rows), -1)


def _inward(typemap: Typemap, rows: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    values = np.ascontiguousarray(rows)
    if _is_extended(typemap):
        return _extended(values.reshape(-1, 16)).reshape(rows.shape)
    converted = values.view(f">{_typestr(typemap)}").astype(_native(typemap))
    return converted.view(np.uint8).reshape(len(rows), -1)


def _quadruple(rows: NDArray[Any]) -> NDArray[Any]:
    """Convert x87 numbers (sign, exponent of 15 bits, significand of 64) to binary128 (with an implied first bit)."""
    import numpy as np

    halves = rows.view("<u8")
    significand, sign_and_exponent = halves[:, 0], halves[:, 1] & np.uint64(0xFFFF)
    quadruple = np.empty_like(halves)
    quadruple[:, 0] = sign_and_exponent << np.uint64(48) | (significand >> np.uint64(15)) & np.uint64(_FRACTION)
    quadruple[:, 1] = significand << np.uint64(49)
    return quadruple.astype(">u8").view(np.uint8)


def _extended(rows: NDArray[Any]) -> NDArray[Any]:
    """Convert binary128 numbers to x87 numbers, rounding towards zero."""
    import numpy as np

    high, low = rows.view(">u8").astype("<u8").T
    sign_and_exponent = high >> np.uint64(48)
    is_normal = (sign_and_exponent & np.uint64(0x7FFF)) != 0
    first_bit = np.where(is_normal, np.uint64(_EXPLICIT), np.uint64(0))
    significand = first_bit | (high & np.uint64(_FRACTION)) << np.uint64(15) | low >> np.uint64(49)
    return np.stack([significand, sign_and_exponent], axis=1).view(np.uint8)
