"""Further timelines of ranks, for their threads: each begins at the present date; they park and wake each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf

from smpy.engine.kernel import lib
from smpy.engine.loop import Loop, check
from smpy.engine.surface import surface
from smpy.engine.thread_body import ThreadBody


class AddedTimelines(Loop):
    """Adds timelines to the running rank.

    Timelines of a rank see each other's effects on Python objects: before one acts on such an object, it catches up
    with the kernel, so that their code executes in the order of its simulated dates.
    """

    def add_timeline(self, body: ThreadBody) -> int:
        """Start a timeline of the running rank at the present date; return its number.

        Raises
        ------
        SmpyError
            If there is no memory for it.
        """
        self.catch_up("start")
        timeline = int(lib.sim_timeline_new(self._sim, self.rank))
        check(timeline)
        self.has_threads = True
        self._bodies[timeline] = body
        n_new = timeline + 1 - len(self._greenlets)
        self._greenlets.extend([None] * n_new)
        self._waits_in.extend([""] * n_new)
        if surface is not None:
            surface.add_timelines()
        return timeline

    def ask_for_idle_timeline(self) -> Callable[[], int]:
        """Function that returns the running timeline if the kernel has executed all that it appended; else -1."""
        return partial(lib.sim_idle_timeline, self._sim)

    def ask_for_running_timeline(self) -> Callable[[], int]:
        """Function that returns the `running_timeline`."""
        return partial(lib.sim_running, self._sim)

    def catch_up(self, call: str) -> None:
        """Let others run until the kernel has executed everything that the running timeline has appended."""
        if not self.has_caught_up():
            self.block(call)

    def has_caught_up(self) -> bool:
        """Whether the kernel has executed everything that the running timeline has appended."""
        return bool(lib.sim_is_idle(self._sim, lib.sim_running(self._sim)))

    def park(self, until_s: float, waits_for: Callable[[], str]) -> bool:
        """Make the running timeline wait until another wakes it, or until a date; return whether it was woken.

        It must have caught up. A report of a deadlock asks `waits_for` for the awaited thing.
        """
        check(lib.sim_append_park(self._sim, self.timeline, until_s))
        timeline = self.timeline
        if until_s == inf:
            self.parked[timeline] = waits_for
        try:
            self.block("park")
        finally:
            self.parked.pop(timeline, None)
        return bool(lib.sim_answer(self._sim, timeline))

    def sleep_now(self, seconds: float) -> None:
        """Advance simulated time for the running timeline, and let others run until it has passed."""
        lib.sim_append_sleep(self._sim, self.timeline, seconds)
        self.block("sleep")

    def gather(self, waits_for: Callable[[], str]) -> None:
        """Make the running timeline wait, at an iteration's end, until another wakes it; it must have caught up."""
        check(lib.sim_append_gather(self._sim, self.timeline))
        timeline = self.timeline
        self.parked[timeline] = waits_for
        try:
            self.block("gather")
        finally:
            self.parked.pop(timeline, None)

    def skip(self, whole_s: float, rest_s: float) -> None:
        """Let `whole_s` pass for skipped iterations, of which `rest_s` is left; it must have caught up."""
        self.has_skipped = True
        check(lib.sim_append_skip(self._sim, self.timeline, whole_s, rest_s))
        self.catch_up("skip")

    def wake_timeline(self, timeline: int) -> bool:
        """Wake a timeline at the present date; return whether it was parked. The running one must have caught up."""
        return bool(lib.sim_wake(self._sim, timeline) == 0)

    def thread_name(self, timeline: int) -> str:
        """Name of the thread of an added timeline; of one that has ended, if there is a trace."""
        living = self._bodies.get(timeline)
        return self.ended_threads.get(timeline, "") if living is None else living.name

    def drop_timeline(self, timeline: int) -> None:
        """End a timeline where it is: its greenlet is never resumed."""
        check(lib.sim_drop(self._sim, timeline))
