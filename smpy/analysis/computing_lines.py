"""Lines of the program in which ranks computed, in place of the calls that ended their computing."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis.timeline import Place
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.records.trace import Trace


class ComputingLines:
    """Shares of computing by line, as samples of the recorded run tell them.

    Parameters
    ----------
    trace : Trace
        Of a run; one that was not measured has no samples.

    Raises
    ------
    UsageError
        If what the trace says of them is damaged.
    """

    def __init__(self, trace: Trace) -> None:
        try:
            read = [_read(row) for row in (trace.info.get("profile") or {}).get("computing_lines", [])]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise UsageError(f"{trace.folder}: its computing_lines are damaged: record it again") from None
        self._lines: Final[dict[str, list[tuple[Place, int]]]] = {}
        for ended_by, place, samples in read:
            self._lines.setdefault(ended_by, []).append((place, samples))

    def split(self, place: Place, seconds: float) -> list[tuple[Place, float]]:
        """Time that ranks computed up to a line, by the lines in which they did; itself where there are no samples.

        Parameters
        ----------
        place : Place
            Where computing ended.
        seconds : float
            How long it took.
        """
        lines = [] if place.call else self._lines.get(place.where, [])
        n = sum(samples for _, samples in lines)
        return [(line, seconds * samples / n) for line, samples in lines] if n else [(place, seconds)]


def _read(row: Mapping[str, Any]) -> tuple[str, Place, int]:
    ended_by, function, samples = row["ended_by"] or "", row["function"], row["samples"]
    file, _, number = row["line"].rpartition(":")
    if not isinstance(ended_by, str) or not isinstance(function, str) or not (samples >= 0 and isfinite(samples)):
        raise ValueError(row)
    return ended_by, Place("", file, int(number), is_kernel=False, function=function), int(samples)
