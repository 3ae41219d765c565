"""Descendants of this process: adopted when their parents end, measured together and ended together.

A process whose parent has ended becomes a child of its nearest ancestor that adopts orphans. So a descendant cannot
escape by making a session or a group of its own. The kernel does not reuse the number of a child before its parent has
waited for it: a signal to a child never reaches another process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from time import monotonic, sleep
from typing import Final, NamedTuple

_PR_SET_PDEATHSIG: Final = 1  # from <linux/prctl.h>
_PR_SET_CHILD_SUBREAPER: Final = 36
_KILLING_S: Final = 10.0  # longest wait for a killed process: one that lives on waits in the kernel for a device
_LOOK_MIN_S, _LOOK_MAX_S = 0.001, 0.05  # pause between two searches for remaining processes
_SEARCH_SHARE: Final = 0.05  # share of the time for searching for descendants
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_C: Final = ctypes.CDLL(None)


def adopt_orphans() -> None:
    """Make this process adopt descendants whose parents end; does nothing if the system cannot."""
    if sys.platform == "linux":
        _C.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hear_of_parents_death(number: int, parent: int) -> None:
    """Ask the kernel for a signal to this process when its parent ends, or now if it has ended.

    Parameters
    ----------
    number : int
        The signal.
    parent : int
        Process number of the parent, taken before it forked this process.
    """
    if sys.platform == "linux":
        _C.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), number)


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int


def _processes() -> Iterator[_Process]:
    """All processes of the system, the youngest first: a process that forks again and again is young."""
    try:
        names = os.listdir("/proc")
    except FileNotFoundError:  # not Linux
        return
    for name in reversed(names):
        if name.isdigit():
            with suppress(OSError):  # the process has ended
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                yield _Process(int(name), *map(int, fields[1:4]))


def end_descendants(grace_s: float, spared: Collection[int] = ()) -> None:
    """End all children, and the orphans that become children meanwhile, until none is left.

    Descendants that run as another user, through `sudo` for instance, are left alone.

    Parameters
    ----------
    grace_s : float
        Real time between SIGTERM and SIGKILL.
    spared : collection of int
        Process numbers of children that are left alone.
    """
    if sys.platform != "linux":  # orphans are not adopted
        return
    kills_at_s = monotonic() + grace_s
    signalled: set[tuple[int, int]] = set()
    unreachable: set[int] = set()
    pause_s = _LOOK_MIN_S
    while spared or _has_children():
        now_s = monotonic()
        number = signal.SIGTERM if now_s < kills_at_s else signal.SIGKILL
        is_over = True
        for child in _processes():
            if child.parent != os.getpid() or child.pid in spared:
                continue
            if os.waitpid(child.pid, os.WNOHANG)[0]:  # its number is free now, and its children have been adopted
                signalled -= {(child.pid, signal.SIGTERM), (child.pid, signal.SIGKILL)}
                unreachable.discard(child.pid)
                is_over = False
                continue
            if (child.pid, number) not in signalled:
                signalled.add((child.pid, number))
                if not _reaches(child, number):
                    unreachable.add(child.pid)
            is_over = is_over and child.pid in unreachable
        if is_over or now_s > kills_at_s + _KILLING_S:
            return
        sleep(pause_s)
        pause_s = min(2 * pause_s, _LOOK_MAX_S)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _reaches(child: _Process, number: int) -> bool:
    """Send a signal to a child; False: the child runs as another user by now.

    A descendant has made each session but this process's own. So all processes of a group in it are descendants, and
    the signal goes to the whole group: the kernel signals a group at once, even while its processes fork.
    """
    try:
        if child.session != os.getsid(0):
            os.killpg(child.group, number)
        else:
            os.kill(child.pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


class TreeMemory:
    """Memory of this process's descendants.

    A page that several of them map counts once, by adding up the proportional share of pages of each process (PSS).
    PSS takes long to read, so it is read only if the resident pages (RSS), which count a shared page several times,
    exceed the limit.

    Parameters
    ----------
    limit_bytes : int
        The limit.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._members: list[int] = []
        self._next_search_s = 0.0

    def held_bytes(self) -> int:
        """Memory that the descendants hold now, in bytes; an upper bound if it is below the limit."""
        now_s = monotonic()
        if now_s >= self._next_search_s:
            self._members = _descendants()
            ended_s = monotonic()
            self._next_search_s = ended_s + (ended_s - now_s) / _SEARCH_SHARE
        rss_bytes = sum(map(_rss_bytes, self._members))
        if rss_bytes <= self._limit_bytes:
            return rss_bytes
        return sum(map(_pss_bytes, _descendants()))  # searched again: a number may have been reused


def _descendants() -> list[int]:
    children = defaultdict(list)
    for process in _processes():
        children[process.parent].append(process.pid)
    tree = [os.getpid()]
    for pid in tree:
        tree += children[pid]
    return tree[1:]


def _rss_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):  # the process has just ended
        return 0


def _pss_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
    except PermissionError:  # the process of another user
        return _rss_bytes(pid)
    except (OSError, StopIteration):  # the process has just ended
        return 0
