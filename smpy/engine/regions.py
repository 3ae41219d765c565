"""Named parts of a program, for its trace."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType
from typing import Self

from smpy.engine.running import current, is_running, named_call

__all__ = ["region"]


class region(ContextDecorator):  # noqa: N801  # a program calls it like a function
    """A part of the running rank's time, under a name: a context manager, and a decorator of functions.

    A trace (``--trace``) tells when each rank was in it, and analyses can be restricted to it. It takes no simulated
    time; without a trace, and under a real MPI, it does nothing.

    Parameters
    ----------
    name : str
        Regions of one name are one.

    Raises
    ------
    TypeError
        If the name is no text.

    Examples
    --------
    >>> with region("solve"):
    ...     pass
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a region has a name, and {name!r} is a {type(name).__name__}")
        self.name = name

    def __enter__(self) -> Self:
        _mark(self.name, is_begin=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _mark(self.name, is_begin=False)


def _mark(name: str, *, is_begin: bool) -> None:
    if is_running() and current().is_traced and current().is_here():
        _mark_traced(name, is_begin)


@named_call("")
def _mark_traced(name: str, is_begin: bool) -> None:
    current().mark_region(name, is_begin=is_begin)
