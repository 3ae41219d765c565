"""Calls, messages and bytes of iterations that were not performed, from those of windows that were.

All ranks of a loop gather at the end of each window, so that the counts between two gatherings are those of the
window's items. Between windows the counts of an item are interpolated linearly; before the first window, extrapolated
from the first two. The items at the loop's begin have no window: their ranks do not gather before they begin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.engine.engine import Engine

Site = tuple[int, int, int]
"""Numbers of a call and of its line, and the communicator."""


class SkippedCounts:
    """Counts of a run by call site, and those of iterations that were not performed."""

    def __init__(self) -> None:
        self._number_of: Final[dict[Site, int]] = {}
        self._site_of_account: list[int] = []
        self._skipped: Final[dict[int, NDArray[np.float64]]] = {}  # by the first rank of a loop

    def until_now(self, engine: Engine, ranks: Sequence[int]) -> NDArray[np.float64]:
        """Calls, messages and bytes of some ranks so far, with those of skipped iterations: [n_sites, 4]."""
        sites, rank, counts = engine.call_counts()
        for site in sites[len(self._site_of_account) :].tolist():
            self._site_of_account.append(self._number_of.setdefault(tuple(site), len(self._number_of)))
        is_member = np.zeros(engine.n_ranks, np.bool_)
        is_member[list(ranks)] = True
        mine = is_member[rank]
        site_of, n_sites = np.asarray(self._site_of_account)[mine], len(self._number_of)
        columns = [np.bincount(site_of, column, n_sites).astype(np.float64) for column in counts[mine].T]
        sums: NDArray[np.float64] = np.stack(columns, axis=1)
        for first_rank, skipped in self._skipped.items():
            if is_member[first_rank]:
                sums[: len(skipped)] += skipped
        return sums

    def add(self, first_rank: int, skipped: NDArray[np.float64]) -> None:
        """Add the counts of iterations that a loop, whose first rank this is, has not performed."""
        before = self._skipped.get(first_rank, np.zeros((0, skipped.shape[1])))
        self._skipped[first_rank] = _longer(before, len(skipped)) + skipped

    def by_site(self) -> Mapping[Site, Sequence[float]]:
        """Calls, messages, bytes sent and received of skipped iterations, of all ranks together."""
        n = len(self._number_of)
        whole = sum((_longer(skipped, n) for skipped in self._skipped.values()), np.zeros((n, 4)))
        return {site: whole[number].tolist() for site, number in self._number_of.items() if whole[number].any()}


class LoopCounts:
    """Counts of the items of one loop, from its windows.

    Parameters
    ----------
    n_items : int
        Number of items.
    """

    def __init__(self, n_items: int) -> None:
        self._missing: Final = np.ones(n_items)  # times that an item should have been performed, and was not
        self._before: NDArray[np.float64] | None = None
        self._of_item: Final[dict[float, NDArray[np.float64]]] = {}  # by the centre of a window

    def end_window(self, items: Sequence[int], until_now: NDArray[np.float64]) -> None:
        """Take the counts at the end of a window; the first one only gives the begin of the next."""
        np.subtract.at(self._missing, list(items), 1)
        if self._before is not None:
            self._of_item[sum(items) / len(items)] = (until_now - _longer(self._before, len(until_now))) / len(items)
        self._before = until_now

    def skipped(self) -> NDArray[np.float64]:
        """Counts of the items that are missing."""
        centers = sorted(self._of_item)
        n_sites = max(map(len, self._of_item.values()))
        of_item = [_longer(self._of_item[center], n_sites) for center in centers]
        if len(centers) > 1:
            slope = (of_item[1] - of_item[0]) / (centers[1] - centers[0])
            of_item.insert(0, np.maximum(of_item[0] - slope * centers[0], 0.0))
            centers.insert(0, 0.0)
        items = np.arange(len(self._missing))
        shares = [np.interp(items, centers, unit) for unit in np.eye(len(centers))]
        sums: NDArray[np.float64] = np.einsum("w,wsc->sc", np.array(shares) @ self._missing, np.array(of_item))
        return sums


def _longer(rows: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Rows, followed by rows of zeros: sites that were not there yet."""
    return np.concatenate([rows, np.zeros((n - len(rows), rows.shape[1]))]) if len(rows) < n else rows
