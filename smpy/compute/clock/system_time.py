"""Share of measured bursts that the system took, most of it for page faults, from the counters of the ranks' thread."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_THREAD, getrusage
from typing import Final

_BALLOON: Final = "0x0005"
_REPORTS_FREE_PAGES: Final = 5
"""Number of a balloon device, and of its feature VIRTIO_BALLOON_F_REPORTING (Virtual I/O Device specification 1.2)."""


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


def hypervisor_takes_free_pages(devices: Path = Path("/sys/bus/virtio/devices")) -> bool:
    """Whether this is a virtual machine whose free pages its host takes away: their next first touch takes longer.

    Parameters
    ----------
    devices : Path
        Folder of the system with a folder for each virtio device.
    """
    with suppress(OSError):
        for device in devices.iterdir():
            with suppress(OSError):
                if (device / "device").read_text(encoding="ascii").strip() == _BALLOON:
                    return (device / "features").read_text(encoding="ascii")[_REPORTS_FREE_PAGES:][:1] == "1"
    return False
