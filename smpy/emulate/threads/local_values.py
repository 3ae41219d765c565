"""`threading.local` for threads of ranks: values are swapped when another thread runs.

Every thread of a rank has its own values. Ranks themselves share the values of the one thread in which they all run.
Values of objects that a rank has made are swapped when another timeline of that rank runs; those of shared modules
are swapped at every switch.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import ref

from smpy.emulate.ranks import RankState, is_for_all, running


class LocalValues:
    """`Local` objects of one rank, or of shared modules; `in_force` is the timeline with active values (-1: ranks)."""

    def __init__(self) -> None:
        self.in_force = -1
        self._locals: dict[ref[Local], None] = {}

    def add(self, local: Local) -> None:
        """Swap the values of a further object."""
        self._locals[ref(local, self._forget)] = None

    def _forget(self, dead: ref[Local]) -> None:
        self._locals.pop(dead, None)

    def _living(self) -> list[Local]:
        return [local for each in tuple(self._locals) if (local := each()) is not None]

    def enter(self, timeline: int) -> None:
        """Activate the values of a thread."""
        before = self.in_force
        if timeline == before:
            return
        self.in_force = timeline
        for local in self._living():
            attributes: dict[int, dict[str, Any]] = object.__getattribute__(local, "_smpy_of")
            attributes[before] = object.__getattribute__(local, "__dict__")
            object.__setattr__(local, "__dict__", attributes.pop(timeline, {}))

    def drop(self, timeline: int) -> None:
        """Forget the values of a thread that has ended."""
        if timeline == self.in_force:
            self.enter(-1)
        for local in self._living():
            object.__getattribute__(local, "_smpy_of").pop(timeline, None)
            object.__getattribute__(local, "_smpy_ready").discard(timeline)


SHARED_VALUES: Final = LocalValues()


def values_of(state: RankState) -> LocalValues:
    """`Local` objects of a rank."""
    values: LocalValues | None = state.local_values
    if values is None:
        values = state.local_values = LocalValues()
    return values


class Local:
    """`threading.local`: an object with separate attributes for each thread."""

    __slots__ = ("__dict__", "__weakref__", "_smpy_arguments", "_smpy_of", "_smpy_ready", "_smpy_values")

    _smpy_of: dict[int, dict[str, Any]]
    _smpy_ready: set[int]
    _smpy_values: LocalValues
    _smpy_arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        local = object.__new__(cls)
        object.__setattr__(local, "_smpy_of", {})
        state = running()
        values = SHARED_VALUES if state is None or is_for_all() else values_of(state)
        object.__setattr__(local, "_smpy_values", values)
        object.__setattr__(local, "_smpy_ready", {values.in_force})
        object.__setattr__(local, "_smpy_arguments", (args, kwargs))
        values.add(local)
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
    """Wrap a method: it first calls `__init__` in a thread that has not used the object yet."""

    def method(self: Any, *args: Any) -> Any:
        ready = object.__getattribute__(self, "_smpy_ready")
        in_force = object.__getattribute__(self, "_smpy_values").in_force
        if in_force not in ready:
            ready.add(in_force)
            positional, named = object.__getattribute__(self, "_smpy_arguments")
            type(self).__init__(self, *positional, **named)
        return real(self, *args)

    return method
