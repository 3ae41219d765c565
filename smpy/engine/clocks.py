"""The clocks that the loop asks for a rank's own computing, as it sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class ComputingClock(Protocol):
    """Clock that measures the running rank's own computing."""

    def start(self) -> None:
        """Begin the rank's own code."""

    def stop(self) -> bool:
        """End the rank's own code and charge it; whether the clock ran."""

    def pause(self) -> float:
        """Suspend for work that is not the rank's; seconds it has computed so far, negative when the clock stood."""

    def resume(self, mark_s: float) -> None:
        """Go on with the rank's own code, if it was `pause` that stopped it."""

    def charge_s(self, mark_s: float) -> float:
        """Simulated seconds that a mark of `pause` takes on a core of the rank's own."""


class Bursts(Protocol):
    """Recording of the bursts that a clock measures, or replay of another run's."""

    def take(self, measured_s: float) -> float:
        """Seconds of this machine to charge for the burst that the running rank has ended."""

    def look(self, measured_s: float) -> float:
        """Seconds so far of a burst under way, for shared code that looks at the date."""

    def sample(self, measured_s: float) -> float:
        """Seconds so far of a burst under way, when a sampled region is measured."""

    def start(self, ranks: Iterable[int]) -> None:
        """Note ranks that the running one spawns."""
