"""Lines of the program in which ranks computed; they replace the calls that ended the computing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis.timeline import Place

if TYPE_CHECKING:
    from smpy.records.trace import Trace


class ComputingLines:
    """Shares of computing by line, from the recorded run's samples.

    Parameters
    ----------
    trace : Trace
        The run; one that was not measured has no samples.
    """

    def __init__(self, trace: Trace) -> None:
        self._lines: Final[dict[str, list[tuple[Place, int]]]] = {}
        for row in (trace.info.get("profile") or {}).get("computing_lines") or []:
            self._lines.setdefault(row["ended_by"] or "", []).append((_place(row), row["samples"]))

    def split(self, place: Place, seconds: float) -> list[tuple[Place, float]]:
        """Split computing before a line among the lines that computed; unsplit without samples.

        Parameters
        ----------
        place : Place
            Line of the call that ended the computing.
        seconds : float
            Time to split.
        """
        lines = [] if place.call else self._lines.get(place.where, [])
        n = sum(samples for _, samples in lines)
        return [(line, seconds * samples / n) for line, samples in lines] if n else [(place, seconds)]


def _place(row: Mapping[str, Any]) -> Place:
    file, _, number = row["line"].rpartition(":")
    return Place("", file, int(number), is_kernel=False, function=row["function"])
