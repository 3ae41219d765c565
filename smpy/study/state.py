"""State of the points of a study, and the collector that keeps it and the journal up to date as points end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final

from smpy.runs.request import RunInputs
from smpy.study.estimate import seconds_left
from smpy.study.journal import Entry, Journal, RunOrigin
from smpy.study.points import Point
from smpy.study.reuse import Results
from smpy.study.tasks import Task

_EVERY_S: Final = 0.5


@dataclass(slots=True)
class StudyState:
    """State of the points of a study.

    Attributes
    ----------
    entries : dict of str to Entry
        Entries of points that have ended, by key.
    stale : dict of str to str
        Reason why a point is stale (changed sources, inputs or versions), by its key.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)

    def current(self, key: str) -> Entry | None:
        """Entry of a point; None: it has not ended, or is stale."""
        return None if key in self.stale else self.entries.get(key)


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a study.

    Attributes
    ----------
    n_points, n_done, n_failed : int
        Points, those that have ended, and those of them that failed.
    left_s : float or None
        Real time until all have ended; None: not known yet.
    """

    n_points: int
    n_done: int
    n_failed: int
    left_s: float | None


class PointCollector:
    """Collector of the points that run now.

    Parameters
    ----------
    state : StudyState
        State of all points; kept up to date.
    journal : Journal
        Journal for points that have ended.
    results : Results or None
        Results of other studies.
    origin : callable
        Makes the origin of a point's run from its reads.
    n_workers : int
        Number of points that run at a time.
    progress : callable or None
        Called with the study's `StudyProgress`.
    """

    def __init__(
        self,
        state: StudyState,
        journal: Journal,
        results: Results | None,
        origin: Callable[[Point, RunInputs], RunOrigin],
        n_workers: int,
        progress: Callable[[StudyProgress], None] | None,
    ) -> None:
        self._keys: list[str] = []
        self._waiting: dict[str, Point] = {}
        self._state, self._journal, self._results, self._origin = state, journal, results, origin
        self._n_workers, self._progress = n_workers, progress
        self._ended: list[tuple[Point, float]] = []
        self._next_s = 0.0

    def add(self, to_run: Sequence[Point], counted: Sequence[Point]) -> None:
        """Add points to run, and points that count for the progress: these, and others that have ended before."""
        self._waiting |= {point.key: point for point in to_run}
        self._keys += [point.key for point in counted]

    def reuse(self) -> None:
        """Take results from other studies."""
        if self._results is not None:
            for point in list(self._waiting.values()):
                kept = self._results.find(point)
                if kept is not None:
                    self._add([(point, *kept)])
        self._tell()

    def remaining(self) -> list[Point]:
        """Points that have not ended."""
        return list(self._waiting.values())

    def note(self, ended: Sequence[tuple[Task, Entry, RunInputs]]) -> None:
        """Record points that have ended.

        Raises
        ------
        SmpyError
            If there is no room for them.
        """
        points = [self._waiting[task.key] for task, _, _ in ended]
        rows = [
            (point, self._origin(point, reads), entry) for point, (_, entry, reads) in zip(points, ended, strict=True)
        ]
        if rows:
            self._add(rows)
        for point, origin, entry in rows:
            if not entry.error:
                self._ended.append((point, entry.row["wall_s"]))
            if self._results is not None:
                self._results.keep(point, origin, entry)
        self._tell()

    def _add(self, ended: Sequence[tuple[Point, RunOrigin, Entry]]) -> None:
        rows = [(point, origin, replace(entry, run=point.text)) for point, origin, entry in ended]
        self._journal.add((point.key, origin, entry) for point, origin, entry in rows)
        for point, _, entry in rows:
            self._state.entries[point.key] = entry
            self._state.stale.pop(point.key, None)
            self._waiting.pop(point.key, None)

    def _tell(self) -> None:
        now_s = monotonic()
        if self._progress is None or (self._waiting and now_s < self._next_s):
            return
        self._next_s = now_s + _EVERY_S
        done = [entry for key in self._keys if (entry := self._state.current(key)) is not None]
        left_s = seconds_left(self.remaining(), self._ended, self._n_workers) if self._waiting else 0.0
        self._progress(StudyProgress(len(self._keys), len(done), sum(bool(entry.error) for entry in done), left_s))
