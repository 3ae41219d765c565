"""The base of all handles: a number, comparison by it, and a name when they are predefined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self, TypeVar
from weakref import WeakValueDictionary

from smpy.mpi.state.exceptions import fail

__all__ = ["FixedClass", "Handle", "of_family"]

H = TypeVar("H", bound="Handle")

_shown: Final[WeakValueDictionary[tuple[str, int], Handle]] = WeakValueDictionary()
"""Handles whose number the program has asked for, for `fromhandle`."""


class FixedClass(type):
    """The class of MPI's classes: their attributes cannot be set, like those of mpi4py's compiled classes.

    All ranks share MPI's classes. Attributes of classes that a program derives from them can be set.
    """

    def __setattr__(cls, name: str, value: object) -> None:
        _check_assignable(cls, name)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        _check_assignable(cls, name)
        super().__delattr__(name)


def _check_assignable(kind: type, name: str) -> None:
    if kind.__module__ == "mpi4py.MPI":
        raise TypeError(f"cannot set {name!r} attribute of immutable type 'mpi4py.MPI.{kind.__name__}'")


class Handle(metaclass=FixedClass):
    """A reference to an object of MPI's."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # two handles of one thing are equal, and either may be freed

    _family: ClassVar[str]
    """Name of the family, a class and its subclasses, within which handles are compared."""
    _null_identity: ClassVar[int] = 0
    """The number of a handle that refers to nothing."""
    _predefined: ClassVar[Mapping[str, Any]] = {}
    """The predefined objects of the family, by name."""
    _giving_back: ClassVar[str] = "Free"
    """Name of the method that frees the object of a handle; the handle becomes null."""

    def _identity(self) -> int:
        """Number that handles are compared by: equal for all handles of one object."""
        raise NotImplementedError

    def _handle_number(self) -> int:
        """Number of the object as the program sees it; not negative."""
        return self._identity() if self else 0

    def _become_null(self) -> None:
        """Make the handle null."""
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
        return self._identity() != self._null_identity

    def __reduce__(self) -> str | tuple[Any, ...]:
        for name, known in self._predefined.items():
            if known is self:
                return name
        if not self:
            return type(self), ()
        for known in self._predefined.values():
            if known == self:
                return type(self), (known,)
        raise ValueError(f"cannot pickle a {type(self).__name__} that is not predefined")

    @classmethod
    def _know(cls, named: Mapping[str, Any]) -> None:
        """Set the predefined objects of the family."""
        cls._predefined = named

    @property
    def handle(self) -> int:
        """The number of the object that the handle refers to."""
        number = self._handle_number()
        _shown[self._family, number] = self
        return number

    @classmethod
    def fromhandle(cls, handle: int) -> Self:
        """The object with a number that `handle` gave.

        Parameters
        ----------
        handle : int
            The number of a predefined object, or of one that a handle still refers to.
        """
        for known in cls._predefined.values():
            if known._handle_number() == handle and isinstance(known, cls):
                return known
        if handle == 0:
            return cls()
        shown = _shown.get((cls._family, handle))
        if shown is None or shown._handle_number() != handle:
            return fail("ERR_ARG", f"{handle} is not the handle of a {cls.__name__} in use")
        kind: Any = cls  # every class of handles makes a further one of another
        new: Self = shown if isinstance(shown, cls) else kind(shown)
        return new

    def toint(self) -> int:
        """The number of the object that the handle refers to."""
        return self.handle

    @classmethod
    def fromint(cls, arg: int, /) -> Self:
        """The object with a number that `toint` gave."""
        return cls.fromhandle(arg)

    def py2f(self) -> int:
        """The number of the object that the handle refers to, as Fortran would see it."""
        return self.handle

    @classmethod
    def f2py(cls, arg: int) -> Self:
        """The object with a number that `py2f` gave."""
        return cls.fromhandle(arg)

    def _is_predefined(self) -> bool:
        return any(known._identity() == self._identity() for known in self._predefined.values())

    def free(self) -> None:
        """Free the object of the handle; a predefined object stays, a further handle of one becomes null."""
        if not self or any(known is self for known in self._predefined.values()):
            return
        if self._is_predefined():
            self._become_null()
        else:
            getattr(self, self._giving_back)()


def of_family(handle: object, kind: type[H]) -> H:
    """The argument of a constructor; raises ``TypeError`` unless it is a handle of the kind.

    Parameters
    ----------
    handle : object
        The argument.
    kind : type
        The class that the constructor takes handles of.
    """
    if not isinstance(handle, kind):
        raise TypeError(f"expected a {kind.__name__.removesuffix('Core')}, not a {type(handle).__name__}")
    return handle
