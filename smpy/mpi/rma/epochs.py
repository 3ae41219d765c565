"""Epochs: periods in which a rank may access a window, or other ranks may access its part.

They follow the rules of MPI 4.1, 12.5. A fence lets all ranks access each other until the next synchronisation of
another kind. Locks and `Start` let a rank access the ranks that they name.
"""

from __future__ import annotations

from typing import Final

from smpy.mpi.state import constants
from smpy.mpi.state.exceptions import fail

__all__ = ["Epochs"]

_ALL: Final = -1
"""Key of `Lock_all` among the locked ranks."""
_NO_LOCKS: Final[dict[int, int]] = {}
_NO_RANKS: Final[frozenset[int]] = frozenset()
_NO_REQUESTS: Final[list[int]] = []
"""Shared by all epochs without locks, accesses or requests so far; never changed."""


class Epochs:
    """Epochs of one rank on one window.

    Attributes
    ----------
    is_fenced : bool
        Whether a fence has opened an epoch.
    started, posted : tuple of int or None
        Ranks of `Start` and of `Post`, in the window's communicator; None: no such epoch is open.
    locks : dict of int to int
        Kinds of locks by locked rank; -1 stands for all ranks, locked by `Lock_all`.
    accessed : set of int
        Ranks with accesses since their last completion; a set of its own once `note_access` was called.
    requests : list of int
        Requests of the messages that end the accesses `Post` allowed, once `Wait` or `Test` has posted them.
    is_awaited : bool
        Whether these requests have been posted.
    """

    __slots__ = (
        *("_date_s", "_n_at_date", "accessed", "is_awaited", "is_fenced"),
        *("locks", "posted", "requests", "started"),
    )

    def __init__(self) -> None:
        self.is_fenced = False
        self.started: tuple[int, ...] | None = None
        self.posted: tuple[int, ...] | None = None
        self.locks: dict[int, int] = _NO_LOCKS
        self.accessed: set[int] | frozenset[int] = _NO_RANKS
        self.requests: list[int] = _NO_REQUESTS
        self.is_awaited = False
        self._date_s = -1.0
        self._n_at_date = 0

    def note_access(self, target: int) -> None:
        """Note that an access to a rank is incomplete."""
        if isinstance(self.accessed, frozenset):
            self.accessed = set()
        self.accessed.add(target)

    def note_completion(self, target: int | None = None) -> None:
        """Note that all accesses to a rank, or (None) to any rank, are complete."""
        if isinstance(self.accessed, frozenset):
            return
        if target is None:
            self.accessed.clear()
        else:
            self.accessed.discard(target)

    def count_at(self, date_s: float) -> int:
        """Number of synchronisations at this date, including this one; time of polls in between is ignored."""
        self._n_at_date = self._n_at_date + 1 if date_s == self._date_s else 1
        self._date_s = date_s
        return self._n_at_date

    def note_poll(self, date_s: float) -> None:
        """Note the date after a poll that followed the last synchronisation, to continue the count there."""
        self._date_s = date_s

    def check_access(self, target: int, call: str) -> None:
        """Raise ``ERR_RMA_SYNC`` unless the rank may access `target` now."""
        if self.is_fenced or target in self.locks or _ALL in self.locks:
            return
        if self.started is not None and target in self.started:
            return
        fail(
            "ERR_RMA_SYNC",
            f"{call}(rank={target}): there is no access epoch to rank {target}: "
            "call Fence(), Start(), Lock() or Lock_all() before",
        )

    def check_closed(self, call: str) -> None:
        """Raise ``ERR_RMA_SYNC`` when the rank holds a lock or is in an epoch of `Start`."""
        if self.locks:
            fail("ERR_RMA_SYNC", f"{call}: {self._locked()} still locked: unlock before")
        if self.started is not None:
            fail("ERR_RMA_SYNC", f"{call}: an epoch of Start() is open: call Complete() before")

    def check_ended(self, call: str) -> None:
        """Raise ``ERR_RMA_SYNC`` when an epoch other than a fence's is open."""
        self.check_closed(call)
        if self.posted is not None:
            fail("ERR_RMA_SYNC", f"{call}: an epoch of Post() is open: call Wait() before")

    def _locked(self) -> str:
        if _ALL in self.locks:
            return "the window is"
        named = ", ".join(map(str, sorted(self.locks)))
        return f"rank {named} is" if len(self.locks) == 1 else f"ranks {named} are"

    def lock(self, target: int, kind: int, call: str) -> None:
        """Note a lock; raise ``ERR_RMA_SYNC`` if the rank is locked already."""
        if _ALL in self.locks or target in self.locks:
            fail("ERR_RMA_SYNC", f"{call}: {self._locked()} locked already")
        if self.started is not None:
            fail("ERR_RMA_SYNC", f"{call}: an epoch of Start() is open: call Complete() before")
        self.is_fenced = False
        self._note_lock(target, kind)

    def lock_all(self, call: str) -> None:
        """Note a lock of all ranks."""
        self.check_closed(call)
        self.is_fenced = False
        self._note_lock(_ALL, constants.LOCK_SHARED)

    def _note_lock(self, target: int, kind: int) -> None:
        if self.locks is _NO_LOCKS:
            self.locks = {}
        self.locks[target] = kind

    def unlock(self, target: int, call: str) -> int:
        """Forget a lock, and return its kind; raise ``ERR_RMA_SYNC`` if there is none."""
        kind = self.locks.pop(target, None)
        if kind is None:
            fail("ERR_RMA_SYNC", f"{call}: rank {target} is not locked: call Lock({target}) before")
        return kind

    def unlock_all(self, call: str) -> None:
        """Forget the lock of all ranks."""
        if self.locks.pop(_ALL, None) is None:
            fail("ERR_RMA_SYNC", f"{call}: the window is not locked: call Lock_all() before")

    def check_passive(self, target: int | None, call: str) -> None:
        """Raise ``ERR_RMA_SYNC`` unless `target`, or (None) any rank, is locked, so that a flush is allowed."""
        is_locked = self.locks if target is None else target in self.locks or _ALL in self.locks
        if not is_locked:
            what = "the window" if target is None else f"rank {target}"
            fail("ERR_RMA_SYNC", f"{call}: {what} is not locked: call Lock() or Lock_all() before")
