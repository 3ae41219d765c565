"""`_thread._ThreadHandle`, with which `threading` of Python 3.13 and later waits for the end of a thread."""

from __future__ import annotations

import _thread
from typing import Any

from smpy.emulate.threads.locks import Sentinel
from smpy.emulate.threads.rank_threads import RankThread


class ThreadHandle:
    """Handle of a rank's thread, or of a thread of the operating system."""

    def __init__(self) -> None:
        module: Any = _thread
        self.real = module._ThreadHandle()
        self._thread: RankThread | None = None

    def begin(self, thread: RankThread) -> None:
        """Become the handle of a thread that has been started."""
        self._thread = thread
        sentinel = thread.sentinel = Sentinel()
        sentinel.hold_for(thread.timeline)

    @property
    def ident(self) -> int | None:
        """Identifier of the thread; None before it is started."""
        return self.real.ident if self._thread is None else self._thread.ident

    def is_done(self) -> bool:
        """Whether the thread has ended."""
        if self._thread is None:
            return bool(self.real.is_done())
        sentinel = self._thread.sentinel
        return sentinel is None or not sentinel.locked()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread."""
        sentinel = None if self._thread is None else self._thread.sentinel
        if sentinel is None:
            self.real.join() if timeout is None else self.real.join(timeout)
        elif sentinel.acquire(timeout=-1 if timeout is None or timeout < 0 else timeout):
            sentinel.release()

    def _set_done(self) -> None:
        self.real._set_done()
