"""Changes of a machine at given dates: speeds of hosts, bandwidths and latencies of links, and which of them are on.

Speeds of hosts, bandwidths and latencies of links, and which of them are on.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from smpy.errors import PlatformError
from smpy.units import LARGEST, SMALLEST

SHORTEST_PERIOD_S: Final = 1e-9
_NUMBER: Final = r"[+-]?(?:\d++\.?\d*+|\.\d+)(?:[eE][+-]?\d+)?"
_VALUE: Final = re.compile(rf"({_NUMBER})\s+({_NUMBER})", re.ASCII)
_REPETITION: Final = re.compile(rf"(LOOPAFTER|PERIODICITY)\s+({_NUMBER})", re.ASCII)


class Changing(Enum):
    """Quantity of a host or link that follows a profile."""

    SPEED = auto()
    HOST_IS_ON = auto()
    BANDWIDTH = auto()
    LATENCY = auto()
    LINK_IS_ON = auto()

    @property
    def is_of_host(self) -> bool:
        return self in (Changing.SPEED, Changing.HOST_IS_ON)


@dataclass(frozen=True, slots=True)
class Profile:
    """Values that hold from given dates on.

    Parameters
    ----------
    values : tuple of (float, float)
        Dates in seconds, in order, each with the value from then on: of a host's speed a factor, of a link's bandwidth
        bytes/s, of its latency seconds; where it says whether a host or link is on, 0 stands for off.
    period_s : float, optional
        All dates come again so much later, and so on; without it the last value stays.

    Examples
    --------
    Half the speed in the second half of each minute:

    >>> Profile(((0.0, 1.0), (30.0, 0.5)), period_s=60.0)
    Profile(values=((0.0, 1.0), (30.0, 0.5)), period_s=60.0)
    """

    values: tuple[tuple[float, float], ...]
    period_s: float | None = None
    origin: str = field(default="", kw_only=True, compare=False, repr=False)

    def check(self, what: Changing) -> None:
        """Refuse values that `what` cannot have.

        Raises
        ------
        PlatformError
            With the first date or value that is wrong.
        """
        before_s = 0.0
        for date_s, value in self.values:
            if not (math.isfinite(date_s) and math.isfinite(value)):
                raise self._error(f"at {date_s:g} s the value is {value:g}: dates and values are finite numbers")
            if date_s < before_s:
                later = f"after {before_s:g} s comes {date_s:g} s" if before_s else f"its first date is {date_s:g} s"
                raise self._error(f"{later}: dates are at least 0 and in order")
            if value < 0 or (value == 0 and what is Changing.BANDWIDTH):
                remedy = "turn the link off by a state profile instead" if value == 0 else "no value can be negative"
                raise self._error(f"at {date_s:g} s the value is {value:g}: {remedy}")
            if value and not SMALLEST <= value <= LARGEST:
                raise self._error(
                    f"at {date_s:g} s the value is {value:g}: it is neither 0 nor from {SMALLEST:g} to {LARGEST:g}"
                )
            before_s = date_s
        if self.period_s is None or not self.values:
            return
        if not (math.isfinite(self.period_s) and self.period_s >= max(before_s, SHORTEST_PERIOD_S)):
            raise self._error(
                f"it repeats every {self.period_s:g} s: at least its last date, {before_s:g} s, and "
                f"{SHORTEST_PERIOD_S:g} s"
            )

    def _error(self, message: str) -> PlatformError:
        error = PlatformError(f"{self.origin}: {message}" if self.origin else f"profile: {message}")
        error.is_located = bool(self.origin)
        return error


def read_profile(text: str, origin: str, first_line: int = 1, period_s: float | None = None) -> Profile:
    r"""Profile in lines of ``date value``, as SimGrid's files have them.

    Parameters
    ----------
    text : str
        The lines. ``LOOPAFTER seconds`` repeats them so long after the last date, ``PERIODICITY seconds`` repeats them
        at that interval; a line that begins with ``#`` or ``%`` is a comment.
    origin : str
        The file, for messages; a line's number is put behind it.
    first_line : int
        The number of the first line.
    period_s : float, optional
        Likewise ``PERIODICITY``, told from outside.

    Raises
    ------
    PlatformError
        If a line says something else.

    Examples
    --------
    >>> read_profile("0.25 0.5\n0.75 1\nLOOPAFTER 0.25", "a.speed")
    Profile(values=((0.25, 0.5), (0.75, 1.0)), period_s=1.0)
    """
    values: list[tuple[float, float]] = []
    after_s: float | None = None
    for number, written in enumerate(text.split("\n"), first_line):
        line = re.split(r"[#%]", written, maxsplit=1)[0].strip()
        if not line:
            continue
        where = f"{origin}:{number}"
        repetition, dated = _REPETITION.fullmatch(line), _VALUE.fullmatch(line)
        if repetition is not None:
            if period_s is not None or after_s is not None:
                raise _wrong(where, f"{line!r}: the profile repeats already: say once how")
            seconds = float(repetition[2])
            if repetition[1] == "LOOPAFTER":
                after_s = seconds
            else:
                period_s = seconds
        elif dated is not None:
            values.append((float(dated[1]), float(dated[2])))
        elif line.startswith("STOCHASTIC"):
            raise _wrong(where, "stochastic profiles are not supported: write down dates and values")
        else:
            shown = line if len(line) <= 60 else f"{line[:57]}..."
            raise _wrong(
                where, f"{shown!r} is neither 'date value', two numbers without units, nor LOOPAFTER or PERIODICITY"
            )
    if after_s is not None and values:
        period_s = values[-1][0] + after_s
    return Profile(tuple(values), period_s, origin=origin)


def _wrong(where: str, message: str) -> PlatformError:
    error = PlatformError(f"{where}: {message}")
    error.is_located = True
    return error
