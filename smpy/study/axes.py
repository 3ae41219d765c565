"""Axes of a study: the values that each takes, and the combinations of these values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Any, Final

from smpy.errors import UsageError, meant

Value = str | int | float | bool
"""Value of an axis in the table: the value itself, or the label of several settings."""

Settings = Mapping[str, Value]
"""Settings of a value, with keys such as `ranks`, `args.--n`, `set.network.bandwidth`, `algorithm.bcast`, `map_by`."""

WAYS: Final = ("grid", "zip", "list", "random", "latin-hypercube")
DRAWN: Final = ("random", "latin-hypercube")
N_POINTS_MAX: Final = 1_000_000
_RANGE_KEYS: Final = ("from", "to", "step", "times", "count", "scale")
_N_VALUES_MAX: Final = 1_000_000
_QUANTITY: Final = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Range:
    """A range of numbers, from which values are drawn or counted in steps.

    Attributes
    ----------
    first, last : float
        Ends of the range, both included.
    unit : str
        Unit behind each number: "Gb/s"; empty: plain numbers.
    is_integer : bool
        Whether values are whole numbers.
    is_logarithmic : bool
        Whether values are spread by equal factors, rather than by equal differences.
    """

    first: float
    last: float
    unit: str
    is_integer: bool
    is_logarithmic: bool

    def at(self, share: float) -> Value:
        """Value at a share of the range: 0 is its first end, 1 its last."""
        if self.is_logarithmic:
            low, high = math.log(self.first), math.log(self.last)
            number = min(max(math.exp(low + share * (high - low)), self.first), self.last)
        else:
            number = self.first + share * (self.last - self.first)
        return self._value(number)

    def _value(self, number: float) -> Value:
        if self.is_integer:
            number = round(number)
        return f"{number:.12g}{self.unit}" if self.unit else number


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a study: a varied setting, and its values or a range to draw them from.

    Attributes
    ----------
    name : str
        The column of the table.
    values : sequence of Value
        Values in order; empty if they are drawn from `range`.
    settings : sequence of Settings
        Settings of each value.
    range : Range or None
        Range that values are drawn from; the key they set is `name`.
    """

    name: str
    values: Sequence[Value]
    settings: Sequence[Settings]
    range: Range | None = None

    def draw(self, share: float) -> tuple[Value, Settings]:
        """Value at a share of the axis, from 0 up to 1, and its settings."""
        if self.range is not None:
            value = self.range.at(share)
            return value, {self.name: value}
        number = min(int(share * len(self.values)), len(self.values) - 1)
        return self.values[number], self.settings[number]


def read_axis(name: str, content: Any, *, is_drawn: bool) -> Axis:
    """Read an axis from its form in a study's file.

    Parameters
    ----------
    name : str
        A setting's key; with labelled values, any name.
    content : object
        A list of values; a table with `from` and `to`, and `step`, `times` or `count` (with `scale = "log"`); or a
        table of labels, each with a table of settings.
    is_drawn : bool
        Whether points are drawn at random: a range then needs no more than its ends.

    Raises
    ------
    UsageError
        If it is none of these, or has no values.

    Examples
    --------
    >>> list(read_axis("ranks", {"from": 1, "to": 100, "times": 4}, is_drawn=False).values)
    [1, 4, 16, 64, 100]
    """
    if isinstance(content, Mapping) and "from" in content:
        ends = _read_range(name, content)
        if is_drawn and not any(key in content for key in ("step", "times", "count")):
            return Axis(name, (), (), ends)
        return _plain(name, _counted(name, ends, content))
    if isinstance(content, Mapping):
        settings = [flat_settings(name, table) for table in content.values()]
        if not settings:
            raise UsageError(f"axis {name!r} has no values")
        return Axis(name, tuple(content), settings)
    if isinstance(content, (list, tuple)):
        return _plain(name, [_checked(name, value) for value in content])
    raise UsageError(
        f"axis {name!r} is {content!r}: say a list of values, a range such as {{from = 1, to = 1024, times = 2}}, or a "
        "table of labels, each with its settings"
    )


