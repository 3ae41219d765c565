"""What all handles of MPI have in common: a number, comparison by it, and a name when they are predefined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from smpy.mpi.exceptions import fail

__all__ = ["Handle"]

H = TypeVar("H", bound="Handle")


class Handle:
    """A reference to something of MPI's."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # two handles of one thing are equal, and either may be freed

    _family: ClassVar[str]
    """Handles are compared within a family: a class and its subclasses."""
    _null: ClassVar[int] = 0
    """The number of a handle that refers to nothing."""
    _named: ClassVar[Mapping[str, Any]] = {}
    """The predefined objects of the family, by name."""

    def _identity(self) -> int:
        """What is compared: equal for all handles of one thing."""
        raise NotImplementedError

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, Handle) or self._family != other._family:
            return NotImplemented
        return self._identity() == other._identity()

    def __ne__(self, other: object, /) -> bool:
        if not isinstance(other, Handle) or self._family != other._family:
            return NotImplemented
        return self._identity() != other._identity()

    def __bool__(self) -> bool:
        return self._identity() != self._null

    def __reduce__(self) -> str | tuple[Any, ...]:
        for name, known in self._named.items():
            if known is self:
                return name
        if not self:
            return type(self), ()
        for known in self._named.values():
            if known == self:
                return type(self), (known,)
        raise ValueError(f"cannot pickle a {type(self).__name__} that is not predefined")

    @classmethod
    def know(cls, named: Mapping[str, Any]) -> None:
        """Say which objects are predefined."""
        cls._named = named

    @property
    def handle(self) -> int:
        """The number of what the handle refers to."""
        return self._identity()

    @classmethod
    def fromhandle(cls, handle: int) -> Self:
        """The object with a number that `handle` gave; only predefined ones can be found again."""
        for known in cls._named.values():
            if known._identity() == handle and isinstance(known, cls):
                return known
        return fail("ERR_ARG", f"{handle} is not the handle of a predefined {cls.__name__}")

    def toint(self) -> int:
        """The number of what the handle refers to."""
        return self._identity()

    @classmethod
    def fromint(cls, arg: int, /) -> Self:
        """The object with a number that `toint` gave."""
        return cls.fromhandle(arg)

    def py2f(self) -> int:
        """The number of what the handle refers to, as Fortran would see it."""
        return self._identity()

    @classmethod
    def f2py(cls, arg: int) -> Self:
        """The object with a number that `py2f` gave."""
        return cls.fromhandle(arg)

    def _is_predefined(self) -> bool:
        return any(known._identity() == self._identity() for known in self._named.values())

    def free(self) -> None:
        """Give back what the handle refers to, unless it is null or predefined."""
        if self and not self._is_predefined():
            self.Free()

    def Free(self) -> None:
        """Give back what the handle refers to; the handle becomes null."""
        raise NotImplementedError
