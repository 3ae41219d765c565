"""`select`, `selectors` and sockets on a rank: a wait for descriptors is real, one without them is simulated."""

from __future__ import annotations

import functools
import os
import select
import selectors
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from smpy.emulate.patches import Patches
from smpy.emulate.process.timed_waits import wait, wait_beside_threads
from smpy.emulate.process.virtual_time import sleep_s
from smpy.emulate.ranks import RankState, rank_here
from smpy.engine.messages import WaitKind

_PASSING: Final = (WaitKind.TIME, WaitKind.STORAGE, WaitKind.DEVICE)  # waits that time alone ends
_FIRST_PAUSE_S: Final = 1e-6
"""Simulated time between the first two checks for a connection from another rank; it doubles after each check."""
_select_now: Final = select.select
_SELECTORS: Final = ("SelectSelector", "_PollLikeSelector", "EpollSelector", "KqueueSelector")
_OF_SOCKETS: Final = (
    "accept", "connect", "recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "send", "sendall", "sendto"
)  # fmt: skip


def install_descriptors(patches: Patches) -> None:
    """Patch waits for descriptors until the patches are undone."""
    patches.attribute(select, "select", _select(select.select))
    patches.attribute(os, "read", _read(os.read))
    for name, per_s in (("poll", 1000), ("epoll", 1)):  # the units of their time-outs
        if hasattr(select, name):
            patches.attribute(select, name, _maker(getattr(select, name), per_s))
    for name in _SELECTORS:
        kind = getattr(selectors, name, None)
        if kind is not None:
            patches.attribute(kind, "select", _selector_select(kind.select))


def install_sockets(patches: Patches) -> None:
    """Make time-outs of sockets that expire cost simulated time; `socket` has been imported."""
    kind: Any = sys.modules["socket"].socket
    for name in _OF_SOCKETS:
        patches.attribute(kind, name, _of_socket(getattr(kind, name)))


def _read(real: Callable[[int, int], bytes]) -> Callable[[int, int], bytes]:
    def read(fd: int, n: int, /) -> bytes:
        state = rank_here()
        if state is not None and state.n_threads and isinstance(fd, int):
            _let_threads_go_on(state, fd)
        return real(fd, n)

    return read


def _let_threads_go_on(state: RankState, fd: Any) -> None:
    """Let the rank's other threads run until a descriptor is ready to read, if it supports waiting."""

    def poll(timeout_s: float | None) -> Any:
        try:
            return _select_now([fd], [], [], timeout_s)[0]
        except (OSError, ValueError):
            return True  # whoever reads it will hear of that

    wait_beside_threads(state, poll, None)


def _of_socket(real: Callable[..., Any]) -> Callable[..., Any]:
    is_accept = real.__name__ == "accept"
    is_reading = is_accept or real.__name__.startswith("recv")

    @functools.wraps(real)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = rank_here()
        if is_reading and state is not None and state.n_threads and self.gettimeout() is None:
            _let_threads_go_on(state, self)
        elif is_accept and self.gettimeout() is None:
            _let_others_connect(self)
        try:
            return real(self, *args, **kwargs)
        except TimeoutError:
            state = rank_here()
            if state is not None and (timeout_s := self.gettimeout()):
                sleep_s(state, timeout_s)
            raise

    return method


def _let_others_connect(server: Any) -> None:
    """Let other ranks run until a connection arrives, which may be theirs, or until none of them can run."""
    state = rank_here()
    if state is None:
        return
    engine, pause_s = state.engine, _FIRST_PAUSE_S
    while not _select_now([server], [], [], 0)[0]:
        before = engine.statistics().progress
        engine.sleep(pause_s)
        engine.block("accept")
        pause_s *= 2
        if engine.statistics().progress == before and all(waiting.kind not in _PASSING for waiting in engine.waiting()):
            return


def _select(real: Callable[..., Any]) -> Callable[..., Any]:
    def select_(rlist: Iterable[Any], wlist: Iterable[Any], xlist: Iterable[Any], timeout: Any = None, /) -> Any:
        state = rank_here()
        if state is None or (timeout is not None and timeout <= 0):
            return real(rlist, wlist, xlist, timeout)
        lists = list(rlist), list(wlist), list(xlist)

        def poll(timeout_s: float | None) -> Any:
            ready = real(*lists, timeout_s)
            return ready if any(ready) else ()

        return wait(state, poll, timeout, is_real=any(lists), what="select.select") or ([], [], [])

    return select_


def _selector_select(real: Callable[..., Any]) -> Callable[..., Any]:
    def select_(self: Any, timeout: float | None = None) -> Any:
        state = rank_here()
        if state is None:
            return real(self, timeout)
        is_real = bool(self.get_map())
        return wait(state, functools.partial(real, self), timeout, is_real=is_real, what="a selector's select")

    return select_


class _Poller:
    """Polling object of module `select`."""

    def __init__(self, real: Any, per_s: int) -> None:
        self._real = real
        self._per_s = per_s
        self._registered: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        self._real.close()

    def register(self, fd: Any, *args: Any, **kwargs: Any) -> None:
        """Register a descriptor."""
        self._real.register(fd, *args, **kwargs)
        self._registered.add(_number(fd))

    def unregister(self, fd: Any) -> None:
        """Unregister a descriptor."""
        self._real.unregister(fd)
        self._registered.discard(_number(fd))

    def poll(self, timeout: float | None = None, *args: Any, **kwargs: Any) -> Any:
        """Wait for events; the time-out is in milliseconds or in seconds, as for the original object."""
        state = rank_here()
        if state is None:
            return self._real.poll(timeout, *args, **kwargs)
        per_s = self._per_s

        def poll(timeout_s: float | None) -> Any:
            return self._real.poll(None if timeout_s is None else timeout_s * per_s, *args, **kwargs)

        timeout_s = None if timeout is None or timeout < 0 else timeout / per_s
        return wait(state, poll, timeout_s, is_real=bool(self._registered), what="poll")


def _number(fd: Any) -> int:
    return fd if isinstance(fd, int) else int(fd.fileno())


def _maker(real: Callable[..., Any], per_s: int) -> Callable[..., Any]:
    @functools.wraps(real, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        poller = real(*args, **kwargs)
        return poller if rank_here() is None else _Poller(poller, per_s)

    return make
