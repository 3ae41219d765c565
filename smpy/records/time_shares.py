"""The shares of the ranks' time."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Self

_THOUSAND = 1000  # a share is printed as a per cent with one decimal


@dataclass(frozen=True, slots=True)
class TimeShares:
    """Parts of the ranks' lifetime; they add up to 1, or are all 0 if no time passed.

    Attributes
    ----------
    compute : float
        The program computed.
    communication : float
        Messages travelled for a rank that waited for them; overheads of sending and receiving; polls that waited for
        nothing; reads of the clock.
    waiting : float
        Blocked or polling in MPI because of others: nothing that the rank waited for was on its way yet. Its partner
        had not posted the other side, or some rank of the communicator had not entered the collective.
    sleep : float
        In `time.sleep`.
    io : float
        Blocked or polling in MPI until an access to a file was over.
    device : float
        Blocked until the rank's device had done its work.
    skipped : float
        For iterations that were not performed.
    """

    compute: float
    communication: float
    waiting: float
    sleep: float
    io: float = 0.0
    device: float = 0.0
    skipped: float = 0.0

    @classmethod
    def of(
        cls,
        *,
        compute_s: float,
        communication_s: float,
        waiting_s: float,
        sleep_s: float,
        io_s: float = 0.0,
        device_s: float = 0.0,
        skipped_s: float = 0.0,
    ) -> Self:
        """The shares of the given times in their sum."""
        parts_s = (compute_s, communication_s, waiting_s, sleep_s, io_s, device_s, skipped_s)
        whole_s = sum(parts_s)
        return cls(*(part_s / whole_s if whole_s else 0.0 for part_s in parts_s))

    def render(self) -> str:
        """The shares for people; the printed numbers also add up to 100 %.

        Examples
        --------
        >>> TimeShares(compute=1 / 3, communication=1 / 3, waiting=1 / 3, sleep=0.0).render()
        '33.4% compute, 33.3% communication, 33.3% waiting for others, 0.0% sleep'
        """
        words = ("compute", "communication", "waiting for others", "sleep", "file I/O", "device", "skipped")
        shown = [pair for pair in zip(words, astuple(self), strict=True) if pair[1] or pair[0] in words[:4]]
        names, parts = zip(*shown, strict=True)
        if not any(parts):
            return "no simulated time passed"
        printed = [int(part * _THOUSAND) for part in parts]
        by_rest = sorted(range(len(parts)), key=lambda i: printed[i] - parts[i] * _THOUSAND)
        for i in by_rest[: _THOUSAND - sum(printed)]:
            printed[i] += 1
        return ", ".join(f"{part / 10:.1f}% {name}" for part, name in zip(printed, names, strict=True))
