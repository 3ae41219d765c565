"""Blocks of POSIX shared memory and temporary files have names that only this run uses.

Random numbers repeat in every run (`randomness`), so the names that programs draw for shared memory repeat too.
Without care they would collide with blocks of a run beside this one, or of a killed run. The program sees the name
that it drew; the system sees it behind a prefix that no other run uses. A name that no rank created refers to a block
from outside the run. `multiprocessing`'s tracker knows the system's names and unlinks them if the run is killed.
`tempfile` draws names until one is free; it draws them from the system's own randomness.

Names of `tempfile`, which are drawn until one is free, come from the system's own randomness.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from smpy.emulate.patches import Patches

_KIND: Final = "shared_memory"
"""Name of POSIX shared memory in the resource tracker."""


def new_prefix() -> str:
    """Prefix of names that no other run uses."""
    return f"/smpy-{os.urandom(4).hex()}-"


def install_shared_memory(patches: Patches, prefix: str) -> None:
    """Make names of shared memory the run's own until the patches are undone, which unlinks remaining blocks."""
    memory, tracker = map(import_module, ("_posixshmem", "multiprocessing.resource_tracker"))
    names = _Names(prefix, memory, tracker)
    for module in (memory, tracker):
        for name in ("shm_open", "shm_unlink", "register", "unregister"):
            if hasattr(module, name):
                patches.attribute(module, name, getattr(names, name))
    patches.later(names.unlink_rest)


def install_temporary_names(patches: Patches) -> None:
    """Make `tempfile`, which has been imported, draw names that no other run draws, until the patches are undone."""
    system: Callable[[int], bytes] = os.urandom  # outside the ranks, the system's
    seed = system(32)
    patches.attribute(sys.modules["tempfile"], "_Random", lambda: random.Random(seed + b"%d" % os.getpid()))


class _Names:
    """Blocks of shared memory by the names that programs use.

    Parameters
    ----------
    prefix : str
        Begin of the names that the system sees.
    memory, tracker : module
        Functions of the system, and `multiprocessing`'s process that unlinks what others leave.
    """

    def __init__(self, prefix: str, memory: Any, tracker: Any) -> None:
        self._prefix = prefix
        self._open, self._unlink = memory.shm_open, memory.shm_unlink
        self._register, self._unregister = tracker.register, tracker.unregister
        self._created: set[str] = set()
        self._tracked: set[str] = set()
        self._foreign: set[str] = set()

    def _own(self, name: str) -> str:
        return self._prefix + name.removeprefix("/")

    def shm_open(self, path: str, flags: int, mode: int = 0o777) -> int:
        """Open a block; without ``O_CREAT``, the run's block of this name or one from outside."""
        try:
            block: int = self._open(self._own(path), flags, mode)
        except FileNotFoundError:
            block = self._open(path, flags, mode)
            self._foreign.add(path)
            return block
        except OSError as error:
            error.filename = path
            raise
        self._foreign.discard(path)
        if flags & os.O_CREAT:
            self._created.add(path)
        return block

    def shm_unlink(self, path: str) -> None:
        """Unlink the run's block of this name, or one from outside."""
        try:
            self._unlink(self._own(path))
        except FileNotFoundError:
            self._unlink(path)

    def _tracked_name(self, name: str, rtype: str) -> str:
        return self._own(name) if rtype == _KIND and name not in self._foreign else name

    def register(self, name: str, rtype: str) -> None:
        """Ask the tracker to unlink a resource if the process ends without unlinking it."""
        self._register(self._tracked_name(name, rtype), rtype)
        if rtype == _KIND:
            self._tracked.add(name)

    def unregister(self, name: str, rtype: str) -> None:
        """Withdraw a resource from the tracker."""
        self._unregister(self._tracked_name(name, rtype), rtype)
        if rtype == _KIND:
            self._tracked.discard(name)

    def unlink_rest(self) -> None:
        """Unlink the blocks that the ranks left."""
        for path in self._created:
            with suppress(FileNotFoundError):
                self._unlink(self._own(path))
            if path in self._tracked:
                self._unregister(self._own(path), _KIND)
