"""Shares of the time of measured bursts that memory bounds, learnt from equal bursts alone and beside a load of memory.

Bursts are equal that a rank computes between the same two lines. Beside a load of memory on another core, code that
moves memory all the time takes `memory` times as long as alone, and code that moves none `core` times. A burst of which
a share s of the time is bound by memory takes `core + s (memory - core)` times as long: the two parts of its time are
stretched one after the other. The medians of equal bursts give that ratio, and it gives s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from statistics import median
from typing import Final

__all__ = ["LoadSlowdown", "MemoryShares"]

_SAMPLES: Final = 15
"""Number of last bursts of a place whose median counts, of each kind."""
_LEAST_ALONE: Final = 2
_LEAST_BESIDE: Final = 1


@dataclass(frozen=True, slots=True)
class LoadSlowdown:
    """Effect of a load of memory on code on another core.

    Parameters
    ----------
    core, memory : float
        Time beside the load over the time alone, of code bound by its core and of code bound by memory.
    core_bandwidth_bytes_per_s : float
        Bytes that code bound by memory moves a second, alone on one core.
    load_bytes : int
        Memory that the load works in.
    """

    core: float
    memory: float
    core_bandwidth_bytes_per_s: float
    load_bytes: int


class _Place:
    """Equal bursts."""

    __slots__ = ("alone_s", "beside_s", "share", "total_s")

    def __init__(self) -> None:
        self.alone_s: Final[deque[float]] = deque(maxlen=_SAMPLES)
        self.beside_s: Final[deque[float]] = deque(maxlen=_SAMPLES)
        self.total_s = 0.0
        self.share: float | None = None


class MemoryShares:
    """Shares of the time of bursts that memory bounds, by place.

    Parameters
    ----------
    slowdown : LoadSlowdown
        Effect of the load; `memory` is above `core`.

    Examples
    --------
    >>> shares = MemoryShares(LoadSlowdown(core=1.0, memory=2.0, core_bandwidth_bytes_per_s=1e10, load_bytes=1 << 26))
    >>> for seconds in (1.0, 1.0):
    ...     _ = shares.take("heat.py:5", seconds, load=0.0)
    >>> shares.take("heat.py:5", 1.5, load=1.0), shares.share("heat.py:5")
    (1.0, 0.5)
    """

    def __init__(self, slowdown: LoadSlowdown) -> None:
        self._slowdown: Final = slowdown
        self._places: Final[dict[Hashable, _Place]] = {}
        self._known_s = 0.0
        self._bound_s = 0.0

    @property
    def n_places(self) -> int:
        return len(self._places)

    @property
    def n_known(self) -> int:
        """Number of places whose share is known."""
        return sum(place.share is not None for place in self._places.values())

    @property
    def mean(self) -> float:
        """Mean share of the known places, weighted by their time; 0 if none is known."""
        return self._bound_s / self._known_s if self._known_s else 0.0

    def share(self, place: Hashable) -> float:
        """Share of a place's time that memory bounds; the mean if it is not known."""
        known = self._places.get(place)
        return self.mean if known is None or known.share is None else known.share

    def take(self, place: Hashable, seconds: float, load: float, *, counts: bool = True) -> float:
        """Note a burst; return the time that it takes alone.

        Parameters
        ----------
        place : hashable
            Rank and lines of the burst.
        seconds : float
            Its time.
        load : float
            Part of its time in which the load ran.
        counts : bool
            Whether it tells something about its place: the load ran all the time, or not at all.
        """
        burst = self._places.get(place)
        if burst is None:
            burst = self._places[place] = _Place()
        if counts:
            (burst.beside_s if load else burst.alone_s).append(seconds)
            if load or burst.share is None:
                self._learn(burst)
        core, memory = self._slowdown.core, self._slowdown.memory
        share = self.mean if burst.share is None else burst.share
        alone_s = seconds / (1 + load * (core + share * (memory - core) - 1))
        burst.total_s += alone_s
        if burst.share is not None:
            self._known_s += alone_s
            self._bound_s += alone_s * burst.share
        return alone_s

    def _learn(self, burst: _Place) -> None:
        """Share of a place anew; its earlier bursts count with it, too."""
        if len(burst.alone_s) < _LEAST_ALONE or len(burst.beside_s) < _LEAST_BESIDE:
            return
        ratio = median(burst.beside_s) / median(burst.alone_s)
        share = (ratio - self._slowdown.core) / (self._slowdown.memory - self._slowdown.core)
        share = min(max(share, 0.0), 1.0)
        self._known_s += burst.total_s if burst.share is None else 0.0
        self._bound_s += burst.total_s * (share - (burst.share or 0.0))
        burst.share = share