def _plain(name: str, values: Sequence[Value]) -> Axis:
    if not values:
        raise UsageError(f"axis {name!r} has no values")
    if len(set(map(repr, values))) < len(values):
        raise UsageError(f"axis {name!r} has a value twice")
    return Axis(name, tuple(values), [{name: value} for value in values])


def _checked(name: str, value: Any) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"axis {name!r}: {value} is no value")
    if isinstance(value, (str, int, float)):
        return value
    raise UsageError(f"axis {name!r}: {value!r} is neither a number, a text, true nor false")


def _read_range(name: str, table: Mapping[str, Any]) -> Range:
    for key in table:
        if key not in _RANGE_KEYS:
            raise UsageError(f"axis {name!r}: a range has no {key!r}{meant(key, _RANGE_KEYS)}")
    if "to" not in table:
        raise UsageError(f"axis {name!r}: up to where does the range go? Say `to`")
    (first, unit, is_first_whole), (last, last_unit, is_last_whole) = (
        _number(name, table[end]) for end in ("from", "to")
    )
    if unit != last_unit:
        raise UsageError(f"axis {name!r}: {table['from']!r} and {table['to']!r} have different units: write them alike")
    scale = table.get("scale", "log" if "times" in table else "linear")
    if scale not in ("log", "linear"):
        raise UsageError(f"axis {name!r}: a scale is 'log' or 'linear', not {scale!r}")
    if last < first or (scale == "log" and first <= 0):
        raise UsageError(f"axis {name!r}: there is no {scale} range from {table['from']} to {table['to']}")
    is_integer = is_first_whole and is_last_whole and not unit and _is_whole(table.get("step", 1))
    return Range(first, last, unit, is_integer, scale == "log")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(name: str, value: Any) -> tuple[float, str, bool]:
    """A number, its unit, and whether it is written as a whole number."""
    if isinstance(value, str):
        quantity = _QUANTITY.fullmatch(value)
        if quantity is not None and quantity[2]:
            return float(quantity[1]), quantity[2], False
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value), "", isinstance(value, int)
    raise UsageError(f'axis {name!r}: {value!r} is neither a number nor one with a unit, such as "10Gb/s"')


def _counted(name: str, ends: Range, table: Mapping[str, Any]) -> list[Value]:
    ways = [key for key in ("step", "times", "count") if key in table]
    if len(ways) != 1:
        raise UsageError(f"axis {name!r}: say one of `step`, `times` and `count`: which values of the range?")
    by = table[ways[0]]
    if isinstance(by, bool) or not isinstance(by, (int, float)) or not math.isfinite(by):
        raise UsageError(f"axis {name!r}: {ways[0]} = {by!r} is no number")
    if ways[0] == "count":
        if not 2 <= by <= _N_VALUES_MAX or by != int(by):
            raise UsageError(f"axis {name!r}: count = {by}: two values or more")
        values = [ends.at(i / (int(by) - 1)) for i in range(int(by))]
        return list(dict.fromkeys(values))  # whole numbers of a short range
    if by <= (1 if ways[0] == "times" else 0) or (ways[0] == "times" and ends.first <= 0):
        raise UsageError(f"axis {name!r}: from {table['from']} by {ways[0]} = {by} the end is never reached")
    numbers, number = [], ends.first
    while number < ends.last * (1 - 1e-12) if ends.last > 0 else number < ends.last:
        numbers.append(number)
        number = ends.first + len(numbers) * by if ways[0] == "step" else number * by
        if len(numbers) > _N_VALUES_MAX:
            raise UsageError(f"axis {name!r} has more than {_N_VALUES_MAX:,} values")
    if not numbers:
        numbers = [ends.first]
    elif ways[0] == "times" or abs(number - ends.last) <= abs(ends.last) * 1e-12:
        numbers.append(ends.last)
    return list(dict.fromkeys(ends._value(number) for number in numbers))


