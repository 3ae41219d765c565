"""`threading.local` for threads of ranks: values are exchanged when another thread runs.

Every thread of a rank has its own values; ranks themselves have those of the one thread in which they all run.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakSet

_all: Final[WeakSet[Local]] = WeakSet()


class Local:
    """`threading.local`: an object whose attributes each thread has for itself."""

    __slots__ = ("__dict__", "__weakref__", "_smpy_arguments", "_smpy_of", "_smpy_ready")

    _smpy_of: dict[int, dict[str, Any]]
    _smpy_ready: set[int]
    _smpy_arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        local = object.__new__(cls)
        object.__setattr__(local, "_smpy_of", {})
        object.__setattr__(local, "_smpy_ready", {LocalValues.in_force})
        object.__setattr__(local, "_smpy_arguments", (args, kwargs))
        _all.add(local)
        return local

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__init__ is not object.__init__:
            cls.__getattribute__ = _initialising(cls.__getattribute__)  # type: ignore[method-assign]
            cls.__setattr__ = _initialising(cls.__setattr__)  # type: ignore[method-assign]
            cls.__delattr__ = _initialising(cls.__delattr__)  # type: ignore[method-assign]

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _initialising(real: Any) -> Any:
    """A method that first calls `__init__` in a thread that has not used the object."""

    def method(self: Any, *args: Any) -> Any:
        ready = object.__getattribute__(self, "_smpy_ready")
        if LocalValues.in_force not in ready:
            ready.add(LocalValues.in_force)
            given, named = object.__getattribute__(self, "_smpy_arguments")
            type(self).__init__(self, *given, **named)
        return real(self, *args)

    return method


class LocalValues:
    """Values in force: those of a thread's timeline, or -1, of the ranks themselves."""

    in_force = -1

    @classmethod
    def enter(cls, timeline: int) -> None:
        """Put the values of a thread in force."""
        before = cls.in_force
        if timeline == before:
            return
        cls.in_force = timeline
        for local in list(_all):
            of: dict[int, dict[str, Any]] = object.__getattribute__(local, "_smpy_of")
            of[before] = object.__getattribute__(local, "__dict__")
            object.__setattr__(local, "__dict__", of.pop(timeline, {}))

    @classmethod
    def drop(cls, timeline: int) -> None:
        """Forget the values of a thread that has ended."""
        if timeline == cls.in_force:
            cls.enter(-1)
        for local in list(_all):
            object.__getattribute__(local, "_smpy_of").pop(timeline, None)
            object.__getattribute__(local, "_smpy_ready").discard(timeline)
