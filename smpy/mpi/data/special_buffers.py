"""Constants passed in place of a buffer: `BOTTOM`, `IN_PLACE` and `BUFFER_AUTOMATIC`, all without bytes."""

from __future__ import annotations

from typing import ClassVar, Final

from smpy.mpi.data.exporter import Exporter

__all__ = [
    "BOTTOM",
    "BUFFER_AUTOMATIC",
    "IN_PLACE",
    "BottomType",
    "BufferAutomaticType",
    "InPlaceType",
    "SpecialBuffer",
]


class SpecialBuffer(Exporter):
    """A constant that is equal to its number."""

    __slots__ = ()
    _name: ClassVar[str]
    _number: ClassVar[int]

    def __int__(self) -> int:
        return self._number

    def __bool__(self) -> bool:
        return self._number != 0

    def __hash__(self) -> int:
        return hash(self._number)

    def __eq__(self, other: object, /) -> bool:
        return self._number == (other._number if isinstance(other, SpecialBuffer) else other)

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


class BottomType(SpecialBuffer):
    """Type of `BOTTOM`."""

    __slots__ = ()
    _name, _number = "BOTTOM", 0

    def __index__(self) -> int:
        return self._number


class InPlaceType(SpecialBuffer):
    """Type of `IN_PLACE`."""

    __slots__ = ()
    _name, _number = "IN_PLACE", -1


class BufferAutomaticType(SpecialBuffer):
    """Type of `BUFFER_AUTOMATIC`."""

    __slots__ = ()
    _name, _number = "BUFFER_AUTOMATIC", -2


BOTTOM: Final = BottomType()
IN_PLACE: Final = InPlaceType()
BUFFER_AUTOMATIC: Final = BufferAutomaticType()
