"""Reserves for the end of a run, safe from changes by the program: builtins, modules, limits, some memory."""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from typing import Any, Final

import smpy.records.this_machine  # noqa: F401  # a run's record needs it, perhaps when there is no memory left to load it

_WORDS_BYTES: Final = 4 << 20
_END_BYTES: Final = 16 << 20
_END_BYTES_PER_RANK: Final = 256
_MODULES: Final = (
    "builtins", "sys", "os", "os.path", "io", "traceback", "linecache", "tokenize", "json", "math", "time", "pathlib",
)  # fmt: skip


class Rescue:
    """State of the process before a run, restored at its end; created just before the run begins.

    Parameters
    ----------
    n_ranks : int
        Number of dates that the end has to tell.
    """

    def __init__(self, n_ranks: int) -> None:
        self._for_words: mmap.mmap | None = _address_space(_WORDS_BYTES)
        self._for_end: mmap.mmap | None = _address_space(_END_BYTES + n_ranks * _END_BYTES_PER_RANK)
        self._loaded = dict(sys.modules)
        loaded = [sys.modules[name] for name in _MODULES if name in sys.modules]
        self._contents: list[tuple[dict[str, Any], dict[str, Any]]] = [(vars(one), vars(one).copy()) for one in loaded]
        self._recursion_limit = sys.getrecursionlimit()
        self._limits = _limits()

    def give_memory(self) -> None:
        """Free the reserved memory so that a rank can report that memory ran out; other ranks may continue."""
        self._for_words = None

    def restore(self) -> None:
        """Restore objects and limits that a program has replaced, removed or lowered."""
        self._for_words = self._for_end = None
        for contents, before in self._contents:
            contents.update(before)
        sys.modules.update(self._loaded)
        sys.setrecursionlimit(self._recursion_limit)
        now = _limits()
        for number, limits in self._limits.items():
            if limits != now[number]:
                _raise_limit(number, limits, now[number][1])


def _address_space(size_bytes: int) -> mmap.mmap:
    """Memory whose pages are never touched: a heap may clear what it gives, and does so after the first run."""
    try:
        return mmap.mmap(-1, size_bytes, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise MemoryError from error


def _limits() -> dict[int, tuple[int, int]]:
    """The process's limits, the soft and the hard one, by number."""
    try:
        import resource
    except ImportError:  # some systems lack some of these limits
        return {}
    numbers = {number for name, number in vars(resource).items() if name.startswith("RLIMIT_")}
    return {number: resource.getrlimit(number) for number in numbers}


def _raise_limit(number: int, before: tuple[int, int], hard: int) -> None:
    """Restore a limit, up to the hard limit if the program lowered that too."""
    import resource

    for limits in (before, (before[0], hard), (hard, hard)):
        with suppress(ValueError, OSError):
            resource.setrlimit(number, limits)
            return
