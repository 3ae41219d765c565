"""Guard of a run: the process between a run and its starter, which ends all processes of the run with it.

A guard forks the run, adopts orphans among the run's descendants, hands on signals, measures the memory of all of
them, and ends the processes that are left after the run. If a guard is killed, its run is killed, and the process
above, which adopts orphans, too, ends the rest. If the process above is killed, the guard ends the run. So whichever
process is killed, none is left over.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import Final, NamedTuple, NoReturn

from smpy.runs.descendants import TreeMemory, adopt_orphans, end_descendants, hear_of_parents_death

GRACE_S: Final = 1.0
"""Real time that processes have to end after their run."""

_WATCH_S: Final = 0.02  # between two measurements of the run's memory
_LOOKING_SHARE: Final = 0.2  # largest share of the time for measuring memory
_LAST_WORDS_S: Final = 1.0  # time of a run above its memory limit to report its place
_FAR_ABOVE: Final = 1.25  # a run above so many times the limit is killed at once
_GROUP_S: Final = 1.0  # longest time between a group's signal here and notice of it from the other guard
_PASSED_ON: Final = frozenset(
    {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
)


class RunEnd(NamedTuple):
    """End of a run: its status from `waitpid`, and whether it held too much memory."""

    status: int
    by_memory_limit: bool


class Guard:
    """Guards a run.

    Parameters
    ----------
    orders : int, optional
        Descriptor of a pipe or a socket. Each byte is the number of a signal for the run; when it closes, the run is
        killed.
    relay : int, optional
        Descriptor of the pipe to another guard, to which this one writes the signals that it receives.
    limit_bytes : int
        Memory that the run and all its descendants may hold together; 0: no limit.
    has_group : bool
        Whether the run has a process group of its own, and signals are for all of it.
    parent : int, optional
        Process number of the starter: the run ends with it.
    """

    def __init__(
        self,
        orders: int | None = None,
        *,
        relay: int | None = None,
        limit_bytes: int = 0,
        has_group: bool = False,
        parent: int | None = None,
    ) -> None:
        self._orders, self._relay, self._has_group, self._parent = orders, relay, has_group, parent
        self._memory = TreeMemory(limit_bytes) if limit_bytes else None
        self._limit_bytes = limit_bytes
        self._next_look_s = 0.0
        self._over_limit_s: float | None = None  # date at which the run went above the limit
        self._grace_s = GRACE_S
        self._heard_s: dict[int, float] = {}  # dates of signals to this process
        self._run = 0

    def fork(self) -> bool:
        """Fork the run.

        Returns
        -------
        bool
            Whether this is the process of the run.

        Raises
        ------
        OSError
            If there is no room for a process.
        """
        adopt_orphans()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON | {signal.SIGCHLD})
        guard = os.getpid()
        try:
            self._run = os.fork()
            if not self._run:
                hear_of_parents_death(signal.SIGKILL, guard)
            if self._has_group:
                with suppress(OSError):  # both processes try, and one is first
                    os.setpgid(self._run, self._run)
            if self._run:
                self._listen()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return not self._run

    def _listen(self) -> None:
        """Make signals wake this process, except ignored ones (`nohup`)."""
        self._woken, wakes = _pipe()
        for end in (self._woken, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for number in _PASSED_ON | {signal.SIGCHLD}:
            if number == signal.SIGCHLD or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        self._files = {self._orders, self._relay, self._woken, wakes}
        if self._parent is not None:
            hear_of_parents_death(signal.SIGCHLD, self._parent)  # SIGCHLD is handled in any case

    def close_files_of_run(self) -> None:
        """Close the run's files in this process, so that a reader of the output sees when the run closes it."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor > 2 and descriptor not in self._files:
                with suppress(OSError):  # the descriptor of the listing is closed already
                    os.close(descriptor)

    def watch(self) -> RunEnd:
        """Watch the run until it and all processes that it has started have ended."""
        poller = select.poll()
        poller.register(self._woken, select.POLLIN)
        if self._orders is not None:
            poller.register(self._orders, select.POLLIN)
        while (status := self._reap()) is None:
            for descriptor, _ in poller.poll(None if self._memory is None else _WATCH_S * 1000):
                if descriptor == self._woken:
                    self._hear()
                elif (orders := _read(descriptor)) is not None:
                    self._obey(orders)
                else:
                    poller.unregister(descriptor)
                    self._kill()
            if self._parent is not None and os.getppid() != self._parent:
                self._kill()
            self._watch_memory()
        end_descendants(self._grace_s)
        return RunEnd(status, self._over_limit_s is not None)

    def _reap(self) -> int | None:
        """Reap children that have ended; return the run's status if it has."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._run:
                    return ended[1]
        return None

    def _hear(self) -> None:
        """Record signals that have come to this process."""
        for number in _PASSED_ON.intersection(_read(self._woken) or b""):
            self._heard_s[number] = monotonic()
            if self._relay is not None:
                with suppress(OSError):  # the other guard is ending
                    os.write(self._relay, bytes([number]))

    def _obey(self, numbers: Iterable[int]) -> None:
        """Hand signals on to the run, except signals to the whole group, which the run has received itself."""
        self._hear()
        for number in numbers:
            if monotonic() > self._heard_s.pop(number, -_GROUP_S) + _GROUP_S:
                self._signal(number)

    def _kill(self) -> None:
        self._grace_s = 0.0
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        """Send the run a signal; its process number is not reused before it is waited for."""
        with suppress(ProcessLookupError):
            (os.killpg if self._has_group else os.kill)(self._run, number)

    def _watch_memory(self) -> None:
        """Sends SIGINT to a run above its memory limit, so that it reports its place, and SIGKILL if it goes on."""
        now_s = monotonic()
        if self._memory is None or now_s < self._next_look_s:
            return
        held_bytes = self._memory.held_bytes()
        self._next_look_s = now_s + (monotonic() - now_s) / _LOOKING_SHARE
        if self._over_limit_s is not None:
            if held_bytes > _FAR_ABOVE * self._limit_bytes or now_s >= self._over_limit_s + _LAST_WORDS_S:
                self._kill()
        elif held_bytes > self._limit_bytes:
            self._over_limit_s = now_s
            self._signal(signal.SIGINT)


def _pipe() -> tuple[int, int]:
    """A pipe with descriptors above the standard ones, even if those are closed."""
    ends = os.pipe()
    copies = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    return copies[0], copies[1]


def _read(descriptor: int) -> bytes | None:
    """Bytes that can be read now; None: no bytes, or the other end is closed."""
    try:
        return os.read(descriptor, 4096) or None
    except OSError:
        return None


def guard_this_process() -> None:
    """Fork twice and return in the last process, under two guards, one above the other.

    The first guard keeps the process number that a shell knows, hands signals on, and ends with the run's status.
    """
    if sys.platform != "linux":
        return
    orders, relay = _pipe()
    with suppress(OSError):  # no room for processes: the program cannot fork, either
        first = os.getpid()
        _guard(Guard(relay=relay))
        os.close(relay)
        _guard(Guard(orders, parent=first))
    os.close(orders)


def _guard(guard: Guard) -> None:
    """Fork under a guard, and return in the guarded process."""
    if guard.fork():
        return
    guard.close_files_of_run()
    _end_as(guard.watch().status)


def _end_as(status: int) -> NoReturn:
    """End with the status of a child."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child has left a core file if it should
    with suppress(OSError):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)
