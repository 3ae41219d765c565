"""Interfaces of the clocks that measure a rank's own computing for the loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class ComputingClock(Protocol):
    """Clock that measures the running rank's own computing."""

    def start(self) -> None:
        """Start the clock: the rank's own code begins."""

    def stop(self) -> bool:
        """Stop the clock and charge the rank; return whether the clock ran."""

    def pause(self) -> float:
        """Pause for work that is not the rank's; return the seconds computed so far, negative if it did not run."""

    def resume(self, mark_s: float) -> None:
        """Continue the rank's own code, if `pause` stopped it."""

    def charge_s(self, mark_s: float) -> float:
        """Convert a mark of `pause` to simulated seconds on one of the rank's cores."""


class Bursts(Protocol):
    """Recorder of the bursts that a clock measures, or replay of recorded ones."""

    def take(self, measured_s: float) -> float:
        """Seconds on this machine to charge for the burst that the running rank has just ended."""

    def look(self, measured_s: float) -> float:
        """Seconds of the burst under way so far, for shared code that reads the clock."""

    def sample(self, measured_s: float) -> float:
        """Seconds of the burst under way so far, when a sampled region is measured."""

    def start(self, ranks: Iterable[int]) -> None:
        """Note the ranks that the running rank spawns."""


class BurstMemory(Protocol):
    """Source of the bytes that measured bursts move through the memory of their host."""

    def split(self, measured_s: float) -> tuple[float, float]:
        """Seconds of the burst that the running rank has just ended, as if alone on this machine, and bytes moved."""
