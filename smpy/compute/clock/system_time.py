"""Share of measured bursts that the system took, most of it for page faults, from the counters of the ranks' thread."""

from __future__ import annotations

from resource import RUSAGE_THREAD, getrusage


class SystemTime:
    """Adds up the time that the system took of long bursts, and the page faults.

    The counters are read at the end of each long burst. Of their growth since the end of the one before, the burst has
    a share: its time over the thread's time. Short bursts in between and smpy itself have the rest. A burst that stands
    for work that `smpy.sample` did not execute is longer than the thread's time, and counts as that.

    Attributes
    ----------
    seconds, system_s : float
        Time of all long bursts, and the part that the system took of it.
    page_faults : float
        Their page faults.
    """

    def __init__(self) -> None:
        self.seconds = self.system_s = self.page_faults = 0.0
        self._read()

    def take(self, seconds: float) -> None:
        """Add a burst that ends now."""
        user_s, system_s, page_faults = self._user_s, self._system_s, self._page_faults
        self._read()
        passed_s = self._user_s - user_s + (self._system_s - system_s)
        executed_s = min(seconds, passed_s)
        share = executed_s / passed_s if passed_s > 0 else 0.0
        self.seconds += executed_s
        self.system_s += share * (self._system_s - system_s)
        self.page_faults += share * (self._page_faults - page_faults)

    def _read(self) -> None:
        usage = getrusage(RUSAGE_THREAD)
        self._user_s, self._system_s, self._page_faults = usage.ru_utime, usage.ru_stime, usage.ru_minflt
