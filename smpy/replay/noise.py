"""Noise-free amounts of computing: by models of kernels, or, for measured work, by a low percentile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from smpy.errors import UsageError, meant
from smpy.platforms.profiles import Changing
from smpy.replay.rows_of_action import rows_of_action

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from smpy.engine.platform import Platform
    from smpy.records.trace import Trace

NOISY_PARTS: Final = ("cpu", "net")
"""Parts whose noise can be removed: computing, and the latencies and bandwidths of links."""
PERCENTILE: Final = 5
"""Percentile of a rank's work before one call; it replaces each piece of that work."""


@dataclass(frozen=True, slots=True, eq=False)
class QuietWork:
    """The work of a trace's ranks without noise.

    A kernel's work has noise only if it was drawn by ``--noise``, and then the trace also has the noise-free amount. So
    it has for any work of a run with ``--noise-model``. Other work was measured, or given by the program. Each such
    piece takes the percentile of all pieces that its rank computed before the same call, so pieces of different work
    count as equal.

    Attributes
    ----------
    flop_of_site : (n_sites + 1,) array of float
        The percentile, by site; NaN for kernels, and where nothing was computed.
    n_modelled, n_measured, n_drawn : int
        Number of pieces of work that take a model's value, of those that take the percentile, and of those that take
        the amount before noise was drawn (``--noise-model``).
    """

    flop_of_site: NDArray[np.float64]
    n_modelled: int
    n_measured: int
    n_drawn: int = 0

    def __str__(self) -> str:
        """Sentence about the removal of noise."""
        rules_used = [
            (self.n_modelled, "what the kernel's model says without noise"),
            (self.n_drawn, "what it takes without the noise that was drawn"),
            (self.n_measured, f"the {PERCENTILE}th percentile of what the rank computed before the same call"),
        ]
        rules = "; ".join(f"{n:,} take{'s' * (n == 1)} {what}" for n, what in rules_used if n)
        return f"Without noise, of {sum(n for n, _ in rules_used):,} pieces of computing {rules or 'none changes'}."


def quiet_work(trace: Trace) -> QuietWork:
    """Find the work of a trace's computing without noise.

    Parameters
    ----------
    trace : Trace
        All of a run.
    """
    import numpy as np

    site, flop = rows_of_action(trace, "compute", ("site", "amount"))
    if trace.info.get("noise_model"):
        return QuietWork(np.full(len(trace.is_kernel), np.nan), 0, 0, len(site))
    is_measured = (site > 0) & ~trace.is_kernel[site]
    mine, flop = site[is_measured], flop[is_measured]
    flop_of_site = np.full(len(trace.is_kernel), np.nan)
    if len(mine):
        order = np.lexsort((flop, mine))
        mine, flop = mine[order], flop[order]
        sites, first, n = np.unique(mine, return_index=True, return_counts=True)
        place = first + (n - 1) * (PERCENTILE / 100)
        below = place.astype(np.int64)
        above = np.minimum(below + 1, first + n - 1)
        flop_of_site[sites] = flop[below] + (place - below) * (flop[above] - flop[below])
    return QuietWork(flop_of_site, len(site) - len(mine), len(mine))


def checked_noise(denoise: Iterable[str]) -> tuple[str, ...]:
    """Check the parts whose noise is to be removed.

    Raises
    ------
    UsageError
        If there is no such part.
    """
    parts = tuple(denoise)
    for part in parts:
        if part not in NOISY_PARTS:
            raise UsageError(f"{part!r} has no noise{meant(part, NOISY_PARTS)}: {' and '.join(NOISY_PARTS)} may have")
    return parts


def told_of_noise(denoise: Iterable[str], quiet: QuietWork | None) -> str:
    """Sentences about the removal of noise."""
    network = "Links keep their latency and bandwidth, whatever profiles say." if "net" in denoise else ""
    return " ".join(filter(None, (str(quiet or ""), network)))


def still_links(platform: Platform) -> None:
    """Keep the latency and bandwidth of links constant, against their profiles; before a world uses the platform."""
    for what in (Changing.BANDWIDTH, Changing.LATENCY):
        platform.drop_profiles(what)
