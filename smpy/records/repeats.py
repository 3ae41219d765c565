"""Spread of the makespan and the shares of time over repeated runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

from smpy.records.time_shares import TimeShares
from smpy.units import format_time


@dataclass(frozen=True, slots=True)
class Repeats:
    """Results of repeated runs.

    Parameters
    ----------
    makespans_s : sequence of float
        Makespan of each run, in their order.
    shares : sequence of TimeShares
        Shares of time of each run.
    """

    makespans_s: Sequence[float]
    shares: Sequence[TimeShares]

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict: all makespans; median, lowest and highest of makespan and shares."""
        record: dict[str, Any] = {"makespans_s": list(self.makespans_s), "makespan_s": _spread(self.makespans_s)}
        columns = {name: [asdict(one)[name] for one in self.shares] for name in _names()}
        return record | {f"{name}_share": _spread(column) for name, column in columns.items()}

    def render(self) -> list[str]:
        """Lines for people.

        Examples
        --------
        >>> one, other = TimeShares(0.5, 0.5, 0, 0), TimeShares(0.25, 0.75, 0, 0)
        >>> for line in Repeats([1.0, 2.0, 4.0], [one, one, other]).render():
        ...     print(line)
        3 runs: makespan 2 s, from 1 s to 4 s (median, lowest, highest)
        compute 50.0%, from 25.0% to 50.0%; communication 50.0%, from 50.0% to 75.0%
        >>> Repeats([2.0, 2.0], [one, one]).render()
        ['2 runs: all alike']
        """
        head = f"{len(self.makespans_s)} runs"
        if len({*self.makespans_s}) == len({*self.shares}) == 1:
            return [f"{head}: all alike"]
        makespans = _words(self.makespans_s, format_time)
        columns = {name: [asdict(one)[name] for one in self.shares] for name in _names()}
        shares = [f"{name} {_words(column, '{:.1%}'.format)}" for name, column in columns.items() if any(column)]
        return [f"{head}: makespan {makespans} (median, lowest, highest)", "; ".join(shares)]


def _names() -> list[str]:
    return [each.name for each in fields(TimeShares)]


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": median(values), "lowest": min(values), "highest": max(values)}


def _words(values: Sequence[float], write: Callable[[float], str]) -> str:
    return f"{write(median(values))}, from {write(min(values))} to {write(max(values))}"
