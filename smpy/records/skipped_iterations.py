"""Loops of a run that performed some of their iterations and added the time of the others."""

from __future__ import annotations

from dataclasses import dataclass

from smpy.units import format_time


@dataclass(frozen=True, slots=True)
class SkippedIterations:
    """Iterations of all marked loops of one name.

    Attributes
    ----------
    name : str
        Name of the loops.
    count, simulated : int
        Iterations of these loops, and those that were performed.
    time_s, half_width_s : float
        Time of the loops, and half of its 95 % interval.
    stop_reason : str
        Reason why no more were performed.
    """

    name: str
    count: int
    simulated: int
    time_s: float
    half_width_s: float
    stop_reason: str

    def render(self) -> str:
        """The loop for people.

        Examples
        --------
        >>> SkippedIterations("solve", 500, 21, 0.599, 0.0024, "half width reached").render()
        'solve: 21 of 500 iterations simulated, 599 ms ± 0.4 %; results of the others are missing'
        """
        part = self.half_width_s / self.time_s if self.time_s else 0.0
        reason = "" if self.stop_reason == "half width reached" else f" ({self.stop_reason})"
        return (
            f"{self.name}: {self.simulated:,} of {self.count:,} iterations simulated, {format_time(self.time_s)} "
            f"± {100 * part:.2g} %{reason}; results of the others are missing"
        )
