"""One-sided communication: accesses to windows, their completion, and locks.

A window is known by the number of its communicator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import check
from smpy.engine.messages import Load
from smpy.engine.point_to_point import PointToPoint
from smpy.engine.time_calls import TimeCalls

if TYPE_CHECKING:
    from smpy.engine.platform import Platform
    from smpy.platforms.models.machine_models import Models

__all__ = ["WindowAccesses"]


class WindowAccesses(PointToPoint, TimeCalls):
    """Calls that access windows; they append to the timeline, and do not wait unless their docstrings say so."""

    def __init__(self, platform: Platform, models: Models, host_of_rank: Sequence[int]) -> None:
        super().__init__(platform, models, host_of_rank)
        self._poll_s = models.polling.test_s
        self._requests = ffi.new("access_requests *")

    def reach_date(self, call: str) -> None:
        """Wait until simulated time has come to the running rank's date, so that it sees earlier writes of others."""
        if lib.sim_clock_s(self._sim, self.timeline) != lib.sim_now_s(self._sim):
            self.block(call)

    def put(self, window: int, target: int, room: Load, *, has_request: bool) -> None:
        """Start to send bytes to a rank of the window; the room's `take` is called when they arrive, without them."""
        access = self._access(window, target, room.nbytes, lib.ACCESS_RPUT if has_request else lib.ACCESS_PUT)
        self._post(access.recv, room)

    def get(self, window: int, target: int, nbytes: int) -> None:
        """Take the time to read bytes from a rank of the window."""
        self._access(window, target, nbytes, lib.ACCESS_GET)
        self._keep_pace()

    def rget(self, window: int, target: int, nbytes: int) -> int:
        """Start to read bytes from a rank of the window: the number of a request."""
        return int(self._access(window, target, nbytes, lib.ACCESS_RGET).recv)

    def accumulate(self, window: int, target: int, nbytes: int, *, has_request: bool) -> None:
        """Take the time to combine bytes with those of a rank of the window."""
        self._access(window, target, nbytes, lib.ACCESS_RACCUMULATE if has_request else lib.ACCESS_ACCUMULATE)

    def _access(self, window: int, target: int, nbytes: int, access: int) -> Any:
        check(lib.sim_append_access(self._sim, self.timeline, window, target, nbytes, access, self._requests))
        return self._requests

    def complete(self, window: int, rank: int, other: int = -1) -> None:
        """Complete accesses to a rank's part of the window: all, or those from and to one other rank."""
        check(lib.sim_append_complete(self._sim, self.timeline, window, rank, other))

    def flush(self, window: int, own: int, rank: int) -> None:
        """Complete all accesses between a rank of the window and the running one, at both ends."""
        sim, timeline = self._sim, self.timeline
        check(lib.sim_append_complete(sim, timeline, window, own, rank))
        if rank != own:
            check(lib.sim_append_complete(sim, timeline, window, rank, own))

    def lock(self, window: int, rank: int, *, is_shared: bool) -> None:
        """Lock a rank's part of the window."""
        kind = lib.LOCK_SHARED if is_shared else lib.LOCK_ALONE
        check(lib.sim_append_lock(self._sim, self.timeline, window, rank, kind))

    def unlock(self, window: int, rank: int, *, is_shared: bool) -> None:
        """Unlock a rank's part of the window."""
        kind = lib.LOCK_SHARED if is_shared else lib.LOCK_ALONE
        check(lib.sim_append_unlock(self._sim, self.timeline, window, rank, kind))

    def lock_all(self, window: int) -> None:
        """Lock all ranks' parts of the window, shared with others."""
        check(lib.sim_append_lock(self._sim, self.timeline, window, 0, lib.LOCK_ALL_SHARED))

    def unlock_all(self, window: int) -> None:
        """Unlock all ranks' parts of the window."""
        check(lib.sim_append_unlock(self._sim, self.timeline, window, 0, lib.LOCK_ALL_SHARED))

    def begin_atomic(self, window: int, rank: int) -> None:
        """Keep other atomic accesses out of a rank's part of the window."""
        check(lib.sim_append_lock(self._sim, self.timeline, window, rank, lib.LOCK_ATOMIC))

    def end_atomic(self, window: int, rank: int) -> None:
        """Let other atomic accesses in again."""
        check(lib.sim_append_unlock(self._sim, self.timeline, window, rank, lib.LOCK_ATOMIC))

    def fetch(self, window: int, target: int, nbytes: int) -> int:
        """Take the time to read bytes and to wait for them: the number of a request, to be released."""
        number = self.rget(window, target, nbytes)
        check(lib.sim_append_wait(self._sim, self.timeline, number))
        return number

    def poll(self) -> None:
        """Take the time of a poll: a rank that looks at memory again and again must not stay at one date."""
        self.spend_overhead(self._poll_s)
