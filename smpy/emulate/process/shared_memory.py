"""Names in places that processes share: blocks of POSIX shared memory, and temporary files, are a run's own.

Random numbers are the same in every run (`randomness`), and so are names that programs draw for shared memory: they
would meet the blocks of a run beside this one, or of one that was killed. A program sees the names that it has drawn;
the system sees them behind a prefix that no other run has. Names that no rank has created mean blocks from outside the
run. `multiprocessing`'s tracker knows the system's names, so that it can unlink them when the run is killed.

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
"""The tracker's name for blocks of POSIX shared memory."""


def new_prefix() -> str:
    """Begin of names that no other run has."""
    return f"/smpy-{os.urandom(4).hex()}-"


def install_shared_memory(patches: Patches, prefix: str) -> None:
    """Have names of shared memory be those of a run until the patches are undone, which unlinks what is left."""
    memory, tracker = map(import_module, ("_posixshmem", "multiprocessing.resource_tracker"))
    names = _Names(prefix, memory, tracker)
    for module in (memory, tracker):
        for name in ("shm_open", "shm_unlink", "register", "unregister"):
            if hasattr(module, name):
                patches.attribute(module, name, getattr(names, name))
    patches.later(names.unlink_rest)


def install_temporary_names(patches: Patches) -> None:
    """Have `tempfile`, which has been imported, draw names that other runs do not, until the patches are undone."""
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
        """Open a block; without ``O_CREAT``, the run's of this name, or one from outside."""
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
        """Have a resource unlinked if the process ends before it has done so."""
        self._register(self._tracked_name(name, rtype), rtype)
        if rtype == _KIND:
            self._tracked.add(name)

    def unregister(self, name: str, rtype: str) -> None:
        """Have a resource not unlinked any more."""
        self._unregister(self._tracked_name(name, rtype), rtype)
        if rtype == _KIND:
            self._tracked.discard(name)

    def unlink_rest(self) -> None:
        """Unlink the run's blocks that its ranks have left."""
        for path in self._created:
            with suppress(FileNotFoundError):
                self._unlink(self._own(path))
            if path in self._tracked:
                self._unregister(self._own(path), _KIND)
