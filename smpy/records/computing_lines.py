"""Lines of the program in which ranks computed, from samples of bursts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from smpy.records.time_words import USER_CODE

_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class ComputingLine(NamedTuple):
    """A line of the program in which ranks spent part of the bursts that one call ended.

    Parameters
    ----------
    ended_by : str
        Line of the call that ended the bursts: "heat.py:55"; empty: the end of the program.
    function : str
        The function, "Grid.sweep"; "<module>" or "<lambda>" where there is no name.
    line : str
        "heat.py:31".
    share : float
        Part of these bursts' time, of all ranks together.
    samples : int
        Number of samples in the line.
    """

    ended_by: str
    function: str
    line: str
    share: float
    samples: int


@dataclass(slots=True)
class FunctionTime:
    """Computing of all ranks in one function of the program.

    Parameters
    ----------
    function : str
        Its name.
    seconds : float
        Time of all ranks together.
    lines : dict of str to float
        Time by line, the costliest first.
    """

    function: str
    seconds: float = 0.0
    lines: dict[str, float] = field(default_factory=dict)


def calling(function: str) -> str:
    """Words for a function: "sweep()"; code without a name is "module" or "lambda"."""
    return function.strip("<>") if function.startswith("<") else f"{function}()"


def called(call: str | None, line: str | None) -> str:
    """Words for a call, to stand before its line; user code extends up to that line.

    Examples
    --------
    >>> called("Recv", "late.py:10"), called("", "late.py:10"), called("", "")
    ('Recv', 'user code up to', 'user code')
    """
    return call or (f"{USER_CODE} up to" if line else USER_CODE)


def function_name(qualified: str) -> str:
    """Name of a function in the source code, from the qualified name of its code object.

    Examples
    --------
    >>> function_name("main.<locals>.Grid.sweep.<locals>.<listcomp>")
    'Grid.sweep'
    >>> function_name("<genexpr>")
    '<module>'
    """
    parts = qualified.split(".<locals>.")
    while len(parts) > 1 and parts[-1] in _COMPREHENSIONS:
        del parts[-1]
    return "<module>" if parts[-1] in _COMPREHENSIONS else parts[-1]


def shares_of(ended_by: str, samples: Mapping[tuple[str, str], int]) -> list[ComputingLine]:
    """Lines of the bursts that one call ended; the lines with most samples first.

    Parameters
    ----------
    ended_by : str
        Line of the call.
    samples : mapping of (function, line) to int
        Number of samples taken in each.
    """
    n = sum(samples.values())
    rows = [ComputingLine(ended_by, *place, count / n, count) for place, count in samples.items()]
    return sorted(rows, key=lambda row: (-row.samples, row.line, row.function))


def by_function(lines: Iterable[ComputingLine], seconds_of: Mapping[str, float]) -> list[FunctionTime]:
    """Time by function, the costliest first.

    Parameters
    ----------
    lines : iterable of ComputingLine
        Lines of a run.
    seconds_of : mapping of str to float
        Time that ranks computed up to each call, by its line.
    """
    functions: dict[tuple[str, str], FunctionTime] = {}
    for row in lines:
        file = row.line.rpartition(":")[0]
        function = functions.setdefault((file, row.function), FunctionTime(row.function))
        seconds = row.share * seconds_of.get(row.ended_by, 0.0)
        function.seconds += seconds
        function.lines[row.line] = function.lines.get(row.line, 0.0) + seconds
    for function in functions.values():
        function.lines = dict(sorted(function.lines.items(), key=lambda item: -item[1]))
    return sorted(functions.values(), key=lambda function: -function.seconds)


def sites_by_line(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Call sites of a profile in JSON, with computing by its lines, the most expensive first.

    A line of computing becomes a site whose `call` is its function, without calls and messages. Computing without
    samples stays with the call that ended it.

    Parameters
    ----------
    profile : mapping
        The profile in a record.
    """
    lines = profile.get("computing_lines") or []
    ended_by = {row["ended_by"] for row in lines}
    sites = [dict(site) for site in profile["sites"] if site["call"] or site["line"] not in ended_by]
    seconds: dict[tuple[str, str], float] = {}
    for row in lines:
        place = calling(row["function"]), row["line"]
        seconds[place] = seconds.get(place, 0.0) + row["seconds"]
    rest = [0.0] * (len(profile["kinds"]) - 1)
    sites += [
        {"call": function, "line": line, "count": 0, "spent_s": [part_s, *rest], "sent_bytes": 0, "slowest": -1}
        for (function, line), part_s in seconds.items()
        if part_s > 0
    ]
    return sorted(sites, key=lambda site: -sum(site["spent_s"]))