def flat_settings(what: str, table: Any) -> dict[str, Value]:
    """Settings by key; keys with dots may be written as nested tables.

    Parameters
    ----------
    what : str
        Owner of the settings, for messages.
    table : mapping
        The settings.

    Raises
    ------
    UsageError
        If it is no table, or a value has no place in one.

    Examples
    --------
    >>> flat_settings("a point", {"ranks": 4, "set": {"network": {"latency": "1us"}}})
    {'ranks': 4, 'set.network.latency': '1us'}
    """
    if not isinstance(table, Mapping):
        raise UsageError(f"{what}: {table!r} is not a table of settings, such as {{ranks = 64}}")
    flat: dict[str, Value] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": one for inner, one in flat_settings(what, value).items()}
        else:
            flat[key] = _checked(what, value)
    return flat


# ---- combinations ----


@dataclass(frozen=True, slots=True)
class Combination:
    """One value per axis, and their settings.

    Attributes
    ----------
    values : tuple of Value
        One per axis, for the table.
    settings : Settings
        Settings of all these values together.
    """

    values: tuple[Value, ...]
    settings: Settings


def combinations(axes: Sequence[Axis], way: str, n_points: int = 0, seed: int = 0) -> list[Combination]:
    """All combinations of axes.

    Parameters
    ----------
    axes : sequence of Axis
        In a grid, the first one changes last.
    way : {"grid", "zip", "random", "latin-hypercube"}
        Every value with every other; the first values, the second ones, ...; drawn, independently of each other or so
        that each axis is covered evenly (McKay, Beckman, Conover 1979).
    n_points : int
        Number of combinations that are drawn.
    seed : int
        Seed of the draws.

    Raises
    ------
    UsageError
        If axes that stand side by side are not equally long, or there are too many points.

    Examples
    --------
    >>> axes = [read_axis("ranks", [1, 2], is_drawn=False), read_axis("args.--n", [5, 6], is_drawn=False)]
    >>> [point.values for point in combinations(axes, "grid")]
    [(1, 5), (1, 6), (2, 5), (2, 6)]
    """
    if way == "zip":
        lengths = {axis.name: len(axis.values) for axis in axes}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {n}" for name, n in lengths.items())
            raise UsageError(
                f'combine = "zip" takes axes side by side, and they have different numbers of values: {counts}'
            )
        rows = [range(n) for n in lengths.values()]
        return [_at(axes, numbers) for numbers in zip(*rows, strict=True)]
    if way == "grid":
        n = prod(len(axis.values) for axis in axes)
        if n > N_POINTS_MAX:
            raise UsageError(f"these axes have {n:,} combinations; {N_POINTS_MAX:,} are the most: draw some of them")
        return [_at(axes, numbers) for numbers in product(*(range(len(axis.values)) for axis in axes))]
    if not 0 < n_points <= N_POINTS_MAX:
        raise UsageError(f"how many points are to be drawn? Say n_points = 1 to {N_POINTS_MAX:,}")
    random = Random(seed)  # the same seed draws the same points
    draw = _evenly if way == "latin-hypercube" else _independently
    columns = [list(draw(random, n_points)) for _ in axes]
    return [
        _merged([axis.draw(share) for axis, share in zip(axes, shares, strict=True)])
        for shares in zip(*columns, strict=True)
    ]


def _independently(random: Random, n: int) -> Iterator[float]:
    return (random.random() for _ in range(n))


def _evenly(random: Random, n: int) -> Iterator[float]:
    """One random number in each n-th of the interval from 0 to 1, in random order."""
    order = [number for _, number in sorted((random.random(), number) for number in range(n))]
    return ((number + random.random()) / n for number in order)


def _at(axes: Sequence[Axis], numbers: Sequence[int]) -> Combination:
    return _merged([(axis.values[i], axis.settings[i]) for axis, i in zip(axes, numbers, strict=True)])


def _merged(parts: Sequence[tuple[Value, Settings]]) -> Combination:
    settings: dict[str, Value] = {}
    for _, its in parts:
        for key in its:
            if key in settings:
                raise UsageError(f"two axes set {key}: leave it to one of them")
        settings |= its
    return Combination(tuple(value for value, _ in parts), settings)
