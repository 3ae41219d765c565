"""`_thread.RLock` for threads of ranks: a lock that its owner may acquire again."""

from __future__ import annotations

from typing import Any

from smpy.emulate.threads.locks import Lock, ThreadsUnderWay


class ReentrantLock:
    """`_thread.RLock` on a rank."""

    __slots__ = ("__weakref__", "_count", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock: Any = Lock()
        self._owner = 0
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock, for the first time or again, and return whether this succeeded."""
        me = ThreadsUnderWay.ident()
        if self._owner == me:
            self._count += 1
            return True
        is_acquired: bool = self._lock.acquire(blocking, timeout)
        if is_acquired:
            self._owner, self._count = me, 1
        return is_acquired

    __enter__ = acquire

    def release(self, *_: object) -> None:
        """Undo one acquisition; the last one releases the lock."""
        if self._owner != ThreadsUnderWay.ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = 0
            self._lock.release()

    __exit__ = release

    # ---- for `threading.Condition` ----

    def _release_save(self) -> tuple[int, int]:
        if not self._count:
            raise RuntimeError("cannot release un-acquired lock")
        state = self._count, self._owner
        self._count = self._owner = 0
        self._lock.release()
        return state

    def _acquire_restore(self, state: tuple[int, int]) -> None:
        self._lock.acquire()
        self._count, self._owner = state

    def _is_owned(self) -> bool:
        return self._owner == ThreadsUnderWay.ident()

    def _recursion_count(self) -> int:
        return self._count if self._owner == ThreadsUnderWay.ident() else 0

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()
        self._count = self._owner = 0

    def __repr__(self) -> str:
        how = "locked" if self._lock.locked() else "unlocked"
        return f"<{how} _thread.RLock object owner={self._owner} count={self._count} at {id(self):#x}>"
